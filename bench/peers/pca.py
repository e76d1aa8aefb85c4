"""Principal components with scikit-learn; errors are against the singular values of the covariance in float64."""

import numpy as np
from common import main, value
from sklearn.decomposition import PCA

CASES = [f"components=50 scikit-learn-{solver}" for solver in ("covariance_eigh", "randomized")]


def prepare(rows, setting, program):
    pca = PCA(value(setting), svd_solver=program.removeprefix("scikit-learn-"), random_state=0)

    def judge(fitted):
        centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
        exact = np.sqrt(np.linalg.eigvalsh(centred.T @ centred)[::-1][: pca.n_components])
        return {"largest relative error of a singular value": float(np.abs(fitted.singular_values_ / exact - 1).max())}

    return lambda: pca.fit(rows), judge


main(CASES, prepare)
