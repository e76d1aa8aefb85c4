use super::*;
use lowland_core::Seed;
use lowland_neighbors::nearest_points;

/// Six clusters in five columns.
fn clusters(rows: usize) -> Data {
    let (noise, centers) = (Seed(1).normals(rows * 5), Seed(2).normals(30));
    let value = |at: usize| (noise[at] + 4.0 * centers[at / 5 % 6 * 5 + at % 5]) as f32;
    Data::dense((0..rows * 5).map(value).collect(), 5).unwrap()
}

fn short() -> Tsne {
    Tsne { perplexity: 10.0, max_iter: 200, exaggeration_iter: 80, ..Tsne::default() }
}

/// Mean distance to the five nearest points, relative to the size of the map.
fn relative_neighbor_distance(map: &Embedding) -> f64 {
    let distances = nearest_points(map.points(), 5).unwrap();
    let mean = distances.distances().iter().map(|&d| f64::from(d)).sum::<f64>() / distances.distances().len() as f64;
    let size = map.values().iter().map(|v| v * v).sum::<f64>() / map.rows() as f64;
    mean / size.sqrt()
}

#[test]
fn maps_become_more_compact_and_stay_aligned() {
    let data = clusters(300);
    let found = fit(&short(), &[1.0, 4.0, 30.0], &data, FitOptions::default()).unwrap();
    let compactness: Vec<f64> = found.maps.iter().map(|map| relative_neighbor_distance(&map.embedding)).collect();
    assert!(compactness.is_sorted_by(|a, b| *b < 0.9 * a), "{compactness:?}");
    for pair in found.maps.windows(2) {
        let [a, b] = [&pair[0].embedding, &pair[1].embedding];
        // Aligned: no rotation brings the second closer to the first.
        let again = procrustes(a.points(), b.points()).unwrap();
        let moved = b.values().iter().zip(again.aligned.values()).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
        assert!(moved < 1e-9, "{moved}");
        assert!(again.disparity < 0.5, "{}", again.disparity);
    }
    assert_eq!(found.neighbors.map(|graph| graph.min_degree()), Some(30));
}

#[test]
fn the_first_map_is_that_of_a_fit() {
    let data = clusters(200);
    let found = fit(&short(), &[1.0], &data, FitOptions::default()).unwrap();
    assert_eq!(&found.maps[0].embedding, short().fit(&data).unwrap().embedding());
}

#[test]
fn invalid_exaggerations_and_landmarks_are_rejected() {
    let data = clusters(60);
    for list in [&[][..], &[4.0, 2.0], &[1.0, 1.0], &[0.5], &[1.0, 2000.0], &[f64::NAN]] {
        let error = fit(&short(), list, &data, FitOptions::default()).err().expect("an error").to_string();
        assert!(error.starts_with("exaggerations = "), "{error}");
    }
    let options = FitOptions { landmarks: Some(20), ..FitOptions::default() };
    assert!(fit(&short(), &[1.0], &data, options).err().unwrap().to_string().starts_with("landmarks = 20"));
}

#[test]
fn few_and_equal_rows_have_a_spectrum() {
    for rows in [1, 2, 3] {
        let data = clusters(rows);
        assert_eq!(fit(&short(), &EXAGGERATIONS, &data, FitOptions::default()).unwrap().maps.len(), 6, "{rows}");
    }
    let equal = Data::dense(vec![1.0; 60], 3).unwrap();
    let found = fit(&short(), &[1.0, 8.0], &equal, FitOptions::default()).unwrap();
    assert!(found.maps.iter().all(|map| map.embedding.values().iter().all(|v| v.is_finite())));
}

#[test]
fn a_stop_keeps_the_complete_maps() {
    let data = clusters(120);
    let mut plans = 0;
    let mut observer = |event: &Event| {
        plans += usize::from(matches!(event, Event::Plan(_)));
        // The third fit: the first plan is that of the neighbor search.
        let stop = plans == 4 && matches!(event, Event::Step { .. });
        if stop { std::ops::ControlFlow::Break(()) } else { std::ops::ControlFlow::Continue(()) }
    };
    let options = FitOptions { observer: Some(&mut observer), ..FitOptions::default() };
    let found = fit(&short(), &EXAGGERATIONS, &data, options).unwrap();
    assert_eq!(found.maps.len(), 2);
}
