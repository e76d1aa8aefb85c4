//! The model for many points: posteriors that are general in the space of the lowest eigenvectors of the Laplacian, and proportional to the
//! prior in the rest of it.
//!
//! With `U` the `m` lowest eigenvectors of `L`, `u_p` with eigenvalue `w_p`, and `K' = K - U W^+ U'` the pseudo-inverse of `L` on the other
//! eigenvectors, the posteriors are
//!
//! `x = U a + rest`, `a` Gaussian, the rest Gaussian with mean zero and covariance `T_x (x) K' / 2`,
//!
//! and the same for every column of the maps `C`, with `T_C`; `T_x` and `T_C` are `dim x dim`. The prior of the rest is `K' / 2` for `C`, and
//! for `x` up to the tiny alpha, so that the rest is the prior with a smaller scale. This is a Gaussian of full rank: the bound is a
//! lower bound on the evidence, never above that of the exact posteriors, and equal to it for `m = n`.
//!
//! The forms of the E-step (see `quadratic_form`) are linear in second moments, and become `m x m` matrices. Of the moments in `U`
//! (a tensor of `m^4` numbers), with `v_pq = u_p o u_q` and `c_pq = w_q - w_p`, since `sum_j (u_pi + u_pj)(u_qi - u_qj)` is
//! entry `i` of `(L + c_pq) v_pq`, and `K L = 1 - 11'/n`:
//!
//! `<v_pq, L v_st> + (c_pq + c_st) (<v_pq, v_st> - <v_pq, 1><v_st, 1> / n) + c_pq c_st <v_pq, K v_st>`.
//!
//! Of `K` itself, since `G K = D K - 1 + 11'/n`, with `R = K o K`, and `k` the diagonal of `K`:
//!
//! sums: `L R L - 2 G o K + diag(2 d k + 4/n - 2) - 2 11'/n^2`,
//! differences: `L R L + 2 (G diag(k) + diag(k) G) - 2 G o K + diag(2 - 2 d k) - 2 11'/n^2`.

mod covariance;
mod em;
mod laplacian_inverse;
mod mode_forms;
mod modes;
mod problem;

pub(super) use covariance::{LowRankBasis, LowRankCovariance};
pub use em::LowRankEm;
pub use modes::LaplacianModes;
pub use problem::LowRankProblem;
