//! An agent's side of its socket: it answers what anybody may ask of a domain.

use std::cell::OnceCell;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use vtime::Tdf;

use super::local::{Local, Together};
use super::peer;
use super::protocol::{Call, Outcome, Reply, Request, Status, VERSION};
use super::registry::Registration;
use super::together::AllHosts;
use crate::intervention::{Action, Caller};
use crate::launch::freeze::Freezer;
use domain::Domain;

/// Longest request in octets; more is nobody's honest request.
const REQUEST_LENGTH_MAX: u64 = 64 * 1024;

/// How long to wait after a caller could not be received.
const ACCEPT_AGAIN: Duration = Duration::from_millis(20);
/// How long a caller who keeps others waiting may take until it asks.
const CALLER_LONGEST: Duration = Duration::from_millis(500);

/// A domain that answers calls.
pub struct Control {
    local: Local,
    /// Where the domain spans several.
    hosts: OnceLock<AllHosts>,
}

impl Control {
    /// A domain under a name, with a title for people. Only a run itself ends the domain `of_run`.
    pub fn new(
        name: &str,
        title: &str,
        domain: Arc<Domain>,
        freezer: Arc<Freezer>,
        of_run: bool,
    ) -> Arc<Self> {
        let local = Local::new(name, title, domain, freezer, of_run);
        Arc::new(Self { local, hosts: OnceLock::new() })
    }

    /// Sets the function that is called after each action of a caller on the domain. The first one
    /// named does.
    pub fn on_intervention(&self, listener: impl Fn(Action, Caller) + Send + Sync + 'static) {
        self.local.on_intervention(listener);
    }

    /// From now on the domain spans several hosts: all are held together, and each is asked of all.
    pub fn span_hosts(&self, together: Arc<dyn Together>) {
        self.local.span_hosts(Arc::clone(&together));
        let _ = self.hosts.set(AllHosts::new(together));
    }

    /// Answers what another host has asked; nothing if there is none.
    pub fn answer_host(&self, from: usize, question: &[u8]) -> Vec<u8> {
        let hosts = self.hosts.get();
        hosts.map_or_else(Vec::new, |hosts| hosts.answer(&self.local, from, question))
    }

    /// Adds a warning to the status. Who attends the domain learns of it.
    pub fn warn(&self, warning: String) {
        self.local.warn(warning);
    }

    /// How the domain stands.
    pub fn status(&self) -> Status {
        self.local.status()
    }

    /// Detaches the domain unless somebody attends it.
    pub fn detach_unattended(&self) {
        self.local.detach_unattended();
    }

    /// Answers all callers, until the process ends.
    pub fn serve(self: &Arc<Self>, registration: &Registration) -> std::io::Result<()> {
        let listener = registration.listener.try_clone()?;
        let control = Arc::clone(self);
        thread::Builder::new().name("control".into()).spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream.map(Arc::new) else {
                    // Out of descriptors, say: there may be some again.
                    thread::sleep(ACCEPT_AGAIN);
                    continue;
                };
                let caller = (Arc::clone(&control), Arc::clone(&stream));
                let thread = thread::Builder::new().name("control-caller".into());
                if thread.spawn(move || caller.0.handle_caller(&caller.1)).is_err() {
                    // A program may have all threads that this user may have. Then callers are
                    // heard one after the other, and none for long.
                    let _ = stream.set_read_timeout(Some(CALLER_LONGEST));
                    control.handle_caller(&stream);
                }
            }
        })?;
        Ok(())
    }

    fn handle_caller(&self, stream: &Arc<UnixStream>) {
        self.serve_requests(stream);
        self.local.ended(stream);
    }

    fn serve_requests(&self, stream: &Arc<UnixStream>) {
        use std::io::Read;
        let mut writer: &UnixStream = stream;
        let mut reader = BufReader::new(writer);
        if let Err(error) = peer::check_caller(stream) {
            let refused = Reply { id: 0, outcome: Outcome::Error(error.to_string()) };
            // The caller may have closed its end.
            let _ = writer.write_all(refused.line().as_bytes());
            return;
        }
        let caller = Connected::new(stream);
        loop {
            let mut asked = String::new();
            match (&mut reader).take(REQUEST_LENGTH_MAX).read_line(&mut asked) {
                Ok(length) if length > 0 => {}
                _ => return,
            }
            let reply = match serde_json::from_str::<Request>(&asked) {
                Ok(request) => {
                    let outcome = self.answer(&request, &caller);
                    Reply { id: request.id, outcome: outcome.unwrap_or_else(Outcome::Error) }
                }
                Err(error) => Reply {
                    id: 0,
                    outcome: Outcome::Error(format!("not a valid request: {error}")),
                },
            };
            if writer.write_all(reply.line().as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &Request, caller: &Connected<'_>) -> Result<Outcome, String> {
        if request.version != VERSION {
            return Err(format!(
                "this agent speaks version {VERSION} of the protocol, not {}; use the `qcycle` \
                 that started it",
                request.version
            ));
        }
        let (local, hosts) = (&self.local, self.hosts.get());
        let looks =
            matches!(request.call, Call::Status | Call::Query { .. } | Call::Attend | Call::Detach);
        if !looks && local.is_detached() {
            return Err(format!(
                "the domain `{}` is detached; use `qcycle attach` to attach it again",
                local.name
            ));
        }
        let by = || Caller { host: local.host(), ..caller.who() };
        match &request.call {
            Call::Status => {}
            Call::Attend => local.attend(caller.stream)?,
            Call::Detach => local.detach()?,
            Call::Hold => match caller.is_inside {
                true => local.freezer.without_freezing(|| local.hold(by()))?,
                false => local.hold(by())?,
            },
            Call::Release => match hosts {
                Some(all) => all.release(local, by())?,
                None if local.release(by()) => {}
                None => return Err(format!("the domain `{}` is not held", local.name)),
            },
            Call::Dilate { tdf } => match hosts {
                Some(all) => all.dilate(local, factor(tdf)?, by())?,
                None => local.dilate(factor(tdf)?, by()),
            },
            Call::DilateProgram { tdf, program } => {
                let detail = match hosts {
                    Some(all) => all.dilate_programs(local, factor(tdf)?, program, by())?,
                    None => local.dilate_programs(factor(tdf)?, program, by())?,
                };
                return Ok(Outcome::Detail(Box::new(detail)));
            }
            Call::Query { program, hosts: everywhere } => {
                let detail = match hosts.filter(|_| *everywhere) {
                    Some(all) => all.query(local, program.as_ref())?,
                    None => local.detail(program.as_ref())?,
                };
                return Ok(Outcome::Detail(Box::new(detail)));
            }
        }
        Ok(Outcome::Status(local.status()))
    }
}

/// Who has opened a connection. It takes as long as a hold to find that out, so it is found out once.
struct Connected<'a> {
    stream: &'a Arc<UnixStream>,
    is_inside: bool,
    who: OnceCell<Caller>,
}

impl<'a> Connected<'a> {
    fn new(stream: &'a Arc<UnixStream>) -> Self {
        Self { stream, is_inside: peer::is_inside(stream), who: OnceCell::new() }
    }

    fn who(&self) -> Caller {
        self.who.get_or_init(|| peer::who(self.stream, self.is_inside)).clone()
    }
}

fn factor(text: &str) -> Result<Tdf, String> {
    text.parse::<Tdf>().map_err(|error| error.to_string())
}
