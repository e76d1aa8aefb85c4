//! Eigenvectors with and without a factor; notes about components.

use super::*;
use crate::fit::Fit;
use crate::method::Method;
use crate::methods::{Lle, Ltsa};
use lowland_core::run::NoObserver;
use lowland_core::{Data, Dense, Seed};

/// Rows that fill ten dimensions, longer in some than in others.
fn cloud(n: usize) -> Data {
    let values = Seed(7).normals(n * 10).into_iter().enumerate().map(|(at, v)| v as f32 / (1 + at % 10) as f32);
    Data::Dense(Dense::new(values.collect(), 10).unwrap())
}

/// The bottom vectors of a method's matrix by a factor of at most `most` entries.
fn vectors(of: fn(&Data, &NeighborGraph, &mut Context) -> Result<Csr>, most: usize) -> Result<Vec<f64>> {
    // More rows than a dense decomposition is tried with.
    let data = cloud(2500);
    let mut silent = NoObserver;
    let mut context = Context::new(&mut silent, Seed(1), None);
    let params = lowland_neighbors::NeighborParams::default();
    let graph = lowland_neighbors::nearest(&data, &params)?.graph;
    bottom(&of(&data, &graph, &mut context)?, 2, 15, most, &mut context)
}

#[test]
fn tangent_spaces_are_aligned_with_a_factor_and_without() {
    let alignment =
        |data: &Data, graph: &NeighborGraph, context: &mut Context| Ltsa::default().matrix(data, graph, context);
    let (by_factor, without) = (vectors(alignment, MOST).unwrap(), vectors(alignment, 0).unwrap());
    let furthest = by_factor.iter().zip(&without).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(furthest < 1e-5, "{furthest}");
}

#[test]
fn parts_of_the_graph_are_said() {
    let apart = |distance: f32| {
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
        assert_eq!(notes_two_components(&Lle::default(), &apart(distance)), expected, "lle");
        assert_eq!(notes_two_components(&Ltsa::default(), &apart(distance)), expected, "ltsa");
    }
}

#[test]
fn what_is_not_found_without_a_factor_is_refused() {
    let combinations =
        |data: &Data, graph: &NeighborGraph, context: &mut Context| Lle::default().matrix(data, graph, context);
    assert!(vectors(combinations, MOST).is_ok());
    let said = vectors(combinations, 0).unwrap_err().to_string();
    assert!(said.contains("landmarks = 5000"), "{said}");
}
