//! Eigenvectors with and without a factorization; notes about components.

use super::*;
use crate::fit::Fit;
use crate::method::Method;
use crate::methods::{Lle, Ltsa};
use lowland_core::run::NoObserver;
use lowland_core::{Data, Dense, Seed};

/// Gaussian rows in ten dimensions with different scales.
fn cloud(n: usize) -> Data {
    let values = Seed(7).normals(n * 10).into_iter().enumerate().map(|(at, v)| v as f32 / (1 + at % 10) as f32);
    Data::Dense(Dense::new(values.collect(), 10).unwrap())
}

/// Computes the bottom eigenvectors of a method's matrix with a factor of at most `max_entries` entries.
fn vectors(of: fn(&Data, &NeighborGraph, &mut Context) -> Result<Csr>, max_entries: usize) -> Result<Vec<f64>> {
    // Too many rows for a dense eigendecomposition.
    let data = cloud(2500);
    let mut no_observer = NoObserver;
    let mut context = Context::new(&mut no_observer, Seed(1), None);
    let params = lowland_neighbors::NeighborParams::default();
    let graph = lowland_neighbors::nearest(&data, &params)?.graph;
    let matrix = of(&data, &graph, &mut context)?;
    smallest_eigenvectors(&matrix, 2, 15, max_entries, None, &mut context).map(|found| found.vectors)
}

#[test]
fn ltsa_works_with_and_without_a_factorization() {
    let alignment =
        |data: &Data, graph: &NeighborGraph, context: &mut Context| Ltsa::default().matrix(data, graph, context);
    let (with_factor, without) = (vectors(alignment, MAX_FACTOR_ENTRIES).unwrap(), vectors(alignment, 0).unwrap());
    let max_difference = with_factor.iter().zip(&without).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(max_difference < 1e-5, "{max_difference}");
}

#[test]
fn disconnected_graphs_are_noted() {
    let shifted = |distance: f32| {
        let Data::Dense(cloud) = cloud(200) else { unreachable!() };
        let mut values = cloud.values().to_vec();
        values[..1000].iter_mut().for_each(|value| *value += distance);
        Data::Dense(Dense::new(values, 10).unwrap())
    };
    fn notes_two_components(method: &impl Method, data: &Data) -> bool {
        let model = method.fit(data).unwrap();
        model.notes().iter().any(|note| matches!(note, Note::ComponentsInCoordinates { components: 2, .. }))
    }
    for (distance, expected) in [(1e4, true), (0.0, false)] {
        assert_eq!(notes_two_components(&Lle::default(), &shifted(distance)), expected, "lle");
        assert_eq!(notes_two_components(&Ltsa::default(), &shifted(distance)), expected, "ltsa");
    }
}

#[test]
fn lle_without_a_factorization_fails() {
    let combinations =
        |data: &Data, graph: &NeighborGraph, context: &mut Context| Lle::default().matrix(data, graph, context);
    assert!(vectors(combinations, MAX_FACTOR_ENTRIES).is_ok());
    let message = vectors(combinations, 0).unwrap_err().to_string();
    assert!(message.contains("landmarks = 5000"), "{message}");
}
