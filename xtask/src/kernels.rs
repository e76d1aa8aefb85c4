//! Compiles the CUDA kernels of `lowland-cuda`. Needs Python, and no graphics card.

use anyhow::Result;

use crate::python::Environment;

/// NVIDIA's run-time compiler. The first version of CUDA 12: drivers from 525 on accept its PTX.
const COMPILER: &str = "nvidia-cuda-nvrtc-cu12==12.0.76";

/// Compiles the kernels whose sources have changed.
pub fn compile() -> Result<()> {
    let environment = Environment::create()?;
    environment.pip(&["install", COMPILER])?;
    let mut compiler = std::process::Command::new(environment.program("python"));
    compiler.arg("crates/lowland-cuda/kernels/compile.py");
    crate::run(compiler, "kernels/compile.py")
}
