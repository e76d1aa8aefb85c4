//! Every method passes the suite, at its defaults and at settings that take other paths through it.

use lowland::methods::{Job, METHODS};
use lowland::run::{Limits, Silent};
use lowland::{Data, Seed};
use lowland_testkit::method_suite;

method_suite!(lvm, "lvm", [("max_iter", "60")], iterates);
method_suite!(
    lvm_coarse,
    "lvm",
    [("levels", "2"), ("variances", "tied"), ("n_components", "3"), ("max_iter", "40")],
    iterates
);
method_suite!(
    lvm_largest,
    "lvm",
    [("components", "largest"), ("levels", "1"), ("reach", "2"), ("max_iter", "40")],
    iterates
);
method_suite!(lllvm, "lllvm", [("n_components", "1"), ("starts", "1"), ("max_iter", "5")], iterates);
method_suite!(lllvm_landmarks, "lllvm", [("landmarks", "100"), ("starts", "2"), ("max_iter", "20")], iterates);
method_suite!(tsne, "tsne", [("max_iter", "40"), ("exaggeration_iter", "15")], iterates);
method_suite!(
    tsne_fft,
    "tsne",
    [("engine", "fft"), ("dof", "2"), ("optimizer", "lbfgs"), ("early_exaggeration", "1"), ("max_iter", "60")],
    iterates
);
method_suite!(
    tsne_barnes_hut,
    "tsne",
    [
        ("engine", "barnes-hut"),
        ("n_components", "3"),
        ("optimizer", "sd"),
        ("early_exaggeration", "1"),
        ("max_iter", "40")
    ],
    iterates
);
method_suite!(ssne, "ssne", [("max_iter", "30")], iterates);
method_suite!(ssne_fast_gauss, "ssne", [("max_iter", "30"), ("engine", "fast-gauss"), ("optimizer", "fp")], iterates);
method_suite!(ee, "ee", [("max_iter", "30"), ("homotopy", "2"), ("optimizer", "sd")], iterates);
method_suite!(ee_distances, "ee", [("max_iter", "30"), ("repulsion", "distances"), ("perplexity", "5,20")], iterates);
method_suite!(mapit, "mapit", [("max_iter", "100")], iterates);
method_suite!(mapit_exact, "mapit", [("variant", "exact"), ("max_iter", "30"), ("kernel", "gaussian")], iterates);
method_suite!(mapit_sampled, "mapit", [("variant", "sampled"), ("max_iter", "40")], iterates);
method_suite!(mapit_objective, "mapit", [("variant", "objective"), ("max_iter", "30")], iterates);
method_suite!(tsm, "tsm", [("max_iter", "30")], iterates);
method_suite!(
    tsm_factors,
    "tsm",
    [("matrices", "factors"), ("tau", "0.8"), ("n_components", "3"), ("max_iter", "30")],
    iterates
);
method_suite!(tsm_landmarks, "tsm", [("landmarks", "90"), ("max_iter", "20")], iterates);
method_suite!(spectral_landmarks, "spectral", [("landmarks", "300")], iterates);
method_suite!(pca_landmarks, "pca", [("landmarks", "50")]);
method_suite!(pca, "pca", []);
method_suite!(pca_randomized, "pca", [("solver", "randomized")], iterates);
method_suite!(svd, "svd", []);
method_suite!(svd_randomized, "svd", [("solver", "randomized")], iterates);
method_suite!(spectral, "spectral", [], iterates);
method_suite!(spectral_heat, "spectral", [("affinity", "heat"), ("n_neighbors", "10")], iterates);
method_suite!(isomap, "isomap", []);
method_suite!(gplvm, "gplvm", [("max_iter", "80"), ("inducing", "12")], iterates);
method_suite!(lle, "lle", []);
method_suite!(ltsa, "ltsa", []);
method_suite!(spectral_approximate, "spectral", [("search", "approximate")]);

/// Whoever shares a graph or draws uncertainty asks before the fit.
#[test]
fn what_a_method_says_of_neighbours_and_standard_deviations_is_true() {
    let values: Vec<f32> = (0..120).map(|i| ((i * i) as f32 * 0.37).sin() + (i % 3) as f32).collect();
    let data = Data::dense(values, 3).unwrap();
    for info in METHODS {
        let method = info.build(&[]).unwrap();
        let searches = info.params().iter().any(|spec| spec.name == "search");
        assert_eq!(method.neighbors(1000) > 0, searches, "{}", info.name);
        let gives_std = method.gives_std();
        let fitted = Job::new(info.name, &[], Seed(1)).unwrap().fit(&data, None, &Limits::default(), &mut Silent);
        assert_eq!(fitted.unwrap().std().is_some(), gives_std, "{}", info.name);
    }
}

/// A method without a suite above would go unnoticed otherwise.
#[test]
fn no_method_is_left_out() {
    let source = include_str!("every_method.rs");
    for info in METHODS {
        assert!(source.contains(&format!(", \"{}\", [", info.name)), "{} has no method_suite! line", info.name);
    }
}
