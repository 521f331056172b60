//! The public socket of an agent, asked directly: a process for each question would be in the figures.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use runtime::agent::protocol::{Call, Detail, Outcome, Reply, Request, Status, VERSION};

/// No answer takes as long: a hang is told and not waited for.
const LONGEST: Duration = Duration::from_secs(20);

pub(crate) struct Domain(BufReader<UnixStream>);

impl Domain {
    pub(crate) fn at(socket: &Path) -> Result<Self> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(LONGEST))?;
        Ok(Self(BufReader::new(stream)))
    }

    pub(crate) fn ask(&mut self, call: Call) -> Result<Status> {
        self.say(call)?;
        self.hear()
    }

    /// Asks without waiting for the answer, which [`Self::hear`] does.
    pub(crate) fn say(&mut self, call: Call) -> Result<()> {
        let line = serde_json::to_string(&Request { version: VERSION, id: 1, call })? + "\n";
        Ok(self.0.get_mut().write_all(line.as_bytes())?)
    }

    pub(crate) fn hear(&mut self) -> Result<Status> {
        match self.next()? {
            Outcome::Status(status) => Ok(status),
            other => bail!("an agent answered {other:?}"),
        }
    }

    pub(crate) fn detail(&mut self) -> Result<Detail> {
        self.say(Call::Query { program: None, hosts: false })?;
        match self.next()? {
            Outcome::Detail(detail) => Ok(*detail),
            other => bail!("an agent answered {other:?}"),
        }
    }

    fn next(&mut self) -> Result<Outcome> {
        let mut line = String::new();
        self.0.read_line(&mut line).context("an agent has not answered")?;
        Ok(serde_json::from_str::<Reply>(&line)
            .with_context(|| format!("it said {line:?}"))?
            .outcome)
    }
}

/// Asks all at once, and waits for all answers.
pub(crate) fn ask_all(domains: &mut [Domain], call: &Call) -> Result<Vec<Status>> {
    domains.iter_mut().try_for_each(|domain| domain.say(call.clone()))?;
    domains.iter_mut().map(Domain::hear).collect()
}
