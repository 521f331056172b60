//! The programs that are measured, built by the compilers of this machine.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Guest programs that are ready to run.
#[derive(Debug)]
pub(crate) struct Guests {
    /// `clock.c` with a shared libc.
    pub(crate) clock_dynamic: PathBuf,
    /// `clock.c` without any shared library.
    pub(crate) clock_static: PathBuf,
    /// `clock.go`, which has no libc; `None` without a Go compiler.
    pub(crate) clock_go: Option<PathBuf>,
    /// `Clock.java`, compiled as it starts; `None` without a Java that can do so.
    pub(crate) clock_java: Option<PathBuf>,
    pub(crate) calls: PathBuf,
    pub(crate) start: PathBuf,
}

pub(crate) fn build(folder: &Path) -> Result<Guests> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/guests");
    let c = |source: &str, name: &str, flags: &[&str]| {
        let program = folder.join(name);
        let mut gcc = Command::new("gcc");
        gcc.args(["-O2", "-Wall", "-Werror", "-o"]).arg(&program);
        compile(gcc.args(flags).arg(sources.join(source)))?;
        Ok::<_, anyhow::Error>(program)
    };
    Ok(Guests {
        clock_dynamic: c("clock.c", "clock-dynamic", &[])?,
        clock_static: c("clock.c", "clock-static", &["-static"])?,
        clock_go: go(&sources.join("clock.go"), folder)?,
        clock_java: is_there("javac").then(|| sources.join("Clock.java")),
        calls: c("calls.c", "calls", &[])?,
        start: c("start.c", "start", &[])?,
    })
}

fn go(source: &Path, folder: &Path) -> Result<Option<PathBuf>> {
    if !is_there("go") {
        return Ok(None);
    }
    let program = folder.join("clock-go");
    let mut go = Command::new("go");
    // One file of the standard library's language: nothing is fetched, no C compiler is asked.
    go.env("CGO_ENABLED", "0").env("GOTOOLCHAIN", "local").env("GOFLAGS", "");
    go.env("GOCACHE", folder.join("go-cache"));
    compile(go.args(["build", "-o"]).arg(&program).arg(source))?;
    Ok(Some(program))
}

/// Whether there is such a program in `PATH`.
pub(crate) fn is_there(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn compile(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| {
        format!("{:?} is missing; `make setup` installs it", command.get_program())
    })?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}
