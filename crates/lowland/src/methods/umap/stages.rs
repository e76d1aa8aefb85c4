//! The stages of UMAP one by one, for callers that change what is passed from one to the next.

use lowland_algorithms::density::{DensityTerm, LocalRadii, symmetric_lengths};
use lowland_algorithms::umap::{
    FuzzyGraphParams, LayoutParams, SampledLayout, SimilarityCurve, UmapTransform, fuzzy_graph, smooth_distances,
};
use lowland_core::run::{Context, Progress, StopRule, run};
use lowland_core::{Data, Embedding, Error, Points, Result, Seed};
use lowland_linalg::Csr;
use lowland_neighbors::NeighborGraph;

use super::{INITIALIZATION, LAYOUT, Umap, fill_cube};
use crate::method::Method;
use crate::methods::init::initial_embedding;
use crate::methods::umap_transformer::{TRANSFORM_EPOCHS, TRANSFORM_RATE};

/// The fuzzy graph of a neighbor graph.
#[derive(Debug, Clone, PartialEq)]
pub struct Memberships {
    /// Symmetric memberships, from 0 to 1.
    pub weights: Csr,
    /// Distance of each row up to which neighbors have membership one.
    pub rho: Vec<f64>,
    /// Bandwidth of the memberships beyond that distance.
    pub sigma: Vec<f64>,
}

impl Umap {
    /// Returns the curve of similarities in the embedding: `a` and `b`, or those for `min_dist` and `spread`.
    pub fn similarity_curve(&self) -> Result<SimilarityCurve> {
        self.curve()
    }

    /// Returns the fuzzy graph of a neighbor graph whose rows do not contain themselves.
    pub fn memberships(&self, graph: &NeighborGraph) -> Result<Memberships> {
        let (local_connectivity, set_op_mix_ratio) = (self.local_connectivity, self.set_op_mix_ratio);
        let weights = fuzzy_graph(graph, FuzzyGraphParams { local_connectivity, set_op_mix_ratio })?;
        let mean = super::mean_distance(graph);
        let scales = |i: usize| {
            let distances = graph.row(i).1;
            smooth_distances(distances, distances.len() + 1, local_connectivity, mean)
        };
        let (rho, sigma) = (0..graph.rows()).map(scales).unzip();
        Ok(Memberships { weights, rho, sigma })
    }

    /// Lays out a symmetric graph of memberships between the rows of `data`, from the initial embedding of the context if it has one.
    /// With `densmap` or `output_dens`, also returns the local radii, for which the distances to the neighbors are needed.
    pub fn lay_out(
        &self,
        data: &Data,
        weights: &Csr,
        distances: Option<&NeighborGraph>,
        context: &mut Context,
    ) -> Result<(Embedding, Option<LocalRadii>)> {
        self.validate()?;
        let n = data.rows();
        if weights.rows() != n || weights.columns() != n {
            return Err(Error::Shape { what: "rows of the memberships", expected: n, found: weights.rows() });
        }
        if !weights.values().iter().all(|w| (0.0..=1.0).contains(w)) {
            let reason = "memberships are from 0 to 1".into();
            return Err(Error::Format { what: "graph of memberships", reason });
        }
        if n < 2 {
            return Ok((Embedding::new(vec![0.0; n * self.n_components], self.n_components)?, None));
        }
        let density = match distances.filter(|_| self.needs_radii()) {
            Some(graph) => Some(DensityTerm::new(weights, &symmetric_lengths(graph)?, self.curve()?, self.density())),
            None => None,
        };
        let init = context.stage(INITIALIZATION, |context| {
            let connected = self.connected(data, weights, context)?;
            let weights = connected.as_ref().unwrap_or(weights);
            let given = context.init().is_some();
            let init = initial_embedding(data, weights, self.init(), self.n_components, 1.0, context)?;
            if given { Ok(init) } else { fill_cube(init) }
        })?;
        context.stage(LAYOUT, |context| {
            let params = self.layout_params(n, context.seed)?;
            let mut layout = SampledLayout::new(weights, &init, params, None, density)?;
            run(&mut layout, StopRule { max_iter: self.epochs(n), tol: 0.0 }, context)?;
            let embedding = layout.final_embedding()?;
            let radii = layout.local_radii(&embedding);
            Ok((embedding, radii))
        })
    }

    /// Returns the membership of each edge from a new row to a row of a layout. `mean_distance` is that between the layout's rows and their
    /// neighbors.
    pub fn new_memberships(&self, graph: &NeighborGraph, mean_distance: f64) -> Vec<f64> {
        let connectivity = (self.local_connectivity - 1.0).max(0.0);
        let of_row = |i: usize| {
            let distances = graph.row(i).1;
            let (rho, sigma) = smooth_distances(distances, distances.len(), connectivity, mean_distance);
            let weight = move |&d: &f32| (-(f64::from(d) - rho).max(0.0) / sigma.max(f64::MIN_POSITIVE)).exp();
            distances.iter().map(weight)
        };
        (0..graph.rows()).flat_map(of_row).collect()
    }

    /// Places new rows on a layout, given their nearest rows of it. `mean_distance` is that between its rows and their neighbors.
    pub fn place(
        &self,
        map: Points,
        graph: &NeighborGraph,
        mean_distance: f64,
        seed: Seed,
        progress: &mut Progress,
    ) -> Result<Embedding> {
        if graph.targets() != map.rows() {
            return Err(Error::Shape { what: "rows of the map", expected: graph.targets(), found: map.rows() });
        }
        let epochs = self.n_epochs.value().map_or(TRANSFORM_EPOCHS, |epochs| epochs.div_ceil(3));
        let params = self.layout_params(map.rows(), seed)?;
        let transform = UmapTransform {
            map,
            params: LayoutParams { epochs, learning_rate: TRANSFORM_RATE * self.learning_rate, ..params },
            local_connectivity: self.local_connectivity,
            mean_distance,
        };
        Embedding::new(transform.coordinates(graph, progress)?, map.dim())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FitOptions;
    use crate::neighbors::{NeighborParams, nearest};
    use lowland_core::params::Auto;
    use lowland_core::run::NoObserver;

    #[test]
    fn the_stages_one_by_one_give_the_fit() {
        let values: Vec<f32> = Seed(1).normals(60 * 3).into_iter().map(|v| v as f32).collect();
        let data = Data::dense(values, 3).unwrap();
        let umap = Umap { n_neighbors: 8, n_epochs: Auto::Value(30), ..Umap::default() };
        let model = umap.clone().fit_with(&data, FitOptions::default()).unwrap();
        let graph = nearest(&data, &NeighborParams { n_neighbors: 7, ..NeighborParams::default() }).unwrap().graph;
        let memberships = umap.memberships(&graph).unwrap();
        assert!(memberships.rho.iter().zip(&memberships.sigma).all(|(rho, sigma)| *rho > 0.0 && *sigma > 0.0));
        let mut observer = NoObserver;
        let mut context = Context::new(&mut observer, FitOptions::default().seed, None);
        let (embedding, radii) = umap.lay_out(&data, &memberships.weights, None, &mut context).unwrap();
        assert_eq!(&embedding, model.embedding());
        assert!(radii.is_none());
        let dense = Umap { densmap: true, ..umap.clone() };
        let preserved = dense.clone().fit_with(&data, FitOptions::default()).unwrap();
        let (embedding_of_dense, radii) =
            dense.lay_out(&data, &memberships.weights, Some(&graph), &mut context).unwrap();
        assert_eq!(&embedding_of_dense, preserved.embedding());
        assert!(radii.unwrap().correlation() > 0.5);
        let new = crate::neighbors::nearest_to(&data, &data, 8, umap.metric).unwrap();
        let mean = super::super::mean_distance(&graph);
        let placed = umap.place(embedding.points(), &new, mean, Seed(0), &mut |_| Ok(())).unwrap();
        assert_eq!((placed.rows(), placed.dim()), (60, 2));
        // The memberships of a new row sum to log2 k, if no neighbor is fully connected.
        let sums = umap.new_memberships(&new, mean);
        assert!(sums.chunks(8).all(|row| (row.iter().sum::<f64>() - 3.0).abs() < 0.2), "{sums:?}");
        let bad = memberships.weights.map(|_, _, w| 2.0 * w);
        assert!(umap.lay_out(&data, &bad, None, &mut context).is_err());
    }
}
