//! Builds the artifacts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{FOLDER, GLIBC, archive_ending, archive_stem, file_name, licenses, output_of};
use crate::python::Environment;
use crate::run;

/// The licenses of linked crates, where maturin looks for them. Git ignores this file.
const WHEEL_LICENSES: &str = "python/src/lowland/THIRD-PARTY-LICENSES.txt";
const SHELLS: [(&str, &str); 5] = [
    ("bash", "lowland.bash"),
    ("zsh", "_lowland"),
    ("fish", "lowland.fish"),
    ("elvish", "lowland.elv"),
    ("powershell", "_lowland.ps1"),
];

/// Builds for a target with the programs of a virtual environment.
pub struct Builder<'a> {
    pub tools: Environment,
    pub target: &'a str,
}

impl Builder<'_> {
    /// Builds the wheel.
    pub fn wheel(&self) -> Result<PathBuf> {
        fs::write(WHEEL_LICENSES, licenses::third_party("lowland-py", self.target)?)?;
        let folder = std::path::absolute(FOLDER)?;
        remove(&folder, ".whl")?;
        let mut maturin = self.program("maturin");
        maturin.current_dir("python").args([
            "build",
            "--quiet",
            "--release",
            "--locked",
            "--target",
            self.target,
            "--out",
        ]);
        maturin.arg(&folder).arg("--interpreter").arg(self.tools.program("python"));
        if self.uses_zig() {
            let tag = if self.target.contains("musl") {
                "musllinux_1_2".into()
            } else {
                format!("manylinux_{}", GLIBC.replace('.', "_"))
            };
            maturin.args(["--zig", "--compatibility", &tag]);
        }
        run(maturin, "maturin build")?;
        super::find(".whl")
    }

    /// Packs the source of the wheel.
    pub fn sdist(&self) -> Result<PathBuf> {
        let folder = std::path::absolute(FOLDER)?;
        let mut maturin = self.program("maturin");
        maturin.current_dir("python").args(["sdist", "--out"]).arg(&folder);
        run(maturin, "maturin sdist")?;
        super::find(".tar.gz")
    }

    /// Builds the program and packs it with its manual, completions and licenses.
    pub fn binary(&self) -> Result<PathBuf> {
        let program = self.program_file()?;
        let stem = archive_stem(self.target);
        let parent = Path::new("target/dist");
        let folder = parent.join(&stem);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("man/man1"))?;
        fs::create_dir_all(folder.join("completions"))?;
        fs::copy(&program, folder.join(file_name(&program))).with_context(|| program.display().to_string())?;
        for name in ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            fs::copy(name, folder.join(name)).with_context(|| name.to_string())?;
        }
        fs::write(folder.join("THIRD-PARTY-LICENSES.txt"), licenses::third_party("lowland-cli", self.target)?)?;
        output_of(Command::new(&program).args(["manual", "--out"]).arg(folder.join("man/man1")))?;
        for (shell, name) in SHELLS {
            let script = output_of(Command::new(&program).args(["completions", shell]))?;
            fs::write(folder.join("completions").join(name), script)?;
        }
        let archive =
            std::path::absolute(FOLDER)?.join(format!("lowland-{}-{}", super::version(), archive_ending(self.target)));
        pack(parent, &stem, &archive)?;
        Ok(archive)
    }

    /// Compiles the program and returns its path.
    fn program_file(&self) -> Result<PathBuf> {
        let glibc = if self.target.ends_with("-linux-gnu") { format!(".{GLIBC}") } else { String::new() };
        let mut cargo = if self.uses_zig() {
            self.program("cargo-zigbuild")
        } else {
            self.with_settings(Command::new(env!("CARGO")))
        };
        cargo.arg(if self.uses_zig() { "zigbuild" } else { "build" });
        cargo.args([
            "--release",
            "--locked",
            "--package",
            "lowland-cli",
            "--target",
            &format!("{}{glibc}", self.target),
        ]);
        run(cargo, "cargo build of the program")?;
        let name = if self.target.contains("windows") { "lowland.exe" } else { "lowland" };
        let path = std::path::absolute(Path::new("target").join(self.target).join("release").join(name))?;
        ensure!(path.exists(), "{} was not built", path.display());
        Ok(path)
    }

    fn uses_zig(&self) -> bool {
        self.target.contains("-linux-")
    }

    /// A program of the environment, which finds the others and is built as all artifacts are.
    fn program(&self, name: &str) -> Command {
        let path = self.tools.program(name);
        let folder = path.parent().expect("a folder").to_path_buf();
        let mut command = Command::new(path);
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&paths)));
        command.env("PATH", paths.expect("a path without the separator"));
        self.with_settings(command)
    }

    /// The same for all artifacts, so that they share what is compiled.
    fn with_settings(&self, mut command: Command) -> Command {
        command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
        command
    }
}

/// Deletes the files of a folder whose names end so.
fn remove(folder: &Path, ending: &str) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if file_name(&path).ends_with(ending) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

/// Packs the folder `parent/name`. The same content gives the same archive, whoever packs it and when.
fn pack(parent: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(parent);
    if cfg!(target_os = "linux") {
        let date = output_of(Command::new("git").args(["log", "-1", "--format=%ct"])).unwrap_or_else(|_| "0".into());
        tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--mode=go=u,go-w"]);
        tar.arg(format!("--mtime=@{}", date.trim())).args(["--use-compress-program=gzip -9n", "-cf"]);
    } else {
        // bsdtar chooses the format by the name, .zip on Windows.
        tar.arg("-acf");
    }
    run(
        {
            tar.arg(archive).arg(name);
            tar
        },
        "tar",
    )
}

/// Writes SHA256SUMS of all files of the folder.
pub fn write_checksums(folder: &Path) -> Result<()> {
    let sums = super::check::sums(folder)?;
    let lines: Vec<String> = sums.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
    fs::write(folder.join(super::check::CHECKSUMS), lines.concat())?;
    Ok(())
}
