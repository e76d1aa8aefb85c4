"""Tests that packages do not install: they are taken from their source archives."""

import hashlib
import io
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

#: Version, file name of the source archive, its SHA-256, and the folder of the tests in it. The wheels and source archives of umap-learn on PyPI have no
#: tests; Debian's archive of the same version has.
ARCHIVES = {
    "openTSNE": (
        "1.0.4",
        "opentsne-1.0.4.tar.gz",
        "e90bf612be94fcbe06e3cab9531a58e4824661f38dd7c2e934569820d15c82ab",
        "opentsne-1.0.4/tests",
    ),
    "umap": (
        "0.5.12",
        "umap-learn_0.5.12+dfsg.orig.tar.xz",
        "c38b6ad41db91dd419b0f8157d1998f9fd52cb61d772eefd975d4544009a0532",
        "umap-release-0.5.12/umap/tests",
    ),
}


def _from_pypi(requirement: str, folder: Path) -> None:
    """Download a source archive with pip."""
    name = requirement.split("==")[0]
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", name, "--dest", folder, requirement], check=True)


def _from_debian(path: str, folder: Path) -> None:
    """Download a file from the mirror that apt is configured with, which has the sources of all releases."""
    command = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
    mirrors = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    mirror = next((mirror for mirror in mirrors if not mirror.rstrip("/").endswith("-security")), None)
    if mirror is None:
        raise SystemExit("apt knows no mirror of Debian: the tests of umap-learn need one")
    with urllib.request.urlopen(mirror.rstrip("/") + "/" + path, timeout=60) as response:
        (folder / path.rsplit("/", 1)[1]).write_bytes(response.read())


def tests_of(package: str, folder: Path) -> Path:
    """Download the archive of a package, and extract its tests to ``folder/package/tests``, which is returned."""
    version, name, checksum, inside = ARCHIVES[package]
    archive = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    if not archive.exists() or hashlib.sha256(archive.read_bytes()).hexdigest() != checksum:
        if package == "umap":
            _from_debian(f"pool/main/u/umap-learn/{name}", folder)
        else:
            _from_pypi(f"{package}=={version}", folder)
    content = archive.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != checksum:
        archive.unlink()
        raise SystemExit(f"{name} has the SHA-256 {found}, not {checksum}")
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
