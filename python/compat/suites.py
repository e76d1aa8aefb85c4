"""The test files of each package, and how our classes take the place of its own."""

import importlib
import importlib.metadata
import sys
from pathlib import Path

from archives import ARCHIVES, tests_of


class Suite:
    """The tests of a package.

    Attributes
    ----------
    title : str
        The package and its version.
    names : list of str
        Classes and functions that are replaced; tests that use none of them, or a fixture that does, are not counted. Empty to count
        all tests.
    files : list of str
        The test files.
    left_out : dict
        Files that are not run, with the reason.
    """

    def __init__(self, title, names, files, left_out):
        self.title, self.names, self.files, self.left_out = title, names, files, left_out


SKLEARN_PLACES = {
    "TSNE": ["sklearn.manifold", "sklearn.manifold._t_sne"],
    "Isomap": ["sklearn.manifold"],
    "LocallyLinearEmbedding": ["sklearn.manifold"],
    "SpectralEmbedding": ["sklearn.manifold"],
    "PCA": ["sklearn.decomposition"],
    "TruncatedSVD": ["sklearn.decomposition"],
    "trustworthiness": ["sklearn.manifold", "sklearn.manifold._t_sne"],
}


def sklearn(folder):
    """scikit-learn installs its tests."""
    from lowland.compat import sklearn as ours

    for name, modules in SKLEARN_PLACES.items():
        for module in modules:
            setattr(importlib.import_module(module), name, getattr(ours, name))
    manifold = ["test_t_sne", "test_isomap", "test_locally_linear", "test_spectral_embedding"]
    files = [f"sklearn.manifold.tests.{name}" for name in manifold]
    files += [f"sklearn.decomposition.tests.{name}" for name in ("test_pca", "test_truncated_svd")]
    title = f"scikit-learn {importlib.metadata.version('scikit-learn')}"
    return Suite(title, list(SKLEARN_PLACES), ["--pyargs", *files], {})


def umap(folder):
    """umap-learn's tests are those of its source archive; functions that they call besides the classes are its own."""
    import umap
    import umap.umap_

    from lowland.compat import umap as ours

    tests = tests_of("umap", folder)
    umap.__path__.append(str(tests.parent))
    for module in (umap, umap.umap_):
        module.UMAP = ours.UMAP
    umap.AlignedUMAP = ours.AlignedUMAP
    left_out = {
        "test_parametric_umap": "ParametricUMAP, a neural network, is not replaced",
        "test_plot": "umap.plot is not replaced",
        "test_chunked_parallel_spatial_metric": "functions of umap.distances",
        "test_spectral": "functions of umap.spectral",
        "test_umap_grads": "functions of umap.distances",
        "test_umap_metrics": "functions of umap.distances and umap.sparse",
        "test_umap_nn": "functions of umap.umap_",
        "test_umap": "empty",
    }
    files = [str(path) for path in sorted(tests.glob("test_*.py")) if path.stem not in left_out]
    return Suite(f"umap-learn {ARCHIVES['umap'][0]}", ["UMAP", "AlignedUMAP"], files, left_out)


def opentsne(folder):
    """All modules of openTSNE are replaced; it is not installed."""
    from lowland.compat import opentsne as ours

    tests = tests_of("openTSNE", folder)
    sys.modules["openTSNE"] = ours
    for name, module in list(sys.modules.items()):
        if name.startswith(f"{ours.__name__}."):
            sys.modules[name.replace(ours.__name__, "openTSNE")] = module
    sys.path.insert(0, str(tests.parent))
    (tests / "__init__.py").touch()
    (tests.parent / "__init__.py").unlink(missing_ok=True)
    left_out = {"test_utils": "a function of the interpolation grid, which lowland does not have"}
    files = [str(path) for path in sorted(tests.glob("test_*.py")) if path.stem not in left_out]
    return Suite(f"openTSNE {ARCHIVES['openTSNE'][0]}", [], files, left_out)


SUITES = {"sklearn": sklearn, "umap": umap, "opentsne": opentsne}


def folder_of(argument):
    """Return the folder of the archives."""
    return Path(argument).resolve()
