"""Data sets, tools and limits from which the cases are built. Constants only: `--list` needs nothing but the standard library."""

# Name -> (rows, columns, title in the report). datasets.py builds them.
DATASETS = {
    "swiss-roll-500": (500, 3, "Swiss roll"),
    "digits": (1_797, 64, "the digits"),
    "swiss-roll": (2_000, 3, "Swiss roll"),
    "mnist-2k": (2_000, 50, "MNIST"),
    "mnist-10k": (10_000, 50, "MNIST"),
    "words": (26_423, 300, "word vectors"),
    "mnist-70k": (70_000, 50, "MNIST"),
    "fashion-70k": (70_000, 50, "Fashion-MNIST"),
    "deformed-250k": (250_000, 50, "deformed MNIST"),
    "deformed-1m": (1_000_000, 50, "deformed MNIST"),
}
# Pixels instead of principal components, for the cases of tsm and of PCA.
PIXEL_DATASETS = {
    "mnist-pixels-2800": (2_800, 784, "MNIST pixels, every 25th image"),
    "mnist-pixels-14k": (14_000, 784, "MNIST pixels, every 5th image"),
    "mnist-pixels-new": (2_000, 784, "MNIST pixels, 2,000 images that are not among the 2,800"),
    "mnist-pixels": (70_000, 784, "MNIST pixels"),
}

# Methods of lowland that are run as they come.
METHODS = ["lvm", "tsne", "ssne", "ee", "mapit", "spectral", "pca", "tsm", "isomap", "lle", "ltsa", "lllvm"]
# The same methods fitted on landmarks, for data sets that are too large for the whole method.
LANDMARK_METHODS = ["isomap --landmarks 5000", "lle --landmarks 5000", "tsm --landmarks 10000"]
LOWLAND_TOOLS = METHODS + LANDMARK_METHODS

# Embedding tools other than lowland; peers/embeddings.py runs them.
PEER_TOOLS = [
    "umap-learn", "pacmap", "trimap", "openTSNE", "pymde", "manifolds-rs UMAP", "manifolds-rs PaCMAP", "manifolds-rs t-SNE",
    "manifolds-rs t-SNE fft", "bhtsne", "annembed", "sklearn t-SNE", "sklearn spectral", "sklearn Isomap", "sklearn LLE",
    "sklearn LTSA", "sklearn PCA",
]  # fmt: skip
# Peers that accept a precomputed neighbor graph.
GRAPH_PEERS = ["umap-learn", "pacmap", "trimap", "openTSNE", "manifolds-rs UMAP", "manifolds-rs PaCMAP", "manifolds-rs t-SNE fft"]
# Tools that minimize the objective of t-SNE, whose KL divergence is therefore comparable.
TSNE_TOOLS = {"tsne", "openTSNE", "manifolds-rs t-SNE", "manifolds-rs t-SNE fft", "bhtsne", "sklearn t-SNE"}

# Python packages whose versions are recorded, and Rust crates whose versions come from peers/rust/Cargo.lock.
PEER_PACKAGES = [
    "openTSNE", "umap-learn", "pacmap", "trimap", "scikit-learn", "pymde", "pynndescent", "hnswlib", "faiss-cpu", "manifolds-rs",
]  # fmt: skip
PEER_CRATES = ["annembed", "bhtsne"]

# Largest number of rows for tools whose time or memory grows quadratically, or that would take hours.
MAX_ROWS = {
    "lllvm": 1_000, "isomap": 12_000, "tsm": 30_000, "lle": 100_000, "ltsa": 100_000, "spectral": 300_000,
    "sklearn t-SNE": 30_000, "sklearn spectral": 12_000, "sklearn Isomap": 12_000, "sklearn LLE": 12_000, "sklearn LTSA": 12_000,
    "manifolds-rs t-SNE": 100_000, "pymde": 100_000, "trimap": 300_000, "annembed": 100_000, "bhtsne": 100_000,
}  # fmt: skip
# Methods that sum over all pairs: one by one in ten dimensions, where neither grids nor trees help.
PAIRWISE_METHODS, MAX_ROWS_PAIRWISE = ["tsne", "ssne", "ee", "mapit"], 12_000
# Data sets on which only these tools are run.
ONLY_TOOLS = {
    "deformed-1m": ["lvm", "tsne", "pca", "umap-learn", "pacmap"],
    "fashion-70k": ["tsne", "ssne", "ee", "openTSNE"],
}
# Numbers of dimensions other than the plane, and the tools that are meant for them.
DIMENSIONS = {"digits": (2, 3, 10), "mnist-10k": (2, 3, 10), "mnist-70k": (2, 3, 10), "words": (2, 10)}
HIGHER_DIMENSIONAL_TOOLS = [
    "lvm", "tsne", "ssne", "ee", "mapit", "spectral", "pca", "tsm", "isomap", "lle", "ltsa", "umap-learn", "pacmap", "trimap",
    "manifolds-rs UMAP", "manifolds-rs PaCMAP", "pymde", "sklearn PCA", "sklearn spectral", "sklearn Isomap", "sklearn LLE", "sklearn LTSA",
]  # fmt: skip
# Cases with one neighbor graph for all tools.
GRAPH_DATASETS = ["mnist-10k", "mnist-70k"]
GRAPH_METHODS = ["lvm", "tsne", "ssne", "ee", "mapit", "spectral"]
# Data sets whose embeddings are computed three times to compare their bytes.
REPRODUCIBILITY_DATASETS = ["digits", "mnist-10k"]
# Up to this many rows an embedding is scored on all rows, above it on a sample.
MAX_ROWS_SCORED_EXACTLY = 100_000


def rows_of(dataset):
    return (DATASETS | PIXEL_DATASETS)[dataset][0]
