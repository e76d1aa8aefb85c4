//! Bare Debian systems in folders, in which artifacts run with nothing but what they bring along.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::output_of;
use crate::run;
use crate::viewer::{has, install_in_ci, is_root, skip_or_fail};

/// How any release since 2011 is installed, also one that is newer than debootstrap.
const SCRIPT: &str = "/usr/share/debootstrap/scripts/sid";

/// An installed system.
pub struct Chroot(PathBuf);

impl Chroot {
    /// Installs a release of Debian with some packages, once; `None` if this machine cannot.
    pub fn new(release: &str, packages: &[&str]) -> Result<Option<Self>> {
        install_in_ci("debootstrap", "debootstrap");
        if !is_root() || !has("debootstrap") {
            skip_or_fail("root's rights and debootstrap are", "debootstrap", &format!("a bare Debian {release}"))?;
            return Ok(None);
        }
        let folder = Path::new("target/dist").join(format!("debian-{release}"));
        let complete = folder.join("complete");
        if !complete.exists() {
            if folder.exists() {
                fs::remove_dir_all(&folder)?;
            }
            let mut debootstrap = Command::new("debootstrap");
            debootstrap.args(["--variant=minbase", &format!("--include={}", packages.join(","))]);
            // An empty mirror is the usual one.
            debootstrap.arg(release).arg(&folder).args(["", SCRIPT]).stdout(std::process::Stdio::null());
            run(debootstrap, &format!("debootstrap {release}"))?;
            fs::write(&complete, "")?;
        }
        Ok(Some(Self(folder)))
    }

    /// Creates an empty folder of the system and returns it as seen from outside.
    pub fn empty_folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.0.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        Ok(folder)
    }

    /// Runs a script of the shell in a folder of the system and returns what it printed.
    pub fn shell(&self, folder: &str, script: &str) -> Result<String> {
        let mut command = Command::new("chroot");
        command.arg(&self.0).args(["/bin/sh", "-euc", &format!("cd /{folder}\n{script}")]);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/root").env("LANG", "C.UTF-8");
        output_of(&mut command)
    }
}
