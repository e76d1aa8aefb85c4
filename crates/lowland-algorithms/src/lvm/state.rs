//! The fitted state of the model: everything that transforming new points requires.

use super::em::LvmEm;
use super::landmark_tree::LandmarkTree;
use lowland_core::Result;
use lowland_core::archive::Archive;
use lowland_neighbors::NeighborGraph;

/// The state that the transform of new points and its inverse use. Lengths are in units of the graph's median edge.
#[derive(Debug, Clone)]
pub struct LvmState {
    pub(super) dim: usize,
    /// The median edge, in the units of the data.
    pub(super) unit: f64,
    /// `mu_i`, row-major.
    pub(super) means: Vec<f64>,
    /// `sigma_i^2`.
    pub(super) variances: Vec<f64>,
    /// `Delta_i`.
    pub(super) row_scales: Vec<f64>,
    /// The distance from each point to its last neighbor in the graph, in the units of the data: closer points are
    /// its mutual neighbors.
    pub(super) radius: Vec<f64>,
    /// The cells of the points and their landmarks.
    pub(super) tree: LandmarkTree,
    /// The weight of the similarity between a point and its landmark.
    pub(super) link_weight: f64,
    /// The weight of a dissimilar pair of points.
    pub(super) dissimilar_weight: f64,
    /// Takes the place of infinite distances, in the units of the data.
    pub(super) infinite_distance: f64,
    /// Number of iterations that the points were updated for. New points get as many updates.
    pub(super) iterations: usize,
    /// The neighbors of each point, if a reach of more than one step follows them.
    pub(super) neighbors: Option<NeighborGraph>,
}

impl LvmState {
    /// Takes over the state that an iteration has reached. `graph` holds the neighbors that the pairs were built from.
    pub fn new(em: &LvmEm, graph: &NeighborGraph, reach: usize) -> Self {
        let (pairs, means) = (em.pairs(), em.means());
        let cells = pairs.cells();
        Self {
            dim: means.len() / pairs.points(),
            unit: pairs.unit(),
            means,
            variances: em.variances(),
            row_scales: pairs.row_scales(),
            radius: (0..pairs.points()).map(|i| graph.row(i).1.last().map_or(0.0, |&d| f64::from(d))).collect(),
            tree: cells.tree.clone(),
            link_weight: cells.link_weight,
            dissimilar_weight: cells.dissimilar_weight,
            infinite_distance: cells.infinite_distance,
            iterations: em.iteration(),
            neighbors: (reach > 1).then(|| graph.clone()),
        }
    }

    /// Whether the state contains the neighbors that a reach of several steps follows.
    pub fn has_neighbors(&self) -> bool {
        self.neighbors.is_some()
    }

    /// Sets the neighbors of each point.
    pub fn set_neighbors(&mut self, graph: NeighborGraph) {
        self.neighbors = Some(graph);
    }

    /// Number of points.
    pub fn points(&self) -> usize {
        self.variances.len()
    }

    /// The standard deviation of each point, in the units of the data.
    pub fn std(&self) -> Vec<f64> {
        self.variances.iter().map(|v| v.sqrt() * self.unit).collect()
    }

    /// Writes the state under `lvm/`.
    pub fn save(&self, archive: &mut Archive) {
        archive.put("lvm/numbers", vec![self.unit, self.link_weight, self.dissimilar_weight]);
        archive.put("lvm/means", self.means.as_slice());
        archive.put("lvm/variances", self.variances.as_slice());
        archive.put("lvm/reach", self.row_scales.as_slice());
        archive.put("lvm/radius", self.radius.as_slice());
        archive.put("lvm/max_distance", vec![self.infinite_distance]);
        archive.put("lvm/iterations", self.iterations as u64);
        self.tree.save(archive);
        if let Some(neighbors) = &self.neighbors {
            neighbors.save("lvm/neighbors", archive);
        }
    }

    /// Reads the state of a model of `dim` dimensions, fitted by at most `max_iter` iterations.
    pub fn load(archive: &Archive, dim: usize, max_iter: usize) -> Result<Self> {
        let bad = |reason: &str| archive.invalid(reason.into());
        let [unit, link_weight, dissimilar_weight] = archive.finite("lvm/numbers")? else {
            return Err(bad("'lvm/numbers' should hold three numbers"));
        };
        let non_negative = |name: &str| -> Result<Vec<f64>> {
            let values = archive.finite(name)?;
            if values.iter().any(|v| *v < 0.0) { Err(bad("it holds a negative length")) } else { Ok(values.to_vec()) }
        };
        let variances = non_negative("lvm/variances")?;
        let n = variances.len();
        // Models of version 1 have neither a bound of the distances nor their number of iterations.
        let (infinite_distance, iterations) = match archive.version() {
            1 => (f64::MAX, max_iter),
            _ => {
                let &[bound] = archive.finite("lvm/max_distance")? else {
                    return Err(bad("'lvm/max_distance' should hold one number"));
                };
                (bound, archive.size("lvm/iterations")?.min(max_iter))
            }
        };
        let neighbors = archive.has("lvm/neighbors/indptr");
        let out = Self {
            dim,
            unit: *unit,
            means: archive.finite("lvm/means")?.to_vec(),
            row_scales: non_negative("lvm/reach")?,
            radius: non_negative("lvm/radius")?,
            tree: LandmarkTree::load(archive, n)?,
            link_weight: *link_weight,
            dissimilar_weight: *dissimilar_weight,
            infinite_distance,
            iterations,
            neighbors: neighbors.then(|| NeighborGraph::load("lvm/neighbors", archive)).transpose()?,
            variances,
        };
        let graph_fits = out.neighbors.as_ref().is_none_or(|graph| [graph.rows(), graph.targets()] == [n; 2]);
        let consistent = n > 0
            && Some(out.means.len()) == n.checked_mul(dim)
            && [out.row_scales.len(), out.radius.len()] == [n; 2]
            && graph_fits;
        if !(consistent
            && *unit > 0.0
            && *link_weight >= 0.0
            && *dissimilar_weight >= 0.0
            && out.infinite_distance > 0.0)
        {
            return Err(bad("the parts of the model differ in size"));
        }
        Ok(out)
    }
}
