//! A guest program in a domain of the bench's own: the bench is its agent, so that no socket is in
//! the figures.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use domain::{Domain, Start};
use runtime::launch::Follower;
use runtime::launch::freeze::{FreezeConfig, Freezer};
use runtime::launch::program;

use crate::timed;

/// A domain, and one tree of programs in it.
pub(crate) struct Guest {
    pub(crate) domain: Arc<Domain>,
    pub(crate) freezer: Arc<Freezer>,
    _follower: Follower,
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Guest {
    /// Starts it, and waits for the line that says that it is ready.
    pub(crate) fn start(
        wanted: FreezeConfig,
        program: &Path,
        arguments: &[String],
    ) -> Result<Self> {
        let domain = Domain::new(Start::default())?;
        let freezer = Freezer::start(wanted)?;
        domain.set_backstop(freezer.clone());
        let report = |refusal| eprintln!("{refusal}");
        let follower = Follower::start(Arc::clone(&domain), Arc::clone(&freezer), report)?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program::in_domain(&mut command, follower.gate(), "guest").spawn()?;
        let stdin = child.stdin.take();
        let mut stdout = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        stdout.read_line(&mut String::new())?;
        Ok(Self { domain, freezer, _follower: follower, child, stdin, stdout })
    }

    /// What it prints if it is held for so long, once it has run for a while, and how many µs its
    /// release took.
    pub(crate) fn held(self, after: Duration, hold: Duration) -> Result<(String, f64)> {
        thread::sleep(after);
        self.domain.assert_hold();
        thread::sleep(hold);
        let release_us = timed(|| _ = self.domain.release_hold());
        Ok((self.finish()?, release_us))
    }

    /// What it prints after the end of its input.
    pub(crate) fn finish(mut self) -> Result<String> {
        drop(self.stdin.take());
        let mut text = String::new();
        self.stdout.read_to_string(&mut text)?;
        let status = self.child.wait()?;
        self.freezer.close();
        ensure!(status.success(), "a guest ended with {status}: {text}");
        Ok(text)
    }
}

/// What a program prints natively.
pub(crate) fn natively(program: &Path, arguments: &[String]) -> Result<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output()?;
    ensure!(output.status.success(), "{} ended with {}", program.display(), output.status);
    Ok(String::from_utf8(output.stdout)?)
}
