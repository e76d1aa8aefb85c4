use lowland::data::Dense;

use super::*;

/// Round groups of points around centers.
fn groups(centers: &[[f64; 2]], each: usize) -> Vec<f64> {
    let point = |i: usize| {
        let (angle, reach) = (i as f64 * 2.399_963, (i as f64 / each as f64).sqrt());
        [reach * angle.cos(), reach * angle.sin()]
    };
    centers.iter().flat_map(|c| (0..each).flat_map(|i| [c[0] + point(i)[0], c[1] + point(i)[1]])).collect()
}

const CENTERS: [[f64; 2]; 5] = [[0.0, 0.0], [5.0, 0.0], [0.0, 6.0], [8.0, 8.0], [-6.0, 4.0]];

#[test]
fn separate_groups_are_islands() {
    for each in [60, 400, 3000] {
        let values = groups(&CENTERS, each);
        let islands = find_islands(Points::new(&values, 2).unwrap());
        assert_eq!(islands.iter().max(), Some(&5), "{each}");
        for group in islands.chunks(each) {
            let wrong = group.iter().filter(|&&island| island != group[0]).count();
            assert!(group[0] > 0 && wrong * 20 <= each, "{wrong} of {each}");
        }
    }
}

#[test]
fn an_even_disc_is_one_island_and_degenerate_maps_are_handled() {
    let values = groups(&[[0.0, 0.0]], 5000);
    let islands = find_islands(Points::new(&values, 2).unwrap());
    assert_eq!(islands.iter().max(), Some(&1));
    assert_eq!(find_islands(Points::new(&[1.0; 40], 2).unwrap()), vec![1; 20]);
    assert_eq!(find_islands(Points::new(&[1.0; 40], 1).unwrap()), vec![0; 40]);
    assert!(find_islands(Points::new(&[], 2).unwrap()).is_empty());
}

#[test]
fn islands_are_named_by_words_columns_and_ids() {
    let values = groups(&CENTERS[..2], 100);
    let map = Points::new(&values, 2).unwrap();
    let islands: Vec<u32> = (0..200).map(|i| 1 + u32::from(i >= 100)).collect();
    let texts: Vec<String> = (0..200)
        .map(|i| if i < 100 { format!("the orbit of a moon {i}") } else { format!("the Recipe for soup {i}") })
        .collect();
    let named = name_islands(map, &islands, IslandContent::Texts(&texts));
    assert!(named.names[1].contains("orbit") && named.names[2].contains("recipe"), "{:?}", named.names);
    assert!(!named.names[1].contains("the"), "{:?}", named.names);
    let columns = ["mass".to_string(), "constant".into()];
    let numbers: Vec<f32> = (0..200).flat_map(|i| [if i < 100 { 1.0 } else { 5.0 }, 3.0]).collect();
    let named = name_islands(map, &islands, IslandContent::Columns(&columns, &Dense::new(numbers, 2).unwrap()));
    assert_eq!(named.names, ["", "mass↓", "mass↑"]);
    let ids: Vec<String> = (0..200).map(|i| format!("w{i}")).collect();
    let named = name_islands(map, &islands, IslandContent::Ids(&ids));
    assert_eq!(named.names[1..], ["w0, w1, w2", "w100, w101, w102"]);
}
