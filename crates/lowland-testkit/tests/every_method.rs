//! Runs the suite for every method, with default parameters and with parameters that select other code paths.

use lowland::registry::METHODS;
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
method_suite!(
    lllvm_column_noise,
    "lllvm",
    [("n_components", "1"), ("starts", "1"), ("max_iter", "5"), ("column_noise", "separate")],
    iterates
);
method_suite!(
    lllvm_low_rank,
    "lllvm",
    [("rank", "12"), ("column_noise", "separate"), ("starts", "2"), ("max_iter", "20")],
    iterates
);
method_suite!(lllvm_landmarks, "lllvm", [("landmarks", "100"), ("starts", "2"), ("max_iter", "20")], iterates);
method_suite!(tsne, "tsne", [("max_iter", "40"), ("exaggeration_iter", "15")], iterates);
method_suite!(
    tsne_exaggeration,
    "tsne",
    [("exaggeration", "4"), ("max_iter", "40"), ("exaggeration_iter", "15")],
    iterates
);
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
method_suite!(
    tsne_density,
    "tsne",
    [("density", "0.5"), ("perplexity", "5,20"), ("max_iter", "40"), ("exaggeration_iter", "15")],
    iterates
);
method_suite!(ssne, "ssne", [("max_iter", "30")], iterates);
method_suite!(ssne_fast_gauss, "ssne", [("max_iter", "30"), ("engine", "fast-gauss"), ("optimizer", "fp")], iterates);
method_suite!(ee, "ee", [("max_iter", "30"), ("homotopy", "2"), ("optimizer", "sd")], iterates);
method_suite!(ee_distances, "ee", [("max_iter", "30"), ("repulsion", "distances"), ("perplexity", "5,20")], iterates);
method_suite!(mapit, "mapit", [("max_iter", "100")], iterates);
method_suite!(mapit_exact, "mapit", [("variant", "exact"), ("max_iter", "30"), ("kernel", "gaussian")], iterates);
method_suite!(mapit_sampled, "mapit", [("variant", "sampled"), ("max_iter", "40")], iterates);
method_suite!(mapit_reach, "mapit", [("reach", "2"), ("n_neighbors", "5"), ("max_iter", "60")], iterates);
method_suite!(mapit_objective, "mapit", [("variant", "objective"), ("max_iter", "30")], iterates);
method_suite!(umap, "umap", [("n_epochs", "100")], iterates);
method_suite!(umap_densmap, "umap", [("n_epochs", "100"), ("densmap", "true"), ("n_components", "3")], iterates);
method_suite!(umap_full, "umap", [("optimizer", "full"), ("n_epochs", "10")], iterates);
method_suite!(pacmap, "pacmap", [("num_iters", "40,30,60")], iterates);
method_suite!(
    pacmap_local,
    "pacmap",
    [("localmap", "true"), ("n_components", "3"), ("init", "spectral"), ("num_iters", "40,30,60")],
    iterates
);
method_suite!(tsm, "tsm", [("max_iter", "30")], iterates);
method_suite!(
    tsm_factors,
    "tsm",
    [("matrices", "factors"), ("tau", "0.8"), ("n_components", "3"), ("max_iter", "30")],
    iterates
);
method_suite!(tsm_landmarks, "tsm", [("landmarks", "90"), ("max_iter", "20")], iterates);
// Enough iterations: the layers of an early stop are not smooth functions of the rows.
method_suite!(tsm_layers, "tsm", [("layers", "3"), ("norms", "exact"), ("max_iter", "100")], iterates);
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
method_suite!(spectral_approximate, "spectral", [("search", "approximate")], iterates);

/// Front ends use the registry before a fit.
#[test]
fn the_registry_matches_the_capabilities_of_models() {
    let values: Vec<f32> = (0..120).map(|i| ((i * i) as f32 * 0.37).sin() + (i % 3) as f32).collect();
    let data = Data::dense(values, 3).unwrap();
    for info in METHODS {
        let searches = info.params().iter().any(|spec| spec.name == "search");
        assert_eq!(info.uses_neighbors(), searches, "{}", info.name);
        let model = lowland_testkit::fit(info.name, &[], &data, Seed(1));
        assert_eq!(model.std().is_some(), info.has_std, "{}", info.name);
        assert_eq!(model.score(&data).is_ok(), info.has_likelihood, "{}", info.name);
        assert_eq!(model.inverse_transform(model.embedding().points()).is_ok(), info.has_inverse, "{}", info.name);
    }
}

/// The suites above with their methods; listing a missing suite is a compile error.
const SUITES: &[(&[(&str, &str)], &str)] = &[
    (lvm::VALUES, lvm::METHOD),
    (lvm_coarse::VALUES, lvm_coarse::METHOD),
    (lvm_largest::VALUES, lvm_largest::METHOD),
    (lllvm::VALUES, lllvm::METHOD),
    (lllvm_column_noise::VALUES, lllvm_column_noise::METHOD),
    (lllvm_low_rank::VALUES, lllvm_low_rank::METHOD),
    (lllvm_landmarks::VALUES, lllvm_landmarks::METHOD),
    (tsne::VALUES, tsne::METHOD),
    (tsne_exaggeration::VALUES, tsne_exaggeration::METHOD),
    (tsne_fft::VALUES, tsne_fft::METHOD),
    (tsne_barnes_hut::VALUES, tsne_barnes_hut::METHOD),
    (tsne_density::VALUES, tsne_density::METHOD),
    (ssne::VALUES, ssne::METHOD),
    (ssne_fast_gauss::VALUES, ssne_fast_gauss::METHOD),
    (ee::VALUES, ee::METHOD),
    (ee_distances::VALUES, ee_distances::METHOD),
    (mapit::VALUES, mapit::METHOD),
    (mapit_exact::VALUES, mapit_exact::METHOD),
    (mapit_sampled::VALUES, mapit_sampled::METHOD),
    (mapit_reach::VALUES, mapit_reach::METHOD),
    (mapit_objective::VALUES, mapit_objective::METHOD),
    (umap::VALUES, umap::METHOD),
    (umap_densmap::VALUES, umap_densmap::METHOD),
    (umap_full::VALUES, umap_full::METHOD),
    (pacmap::VALUES, pacmap::METHOD),
    (pacmap_local::VALUES, pacmap_local::METHOD),
    (tsm::VALUES, tsm::METHOD),
    (tsm_factors::VALUES, tsm_factors::METHOD),
    (tsm_landmarks::VALUES, tsm_landmarks::METHOD),
    (tsm_layers::VALUES, tsm_layers::METHOD),
    (spectral_landmarks::VALUES, spectral_landmarks::METHOD),
    (pca_landmarks::VALUES, pca_landmarks::METHOD),
    (pca::VALUES, pca::METHOD),
    (pca_randomized::VALUES, pca_randomized::METHOD),
    (svd::VALUES, svd::METHOD),
    (svd_randomized::VALUES, svd_randomized::METHOD),
    (spectral::VALUES, spectral::METHOD),
    (spectral_heat::VALUES, spectral_heat::METHOD),
    (isomap::VALUES, isomap::METHOD),
    (gplvm::VALUES, gplvm::METHOD),
    (lle::VALUES, lle::METHOD),
    (ltsa::VALUES, ltsa::METHOD),
    (spectral_approximate::VALUES, spectral_approximate::METHOD),
];

#[test]
fn every_method_has_a_suite() {
    let tested: Vec<&str> = SUITES.iter().map(|(_, method)| *method).collect();
    for info in METHODS {
        assert!(tested.contains(&info.name), "{} has no suite", info.name);
    }
}
