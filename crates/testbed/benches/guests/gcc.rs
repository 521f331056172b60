//! Guest programs in C of the benches.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

/// Makes a static program of a source in the folder of guests, under the name of the bench.
pub(crate) fn build(folder: &Path, bench: &str, source: &str) -> Result<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/guests");
    let name = Path::new(source).file_name().context("a source has a name")?;
    let program = folder.join(format!("{bench}-{}", name.display()));
    let mut gcc = Command::new("gcc");
    gcc.args(["-O2", "-Wall", "-Werror", "-pthread", "-static", "-o"]).arg(&program);
    let output = gcc.arg(sources.join(format!("{source}.c"))).output()?;
    std::io::stderr().write_all(&output.stderr)?;
    ensure!(output.status.success(), "{gcc:?} failed");
    Ok(program)
}
