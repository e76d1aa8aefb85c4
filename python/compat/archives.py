"""Tests that packages do not install: they are taken from their source archives."""

import hashlib
import io
import tarfile
import urllib.request
from pathlib import Path

#: Version, source archive, its SHA-256, and the folder of the tests in it. The wheels and source archives of umap-learn on PyPI have no
#: tests; Debian's archive of the same version has.
ARCHIVES = {
    "openTSNE": (
        "1.0.4",
        "https://files.pythonhosted.org/packages/9d/16/4c73977c4702c6a9452248d4562ba61579a215bc09e4c50b795de65fbbca/opentsne-1.0.4.tar.gz",
        "e90bf612be94fcbe06e3cab9531a58e4824661f38dd7c2e934569820d15c82ab",
        "opentsne-1.0.4/tests",
    ),
    "umap": (
        "0.5.12",
        "https://deb.debian.org/debian/pool/main/u/umap-learn/umap-learn_0.5.12+dfsg.orig.tar.xz",
        "c38b6ad41db91dd419b0f8157d1998f9fd52cb61d772eefd975d4544009a0532",
        "umap-release-0.5.12/umap/tests",
    ),
}


def tests_of(package: str, folder: Path) -> Path:
    """Download the archive of a package, and extract its tests to ``folder/package/tests``, which is returned."""
    _, url, checksum, inside = ARCHIVES[package]
    archive = folder / url.rsplit("/", 1)[1]
    folder.mkdir(parents=True, exist_ok=True)
    if not archive.exists() or hashlib.sha256(archive.read_bytes()).hexdigest() != checksum:
        with urllib.request.urlopen(url, timeout=60) as response:
            archive.write_bytes(response.read())
    content = archive.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != checksum:
        archive.unlink()
        raise SystemExit(f"{url} has the SHA-256 {found}, not {checksum}")
    tests = folder / package / "tests"
    tests.mkdir(parents=True, exist_ok=True)
    # A package, so that the tests can import relatively.
    (folder / package / "__init__.py").touch()
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        for member in files.getmembers():
            if member.isfile() and member.name.startswith(inside + "/"):
                path = tests / member.name[len(inside) + 1 :]
                if path.resolve().parent == tests.resolve():
                    path.write_bytes(files.extractfile(member).read())
    return tests
