//! Tests the artifacts where they will be used: in new environments with the oldest and newest packages, on bare systems.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::chroot::Chroot;
use super::{GLIBC, Summary, archive_stem, file_name, output_of};
use crate::python::Environment;
use crate::run;
use crate::viewer::{has, install_in_ci, skip_or_fail};

pub const CHECKSUMS: &str = "SHA256SUMS";
/// The oldest Python that the wheel can be installed with, and the oldest packages, of which pip chooses the latest corrections.
const OLDEST_PYTHON: &str = "3.10";
const OLDEST_PACKAGES: [&str; 2] = ["numpy==1.26.*", "scikit-learn==1.5.*"];
/// Releases of Debian: the oldest that can be installed, and one with the newest Python.
const OLD_DEBIAN: &str = "bullseye";
/// A processor of 2008, without AVX, as QEMU calls it.
const OLD_PROCESSOR: &str = "Nehalem";
const NEW_DEBIAN: &str = "forky";
const NEWEST_PYTHON: &str = "3.15";
/// What the wheel may ask for; scikit-learn depends on scipy.
const REQUIRED: [&str; 3] = ["numpy", "scipy", "scikit-learn"];
/// Packages that the tests use.
const TEST_PACKAGES: [&str; 3] = ["pandas", "pytest", "tqdm"];
/// Tests that need no packages but these and those that the wheel asks for.
const TESTS: [&str; 6] =
    ["test_embed.py", "test_estimators.py", "test_fit.py", "test_neighbors.py", "test_package.py", "test_sklearn.py"];

/// SHA-256 sums of the files of a folder, by name.
pub fn sums(folder: &Path) -> Result<BTreeMap<String, String>> {
    const SCRIPT: &str = "import hashlib, sys; print(hashlib.sha256(open(sys.argv[1], 'rb').read()).hexdigest())";
    let mut sums = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && file_name(&path) != CHECKSUMS {
            let sum = output_of(Command::new("python3").args(["-c", SCRIPT]).arg(&path))?;
            sums.insert(file_name(&path), sum.trim().to_string());
        }
    }
    Ok(sums)
}

/// Compares the files with their sums.
pub fn checksums(folder: &Path) -> Result<()> {
    let stated = fs::read_to_string(folder.join(CHECKSUMS)).with_context(|| format!("no {CHECKSUMS}: build first"))?;
    let computed = sums(folder)?;
    for line in stated.lines() {
        let (sum, name) = line.split_once("  ").with_context(|| format!("{CHECKSUMS}: {line}"))?;
        ensure!(computed.get(name).is_some_and(|computed| computed == sum), "{name} is not the file of {CHECKSUMS}");
    }
    Ok(())
}

/// Tests a wheel: what it is linked with and asks for, and the package with the oldest and newest of what it needs.
pub fn wheel(wheel: &Path, summary: &mut Summary) -> Result<()> {
    let environment = Environment::create_in("target/dist/wheel")?;
    let python = || Command::new(environment.program("python"));
    summary.step("wheel: metadata", || {
        environment.pip(&["install", "auditwheel", "twine"])?;
        output_of(python().args(["-m", "twine", "check", "--strict"]).arg(wheel))?;
        let shown = match cfg!(target_os = "linux") {
            true => output_of(python().args(["-m", "auditwheel", "show"]).arg(wheel))?,
            false => String::new(),
        };
        let tag = shown.split('"').nth(1).unwrap_or("not Linux").to_string();
        Ok(format!("{}, runs on {tag}", requirements(&python, wheel)?))
    })?;
    let oldest = oldest_python();
    if oldest.is_none() {
        skip_or_fail(&format!("Python {OLDEST_PYTHON} is"), "python3", "the wheel with it")?;
    }
    let oldest = oldest.as_deref().unwrap_or("python3");
    for (interpreter, packages, title) in [
        (oldest, &OLDEST_PACKAGES[..], "oldest Python and packages"),
        ("python3", &["numpy", "scikit-learn"], "newest packages"),
    ] {
        summary.step(format!("wheel: {title}"), || {
            let environment = Environment::create_with(interpreter, "target/dist/wheel")?;
            environment.pip(&[&["install", &wheel.to_string_lossy()], packages, &TEST_PACKAGES].concat())?;
            let mut pytest = Command::new(environment.program("python"));
            pytest.current_dir("python/tests").args(["-m", "pytest", "-p", "no:cacheprovider"]).args(TESTS);
            let printed = output_of(&mut pytest)?;
            let versions = output_of(Command::new(environment.program("python")).args(["-c", VERSIONS]))?;
            Ok(format!("{}; {}", versions.trim(), last_line(&printed)))
        })?;
    }
    if cfg!(target_os = "linux") && !file_name(wheel).contains("musl") {
        summary.step(format!("wheel: Python {NEWEST_PYTHON}"), || wheel_with_newest_python(wheel))?;
    }
    Ok(())
}

/// The oldest Python, if it is on this machine: by its name, or among the versions of pyenv.
fn oldest_python() -> Option<String> {
    let name = format!("python{OLDEST_PYTHON}");
    let windows_name = name.replace('.', "");
    let has_venv = |path: &str| {
        Command::new(path).args(["-c", "import ensurepip, venv"]).output().is_ok_and(|output| output.status.success())
    };
    if let Some(name) = [&name, &windows_name].into_iter().find(|name| has_venv(name)) {
        return Some(name.clone());
    }
    let versions = fs::read_dir(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv/versions")).ok()?;
    let prefix = format!("{OLDEST_PYTHON}.");
    let paths = versions.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut found = paths.filter(|path| file_name(path).starts_with(&prefix));
    found.find_map(|path| path.join("bin").join(&name).to_str().map(String::from).filter(|path| has_venv(path)))
}

const VERSIONS: &str = "import sys, numpy, sklearn; print('Python', sys.version.split()[0], 'numpy', numpy.__version__, 'scikit-learn', sklearn.__version__)";

/// Packages that the wheel asks for.
fn requirements(python: &dyn Fn() -> Command, wheel: &Path) -> Result<String> {
    const SCRIPT: &str = "\
import email, sys, zipfile
files = zipfile.ZipFile(sys.argv[1])
name = next(name for name in files.namelist() if name.endswith('.dist-info/METADATA'))
for line in email.message_from_bytes(files.read(name)).get_all('Requires-Dist'):
    print(line)";
    let printed = output_of(python().args(["-c", SCRIPT]).arg(wheel))?;
    for line in printed.lines().filter(|line| !line.contains("extra ==")) {
        let name = line.split(|letter: char| !letter.is_alphanumeric() && letter != '-').next().unwrap_or_default();
        ensure!(REQUIRED.contains(&name), "the wheel asks for {line}");
    }
    let required: Vec<&str> = printed.lines().filter(|line| !line.contains("extra ==")).collect();
    Ok(format!("asks for {}", required.join(", ")))
}

/// Runs the tests on a bare system with another Python than this machine's. It has no network: what is needed is brought along.
fn wheel_with_newest_python(wheel: &Path) -> Result<String> {
    let python = format!("python{NEWEST_PYTHON}");
    let Some(system) = Chroot::new(NEW_DEBIAN, &[&python, &format!("{python}-venv")])? else {
        return Ok("not tested".into());
    };
    let folder = system.empty_folder("wheel")?;
    let packages = folder.join("packages");
    let tools = Environment::create_in("target/dist/wheel")?;
    let (destination, wheel) = (packages.to_string_lossy(), wheel.to_string_lossy());
    let download =
        ["download", "--only-binary=:all:", "--python-version", NEWEST_PYTHON, "--dest", &destination, &wheel];
    tools.pip(&[&download[..], &TEST_PACKAGES].concat())?;
    copy_tests(&folder)?;
    let printed = system.shell(
        "wheel",
        &format!(
            "{python} -m venv environment
            environment/bin/pip install --quiet --no-index --find-links packages lowland {}
            environment/bin/python -c \"{VERSIONS}\"
            cd tests && ../environment/bin/python -m pytest -p no:cacheprovider {}",
            TEST_PACKAGES.join(" "),
            TESTS.join(" ")
        ),
    )?;
    let versions = printed.lines().next().unwrap_or_default();
    Ok(format!("{versions}; {}", last_line(&printed)))
}

fn copy_tests(folder: &Path) -> Result<()> {
    let tests = folder.join("tests");
    fs::create_dir_all(&tests)?;
    for entry in fs::read_dir("python/tests")? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "py") {
            fs::copy(&path, tests.join(file_name(&path)))?;
        }
    }
    fs::copy("python/pyproject.toml", folder.join("pyproject.toml"))?;
    Ok(())
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().last().unwrap_or_default()
}

/// Builds and installs the wheel from its source alone, in a folder outside of the repository.
pub fn sdist(archive: &Path, summary: &mut Summary) -> Result<()> {
    summary.step("sdist: build and install", || {
        let environment = Environment::create_in("target/dist/sdist")?;
        let folder = std::env::temp_dir().join(format!("lowland-sdist-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let mut install = Command::new(environment.program("python"));
        install.args(["-m", "pip", "--quiet", "install"]).arg(archive).current_dir(&folder);
        install.env_remove("RUSTFLAGS").env("CARGO_TARGET_DIR", folder.join("target"));
        let installed = run(install, "pip install of the sdist");
        let mut embed = Command::new(environment.program("lowland"));
        embed.args(["embed", "digits", "--quiet", "--out", "digits.png"]).current_dir(&folder);
        let made =
            installed.and_then(|()| output_of(&mut embed)).and_then(|_| picture_size(&folder.join("digits.png")));
        fs::remove_dir_all(&folder)?;
        Ok(format!("its command draws the digits, {} bytes", made?))
    })
}

/// Tests the program: which glibc it needs, and that it works on a bare system with its checksums, manual and completions.
pub fn binary(archive: &Path, target: &str, summary: &mut Summary) -> Result<()> {
    let folder = std::path::absolute("target/dist/unpacked")?;
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    output_of(Command::new("tar").arg("-xf").arg(archive).arg("-C").arg(&folder))?;
    let unpacked = folder.join(archive_stem(target));
    if target.ends_with("-linux-gnu") {
        summary.step("binary: symbols", || newest_glibc(&unpacked.join("lowland")))?;
    }
    summary.step("binary: this machine", || {
        let program = unpacked.join(if target.contains("windows") { "lowland.exe" } else { "lowland" });
        output_of(
            Command::new(&program).args(["embed", "digits", "--quiet", "--out", "digits.png"]).current_dir(&folder),
        )?;
        for path in
            ["man/man1/lowland.1", "man/man1/lowland-embed.1", "completions/_lowland", "THIRD-PARTY-LICENSES.txt"]
        {
            ensure!(
                fs::metadata(unpacked.join(path)).is_ok_and(|about| about.len() > 500),
                "{path} is missing or empty"
            );
        }
        let version = output_of(Command::new(&program).arg("--version"))?;
        Ok(format!("{}; draws the digits, {} bytes", version.trim(), picture_size(&folder.join("digits.png"))?))
    })?;
    if target.starts_with("x86_64-unknown-linux") {
        summary
            .step(format!("binary: {OLD_PROCESSOR}"), || binary_on_old_processor(&unpacked.join("lowland"), &folder))?;
    }
    if target.ends_with("-linux-gnu") {
        summary.step(format!("binary: Debian {OLD_DEBIAN}"), || binary_on_old_debian(archive, target, &folder))?;
    }
    Ok(())
}

/// Version of glibc that a program needs.
fn newest_glibc(program: &Path) -> Result<String> {
    let printed = output_of(Command::new("objdump").arg("-p").arg(program))?;
    let version = |text: &str| text.split('.').map(|part| part.parse::<u32>().ok()).collect::<Option<Vec<_>>>();
    let needed = printed.split_whitespace().filter_map(|word| version(word.strip_prefix("GLIBC_")?)).max();
    let needed = needed.with_context(|| format!("{} names no version of glibc", program.display()))?;
    ensure!(Some(&needed) <= version(GLIBC).as_ref(), "the program needs glibc {needed:?}, not {GLIBC}");
    Ok(format!("needs glibc {}", needed.iter().map(u32::to_string).collect::<Vec<_>>().join(".")))
}

/// Compares a map of an emulated old processor with that of this one.
fn binary_on_old_processor(program: &Path, folder: &Path) -> Result<String> {
    /// Largest difference of coordinates: products of matrices are rounded differently.
    const TOLERANCE: f64 = 1e-3;
    install_in_ci("qemu-x86_64", "qemu-user");
    if !has("qemu-x86_64") {
        skip_or_fail("qemu-x86_64 is", "qemu-user", "the program on a processor without AVX")?;
        return Ok("not tested".into());
    }
    let embed = |mut command: Command, method: &str, name: &str| -> Result<Vec<f64>> {
        let path = folder.join(format!("{method}-{name}.csv"));
        let arguments =
            ["embed", "digits", "--max-rows", "300", "--quiet", "--no-quality", "--method", method, "--out"];
        output_of(command.args(arguments).arg(&path))?;
        let text = fs::read_to_string(&path)?;
        let cells = text.lines().skip(1).flat_map(|line| line.split(',').take(2));
        Ok(cells.map(str::parse).collect::<Result<_, _>>()?)
    };
    let emulated = || {
        let mut command = Command::new("qemu-x86_64");
        command.args(["-cpu", OLD_PROCESSOR]).arg(program);
        command
    };
    let (here, there) = (embed(Command::new(program), "pca", "here")?, embed(emulated(), "pca", "there")?);
    let largest = here.iter().zip(&there).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    ensure!(here.len() == 600 && there.len() == 600 && largest < TOLERANCE, "the map of pca differs by {largest}");
    let map = embed(emulated(), "tsne", "there")?;
    ensure!(map.len() == 600 && map.iter().all(|value| value.is_finite()), "tsne gives no map");
    Ok(format!("the map of pca differs by {largest:.0e} at most, tsne works"))
}

/// Runs the program on a bare old system. Its C library rounds functions such as `exp` differently, so that only maps that use none of them
/// have the same bytes as here.
fn binary_on_old_debian(archive: &Path, target: &str, elsewhere: &Path) -> Result<String> {
    let Some(system) = Chroot::new(OLD_DEBIAN, &["ca-certificates"])? else { return Ok("not tested".into()) };
    let folder = system.empty_folder("binary")?;
    fs::copy(archive, folder.join(file_name(archive)))?;
    fs::copy(archive.with_file_name(CHECKSUMS), folder.join(CHECKSUMS))?;
    let stem = archive_stem(target);
    let printed = system.shell(
        "binary",
        &format!(
            "sha256sum --ignore-missing --check {CHECKSUMS} >&2
            tar -xzf {}
            {stem}/lowland embed digits --quiet --out digits.png
            {stem}/lowland embed digits --method pca --quiet --no-quality --out pca.csv
            ldd --version | head -n 1",
            file_name(archive),
        ),
    )?;
    let size = picture_size(&folder.join("digits.png"))?;
    let program = elsewhere.join(&stem).join("lowland");
    let embed = ["embed", "digits", "--method", "pca", "--quiet", "--no-quality", "--out", "pca.csv"];
    output_of(Command::new(program).args(embed).current_dir(elsewhere))?;
    let same = fs::read(folder.join("pca.csv"))? == fs::read(elsewhere.join("pca.csv"))?;
    ensure!(same, "the map of pca is not the one of this machine");
    Ok(format!("{}; draws the digits, {size} bytes; the map of pca is that of this machine", printed.trim()))
}

/// Size of a picture, which must be one.
fn picture_size(path: &PathBuf) -> Result<usize> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    if !bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        bail!("{} is not a picture", path.display());
    }
    Ok(bytes.len())
}
