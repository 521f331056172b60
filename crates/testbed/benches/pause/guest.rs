//! A guest program in a domain of the bench's own: the bench is its agent, so that no socket is in
//! the figures.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use runtime::domain::{Domain, Start};
use runtime::launch::Follower;
use runtime::launch::freeze::{FreezeConfig, Freezer};
use runtime::launch::program;

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
    pub(crate) fn start(
        wanted: FreezeConfig,
        program: &Path,
        arguments: &[String],
    ) -> Result<Self> {
        let domain = Domain::new(Start::default())?;
        let freezer = Freezer::start(wanted)?;
        domain.set_backstop(freezer.clone());
        let follower = Follower::start(Arc::clone(&domain), Arc::clone(&freezer))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = program::in_domain(&mut command, follower.gate(), "guest").spawn()?;
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().context("its output is a pipe")?);
        Ok(Self { domain, freezer, _follower: follower, child, stdin, stdout })
    }

    pub(crate) fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        Ok(line)
    }

    /// What it prints after the end of its input.
    pub(crate) fn finish(&mut self) -> Result<String> {
        drop(self.stdin.take());
        let mut text = String::new();
        self.stdout.read_to_string(&mut text)?;
        let status = self.child.wait()?;
        self.freezer.close();
        ensure!(status.success(), "a guest ended with {status}: {text}");
        Ok(text)
    }
}
