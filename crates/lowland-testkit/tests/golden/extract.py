"""Takes the arrays the tests use out of the authors' programs' outputs: python extract.py GOLDEN_FOLDER

Each becomes a float64 .npy with two axes, so that the map reader reads it. The folder's own README says which program
made what: ee, ssne and tsne are Vladymyrov and Carreira-Perpinan's (2012), fgt and lvm independent numpy programs,
mapit Jenssen's released one, tsm Saul's, lllvm
Park's released one, but for its alphaopt."""

import sys
from pathlib import Path

import numpy as np

LVM = dict(X="x", K="neighbors", E="edges", S="similar", D="dissimilar", delta2="near_scale2", Delta2="far_scale2",
           mu0="mu_start", sigma2_0="variance_start", loglik_alternating="loglik", mu_after30="mu_after30",
           sigma2_after30="variance_after30", loglik_momentum="loglik_momentum", mu_mom100="mu_momentum100",
           sigma2_mom100="variance_momentum100", mu1="mu_after1", s21="variance_after1")
LANDMARKS = dict(landmarks="landmarks", assignment="assignment", Delta_landmarks="landmark_far_scale",
                 D_landmarks="landmark_dissimilar", A="landmark_a", B="landmark_b")
EE = dict(Y="y", X0="x0", W_rows="w_rows", bandwidth_s="bandwidth", Wp="w_plus", Wn="w_minus", X_l100="x_lambda100",
          E_l100="e_lambda100", steps_l100="steps_lambda100", X_unif_l1em3="x_uniform", E_unif_l1em3="e_uniform",
          steps_unif="steps_uniform")
MAPIT = dict(P_conditional="p_conditional", Y0="y0", cost_k7="cost_k7", cost_k10="cost_k10", force1_k7="force1_k7",
             force1_k10="force1_k10", traj_k7="trajectory_k7", traj_k10="trajectory_k10", Y_final_k10="final_k10")
TSM = {f"{theirs}{run}": f"{ours}_{run}" for run in (1, 2, 3) for theirs, ours in
       dict(Xaug="inputs", Y="y", costs="costs", mad="deviation", jac="jaccard", diagTheta="diagonal", maxSumZ="cap").items()}
LLLVM = dict(Yn="y", G="graph", mean_c0="start_maps", A1="a1", b1="b1", Gamma1="gamma_form1", H1="h1", covx1="place_covariance1",
             mx1="places1", covc1="map_covariance1", mc1="maps1", gamma1="gamma1", lwbs="bounds", gammas="gammas",
             mean_x_last="places40", mean_c_last="maps40", diag_cov_x_last="place_variances40", diag_cov_c_last="map_variances40")
LLLVM_PRIOR = dict(randn_for_mean_c0="prior_normals", lwbs="prior_bounds", gammas="prior_gammas", mean_x_last="prior_places40")
RUN = dict(X0="x0", X="x", E="e", steps="steps")

source, here = Path(sys.argv[1]), Path(__file__).parent
FILES = {
    "ee": [("ee/ee_digits150.npz", EE)],
    "ssne": [("ssne/ssne_digits150.npz", RUN)],
    "tsne": [("tsne_sd/tsne_sd_digits150.npz", RUN)],
    "fgt": [("fgt/fgt2d.npz", {name: name.lower() for name in np.load(source / "fgt/fgt2d.npz")})],
    "mapit": [("mapit/mapit_digits200.npz", MAPIT)],
    "tsm": [("tsm/tsm_digits300.npz", dict(X="x") | TSM)],
    "lllvm": [("lllvm/lllvm_swiss100_identity.npz", LLLVM), ("lllvm/lllvm_swiss100_prior.npz", LLLVM_PRIOR),
              ("lllvm/lllvm_swiss100_alphaopt_numpy.npz", dict(trace_lwb_gamma_alpha="optimised_trace"))],
    "lvm": [("lvm_saul/lvm_l0_digits150.npz", LVM), ("lvm_saul/lvm_l1_structure.npz", LANDMARKS)],
}
for folder, parts in FILES.items():
    (here / folder).mkdir(exist_ok=True)
    for file, names in parts:
        arrays = np.load(source / file)
        for theirs, ours in names.items():
            values = np.asarray(arrays[theirs], dtype="<f8")
            if values.ndim == 3:  # Maps one after another.
                values = values.reshape(-1, values.shape[2])
            np.save(here / folder / f"{ours}.npy", values.reshape(len(values) if values.ndim else 1, -1))
