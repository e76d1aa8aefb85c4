"""Principal components with scikit-learn; errors are relative to the singular values of the float64 covariance."""

import numpy as np
from sklearn.decomposition import PCA

from bench.peers.common import main, value


def prepare(rows, setting, program):
    pca = PCA(value(setting), svd_solver=program.removeprefix("scikit-learn-"), random_state=0)

    def evaluate(fitted):
        centered = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
        exact = np.sqrt(np.linalg.eigvalsh(centered.T @ centered)[::-1][: pca.n_components])
        return {"largest relative error of a singular value": float(np.abs(fitted.singular_values_ / exact - 1).max())}

    return lambda: pca.fit(rows), evaluate


main(prepare)
