//! An agent's side of its socket: it answers what anybody may ask of a domain.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use vtime::Tdf;
use vtime::image::Kind;

use super::protocol::{Call, Outcome, Reply, Request, Status, VERSION};
use super::registry::Registration;
use crate::domain::Domain;
use crate::launch::freeze::Freezer;

/// Longest request in octets; more is nobody's honest request.
const REQUEST_LENGTH_MAX: u64 = 64 * 1024;

/// A domain that answers calls.
#[derive(Debug)]
pub struct Control {
    name: String,
    title: String,
    domain: Arc<Domain>,
    freezer: Arc<Freezer>,
    /// Warnings that the agent has to tell besides those that counters show.
    warnings: Mutex<Vec<String>>,
}

impl Control {
    /// A domain under a name, with what runs in it for people.
    #[must_use]
    pub fn new(name: &str, title: &str, domain: Arc<Domain>, freezer: Arc<Freezer>) -> Arc<Self> {
        let warnings = Mutex::default();
        let (name, title) = (name.to_owned(), title.to_owned());
        Arc::new(Self { name, title, domain, freezer, warnings })
    }

    /// Answers whoever calls, until the process ends.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn serve(self: &Arc<Self>, registration: &Registration) -> std::io::Result<()> {
        let listener = registration.listener().try_clone()?;
        let control = Arc::clone(self);
        thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming().flatten() {
                let control = Arc::clone(&control);
                // Without a thread to spare the caller finds its connection closed.
                let _ = thread::Builder::new()
                    .name("control-caller".into())
                    .spawn(move || control.converse(&stream));
            }
        })?;
        Ok(())
    }

    /// Adds a warning to the status.
    pub fn warn(&self, warning: String) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    /// How the domain stands.
    #[must_use]
    pub fn status(&self) -> Status {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut calls = BTreeMap::new();
        for kind in Kind::ALL {
            let count = self.domain.calls(kind);
            if count > 0 {
                calls.insert(kind.name().to_owned(), count);
            }
            warnings.extend(warning(kind, count));
        }
        Status {
            name: self.name.clone(),
            agent_pid: std::process::id(),
            title: self.title.clone(),
            clock: self.domain.reading(),
            calls,
            freeze: Box::new(self.freezer.status()),
            warnings,
        }
    }

    fn converse(&self, stream: &UnixStream) {
        use std::io::Read;
        let mut writer = stream;
        let mut reader = BufReader::new(stream);
        loop {
            let mut line = String::new();
            match (&mut reader).take(REQUEST_LENGTH_MAX).read_line(&mut line) {
                Ok(length) if length > 0 => {}
                _ => return,
            }
            let reply = match serde_json::from_str::<Request>(&line) {
                Ok(request) => Reply { id: request.id, outcome: self.answer(&request) },
                Err(error) => {
                    Reply { id: 0, outcome: Outcome::Error(format!("no request: {error}")) }
                }
            };
            let mut text = serde_json::to_string(&reply).expect("a reply is plain data");
            text.push('\n');
            if writer.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &Request) -> Outcome {
        if request.version != VERSION {
            return Outcome::Error(format!(
                "this agent speaks version {VERSION} of the protocol, not {}; use the `qcycle` \
                 that started it",
                request.version
            ));
        }
        match &request.call {
            Call::Status => {}
            Call::Hold => drop(self.domain.assert_hold()),
            Call::Release => {
                if self.domain.release_hold().is_none() {
                    return Outcome::Error(format!("nothing holds the domain `{}`", self.name));
                }
            }
            Call::Dilate { tdf } => match tdf.parse::<Tdf>() {
                Ok(tdf) => self.domain.dilate(tdf),
                Err(error) => return Outcome::Error(error.to_string()),
            },
        }
        Outcome::Status(self.status())
    }
}

/// What a count of calls that saw host time means to the user.
#[must_use]
pub fn warning(kind: Kind, count: u64) -> Option<String> {
    (count > 0 && kind.leaks_host_time()).then(|| {
        format!(
            "{count} calls set waits (recvmmsg, SO_RCVTIMEO, SO_SNDTIMEO, FUTEX_WAIT_REQUEUE_PI) \
             that run on host time: they do not see holds or dilation"
        )
    })
}
