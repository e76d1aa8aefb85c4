//! Rows with an index that is built when it is first needed.

use std::sync::OnceLock;

use super::SearchIndex;
use crate::{NeighborGraph, nearest_to_with};
use lowland_core::archive::Archive;
use lowland_core::run::Progress;
use lowland_core::{Data, Metric, Result, Seed};

/// Whether a search may use an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuerySearch {
    /// With an index, if there can be one.
    #[default]
    Indexed,
    /// Every new row is compared with all rows.
    Exact,
}

/// Rows among which the neighbors of new rows are searched for, as a fitted model does.
#[derive(Debug)]
pub struct IndexedRows {
    data: Data,
    metric: Metric,
    /// Number of neighbors that the index is made for.
    n_neighbors: usize,
    pub(super) index: OnceLock<Option<SearchIndex>>,
}

impl IndexedRows {
    /// Takes rows for searches of about `n_neighbors` neighbors.
    pub fn new(data: Data, metric: Metric, n_neighbors: usize) -> Self {
        Self { data, metric, n_neighbors, index: OnceLock::new() }
    }

    /// Returns the rows.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Returns the metric of the searches.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Returns the index, which is built by the first call; `None` if comparing all rows is the better choice.
    pub fn index(&self) -> Option<&SearchIndex> {
        let build = || SearchIndex::new(&self.data, self.metric, self.n_neighbors, Seed(0));
        self.index.get_or_init(build).as_ref()
    }

    /// Returns the `k` nearest rows for every row of `new`. The result for a row depends on that row alone.
    pub fn nearest(&self, new: &Data, k: usize, search: QuerySearch, progress: &mut Progress) -> Result<NeighborGraph> {
        if let (QuerySearch::Indexed, Data::Dense(rows), Data::Dense(data)) = (search, new, &self.data)
            && rows.dim() == data.dim()
            && (1..=data.rows()).contains(&k)
            && let Some(index) = self.index()
        {
            new.check_finite()?;
            return index.nearest(rows, data, k, self.metric, progress);
        }
        nearest_to_with(new, &self.data, k, self.metric, progress)
    }

    /// Saves the rows under `name/`, and the index under `name/index/`. The index is built if it has not been.
    pub fn save(&self, name: &str, archive: &mut Archive) {
        self.data.save(name, archive);
        if let Some(index) = self.index() {
            index.save(&format!("{name}/index"), archive);
        }
    }

    /// Loads rows that were saved under `name/`, with their index if there is one.
    /// `n_neighbors` computes the number of neighbors from that of the rows.
    pub fn load(name: &str, archive: &Archive, metric: Metric, n_neighbors: &dyn Fn(usize) -> usize) -> Result<Self> {
        let data = Data::load(name, archive)?;
        let n_neighbors = n_neighbors(data.rows());
        let rows = Self::new(data, metric, n_neighbors);
        if let Some(index) = SearchIndex::load(&format!("{name}/index"), archive, &rows.data, metric)? {
            rows.index.get_or_init(|| Some(index));
        }
        Ok(rows)
    }
}
