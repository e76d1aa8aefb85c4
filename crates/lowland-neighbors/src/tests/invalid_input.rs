//! Parameters and data that cannot be searched.

use super::*;

#[test]
fn invalid_numbers_of_neighbors_are_rejected_with_the_allowed_range() {
    let data = Data::dense(vec![0.0, 1.0, 2.0], 1).unwrap();
    let search = |k| nearest(&data, &exact(k, Metric::Euclidean));
    assert!(search(0).unwrap_err().to_string().contains("from 1 to 2"));
    assert!(search(3).unwrap_err().to_string().contains("at least 4 points, found 3"));
    assert!(search(2).is_ok());
    let empty = Data::dense(vec![], 4).unwrap();
    assert!(nearest(&empty, &exact(1, Metric::Euclidean)).is_err());
    assert!(nearest_to(&empty, &data, 1, Metric::Euclidean).is_err());
    let unlike = Data::Sparse(sparse_rows(5, 1, 1, false));
    assert!(nearest_to(&unlike, &data, 1, Metric::Euclidean).is_err());
    let none = Data::Dense(Dense::shared(std::sync::Arc::new(Vec::new()), 0, 1).unwrap());
    assert_eq!(nearest_to(&none, &data, 1, Metric::Euclidean).unwrap().rows(), 0);
    // Rows without columns are all equal.
    let flat = Data::Dense(Dense::shared(std::sync::Arc::new(Vec::new()), 3, 0).unwrap());
    assert_eq!(edges(&nearest(&flat, &exact(2, Metric::Euclidean)).unwrap().graph, 1), [(0.0, 0), (0.0, 2)]);
    assert!(nearest(&data, &exact(1, Metric::Minkowski(f64::NAN))).is_err());
    let infinite = Data::dense(vec![1.0, -1.0], 1).unwrap();
    assert!(nearest(&infinite, &exact(1, Metric::BrayCurtis)).unwrap_err().to_string().contains("finite"));
}

#[test]
fn search_names_round_trip() {
    for search in [Search::Auto, Search::Exact, Search::Approximate] {
        assert_eq!(search.to_string().parse::<Search>().unwrap(), search);
    }
    assert!("fast".parse::<Search>().unwrap_err().to_string().contains("approximate"));
}
