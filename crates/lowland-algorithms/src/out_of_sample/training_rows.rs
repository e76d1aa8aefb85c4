//! The rows that a map was fitted to, prepared for placing new ones.

use std::sync::OnceLock;

use super::{MapField, MapSums, OutOfSampleObjective};
use crate::affinity::{AffinityKind, Perplexities, affinities_from_distances, neighbors_for};
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Embedding, Metric, Result};
use lowland_linalg::Csr;
use lowland_neighbors::{IndexedRows, QuerySearch};

/// How the affinities of new rows are computed.
#[derive(Debug, Clone)]
pub struct AffinitySettings {
    /// How affinities are computed from distances. Precomputed ones say nothing about new rows, for which entropic ones
    /// are used instead.
    pub affinity: AffinityKind,
    /// Perplexities of the fit, which can be lower than the parameter.
    pub perplexity: Perplexities,
    /// Lower bound of the number of neighbors of each new row; zero if the perplexity alone decides.
    pub min_neighbors: usize,
}

impl AffinitySettings {
    fn kind(&self) -> AffinityKind {
        if self.affinity == AffinityKind::Precomputed { AffinityKind::Entropic } else { self.affinity }
    }

    /// Number of training rows that a new row has affinities to.
    fn neighbors(&self, rows: usize) -> usize {
        neighbors_for(self.kind(), &self.perplexity).max(self.min_neighbors).min(rows)
    }
}

/// The training rows of a map, with an index of them and the fields of the map's potentials, which are computed when they are first
/// needed: by the first transform, or when the model is saved.
#[derive(Debug)]
pub struct TrainingRows {
    rows: IndexedRows,
    settings: AffinitySettings,
    /// Relative error of the repulsion that fields may have.
    tolerance: f64,
    fields: OnceLock<Option<Vec<MapField>>>,
}

/// Share of the neighbor search in the progress.
const SEARCH_SHARE: f64 = 0.3;

impl TrainingRows {
    /// Returns how affinities are computed.
    pub fn settings(&self) -> &AffinitySettings {
        &self.settings
    }

    /// Takes the rows of a fit, and the relative error of the repulsion that placements may have.
    pub fn new(data: Data, metric: Metric, settings: AffinitySettings, tolerance: f64) -> Self {
        let neighbors = settings.neighbors(data.rows());
        Self { rows: IndexedRows::new(data, metric, neighbors), settings, tolerance, fields: OnceLock::new() }
    }

    /// Returns the rows.
    pub fn data(&self) -> &Data {
        self.rows.data()
    }

    /// Returns the coordinates of new rows on the map that `objective` belongs to: neighbors are found with an index, and the potentials
    /// of the map are interpolated, if there are many rows.
    pub fn transform(
        &self,
        new: &Data,
        objective: &impl OutOfSampleObjective,
        progress: &mut Progress,
    ) -> Result<Embedding> {
        let sums = self.fields(objective)?.map_or(MapSums::Exact, MapSums::Interpolated);
        self.place(new, objective, (QuerySearch::Indexed, sums), progress)
    }

    /// Returns the coordinates of new rows, each compared with all training rows and with sums over all points of the map.
    pub fn transform_exactly(
        &self,
        new: &Data,
        objective: &impl OutOfSampleObjective,
        progress: &mut Progress,
    ) -> Result<Embedding> {
        self.place(new, objective, (QuerySearch::Exact, MapSums::Exact), progress)
    }

    fn place(
        &self,
        new: &Data,
        objective: &impl OutOfSampleObjective,
        (search, sums): (QuerySearch, MapSums),
        progress: &mut Progress,
    ) -> Result<Embedding> {
        let affinities = self.affinities(new, search, &mut |done| progress(SEARCH_SHARE * done))?;
        let mut rest = |done: f64| progress(SEARCH_SHARE + (1.0 - SEARCH_SHARE) * done);
        Embedding::new(objective.coordinates(&affinities, sums, &mut rest)?, objective.map().dim())
    }

    /// Returns the affinities of the new rows to their nearest training rows; rows sum to one.
    fn affinities(&self, new: &Data, search: QuerySearch, progress: &mut Progress) -> Result<Csr> {
        let n = self.data().rows();
        let graph = self.rows.nearest(new, self.settings.neighbors(n), search, progress)?;
        let edges = (0..new.rows()).flat_map(|i| {
            let (columns, distances) = graph.row(i);
            columns.iter().zip(distances).map(move |(&j, &d)| (i as u32, j, f64::from(d)))
        });
        let distances = Csr::from_triplets(new.rows(), n, edges)?;
        affinities_from_distances(distances, self.settings.kind(), &self.settings.perplexity)
    }

    fn fields(&self, objective: &impl OutOfSampleObjective) -> Result<Option<&[MapField]>> {
        if self.fields.get().is_none() {
            // Of two threads that compute them, both find the same.
            let _ = self.fields.set(objective.fields(self.tolerance)?);
        }
        Ok(self.fields.get().and_then(Option::as_deref))
    }

    /// Saves the rows with their index, the perplexities, and the fields of the potentials.
    pub fn save(&self, objective: &impl OutOfSampleObjective, archive: &mut Archive) {
        self.rows.save("training", archive);
        self.settings.perplexity.save(archive);
        // Without fields, a loaded model computes them itself, and reports the error.
        if let Ok(Some(fields)) = self.fields(objective) {
            fields.iter().enumerate().for_each(|(at, field)| field.save(&format!("placement/fields/{at}"), archive));
        }
    }

    /// Loads what was saved. `settings` holds the perplexities of the method's parameters.
    pub fn load(archive: &Archive, metric: Metric, settings: AffinitySettings, tolerance: f64) -> Result<Self> {
        let perplexity = Perplexities::load(archive, &settings.perplexity)?;
        let settings = AffinitySettings { perplexity, ..settings };
        let rows = IndexedRows::load("training", archive, metric, &|rows| settings.neighbors(rows))?;
        let mut fields = Vec::new();
        while archive.has(&format!("placement/fields/{}/columns", fields.len())) {
            fields.push(MapField::load(&format!("placement/fields/{}", fields.len()), archive)?);
        }
        let known = if fields.is_empty() { OnceLock::new() } else { OnceLock::from(Some(fields)) };
        Ok(Self { rows, settings, tolerance, fields: known })
    }
}
