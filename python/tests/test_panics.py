"""Panics of the Rust library are exceptions."""

import os

import numpy as np
import pytest

import lowland
from lowland import _lowland

pytestmark = pytest.mark.skipif(not hasattr(_lowland, "panic_next"), reason="not a debug build")

X = np.random.default_rng(0).normal(size=(40, 3))
FILES = ("load", "save", "write_file")


def calls(tmp_path):
    """Return a call of every function and method of the module that computes something."""
    model, graph = lowland.LLLVM(max_iter=2, starts=1).fit(X).model_, lowland.neighbors(X, 5)._graph
    gplvm = lowland.GPLVM(max_iter=2, inducing=5).fit(X).model_
    parts = (graph.indptr(), graph.indices(), graph.distances())
    path = os.fspath(tmp_path / "file")
    points = model.embedding()
    sparse = (np.arange(41), np.arange(40), np.ones(40), 40)
    distances, edges = np.ones((40, 3), np.float32), (np.arange(41), np.zeros(40, np.int64))
    return {
        "Graph.from_parts": lambda: _lowland.Graph.from_parts(*parts, "euclidean"),
        "Graph.load": lambda: _lowland.Graph.load(path),
        "Graph.save": lambda: graph.save(path),
        "Graph.from_bytes": lambda: _lowland.Graph.from_bytes(graph.to_bytes()),
        "Model.load": lambda: _lowland.Model.load(path),
        "Model.save": lambda: model.save(path),
        "Model.from_bytes": lambda: _lowland.Model.from_bytes(b""),
        "Model.transform": lambda: model.transform(X),
        "Model.transform_covariances": lambda: model.transform_covariances(X),
        "Model.score": lambda: gplvm.score(X),
        "Model.inverse_transform": lambda: model.inverse_transform(points),
        "Model.inverse_transform_std": lambda: model.inverse_transform_std(points),
        "Model.covariances": model.covariances,
        "Model.samples": lambda: model.samples(2, 0),
        "fit": lambda: _lowland.fit("pca", [], X),
        "neighbors": lambda: _lowland.neighbors(X, 3, "euclidean", "auto", 0),
        "report": lambda: _lowland.report(X, points, None, 5, "euclidean", 0),
        "report_of_model": lambda: _lowland.report_of_model(model, None, 5, "euclidean", 0),
        "procrustes": lambda: _lowland.procrustes(points, points),
        "angles": lambda: _lowland.angles(X, points, 0.5),
        "angle_histogram": lambda: _lowland.angle_histogram(X, 0.1, 0),
        "analogies": lambda: _lowland.analogies(X, ["a"] * 40, ""),
        "required_neighbors": lambda: _lowland.required_neighbors("lvm", [], 40),
        "dataset": lambda: _lowland.dataset("digits"),
        "write_file": lambda: _lowland.write_file(path, b""),
        "page": lambda: _lowland.page("", [("map", "", points, None, None, [])]),
        "choose": lambda: _lowland.choose(X, [], [3], [1], 1, 40, "near"),
        "compare_edges": lambda: _lowland.compare_edges(X, [], []),
        "assess": lambda: _lowland.assess(X, points, 5, "euclidean", 0.1, False, 0),
        "instability": lambda: _lowland.instability(X, model, 2),
        "choose_method": lambda: _lowland.choose_method(X, []),
        "fit_spectrum": lambda: _lowland.fit_spectrum([], [1.0], X),
        "fit_sequence": lambda: _lowland.fit_sequence("umap", [], [X, X], [[(0, 0)]], "exact", 1),
        "draw": lambda: lowland.draw(points).file("png"),
        "islands": lambda: _lowland.islands(points),
        "label_places": lambda: _lowland.label_places(points, [0] * 40, ["a"], "default", (255, 255, 255), 12.0),
        "palette_classes": lambda: _lowland.palette_classes([0], ["a"], "default", (255, 255, 255)),
        "palette_scale": lambda: _lowland.palette_scale(2, "default", (255, 255, 255)),
        "nearest_to": lambda: _lowland.nearest_to(X, X, 3, "euclidean"),
        "entropic_weights": lambda: _lowland.entropic_weights(distances.astype(np.float64), 2.0),
        "laplacian_eigenvectors": lambda: _lowland.laplacian_eigenvectors(sparse, 2, 1e-3, 0),
        "smallest_eigenpairs": lambda: _lowland.smallest_eigenpairs(sparse, 2, 0),
        "umap_curve": lambda: _lowland.umap_curve([]),
        "umap_memberships": lambda: _lowland.umap_memberships([], graph),
        "umap_new_memberships": lambda: _lowland.umap_new_memberships([], edges, distances[:, 0], 40, 1.0),
        "umap_layout": lambda: _lowland.umap_layout([], X, sparse),
        "umap_placement": lambda: _lowland.umap_placement([], points, edges, distances[:, 0], 1.0),
        "run_command": lambda: _lowland.run_command(["lowland", "methods"]),
    }


def test_every_entry_point_turns_a_panic_into_a_runtime_error(tmp_path):
    for name, call in calls(tmp_path).items():
        _lowland.panic_next(False)
        with pytest.raises(RuntimeError, match="internal error of lowland .*: requested by a test\n.*report it") as raised:
            call()
        assert "panics.rs" in str(raised.value), name


def test_every_function_of_the_module_is_among_them(tmp_path):
    # Functions that only return tables or fields or set one, and the hook itself.
    simple = {"methods", "preprocessing", "datasets", "panic_next", "devices", "set_device", "palette_names", "embedded_fonts", "plain_text"}
    functions = {name for name in dir(_lowland) if not name.startswith("_") and callable(getattr(_lowland, name))}
    classes = {name for name in functions if isinstance(getattr(_lowland, name), type)}
    assert functions - classes - simple == {name for name in calls(tmp_path) if "." not in name}


def test_panic_of_a_worker_thread_leaves_the_estimator_unfitted(few):
    model = lowland.TSNE(max_iter=10)
    _lowland.panic_next(True)
    with pytest.raises(RuntimeError, match="requested by a test"):
        model.fit(few)
    assert not hasattr(model, "embedding_") and not hasattr(model, "n_features_in_")
    with pytest.warns(lowland.ConvergenceWarning):
        model.fit(few)
