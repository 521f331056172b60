//! An agent's side of its socket: it answers what anybody may ask of a domain.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use vtime::Tdf;

use super::peer;
use super::protocol::{Call, Outcome, Reply, Request, Selector, Status, VERSION};
use super::query;
use super::registry::Registration;
use crate::intervention::{Action, Caller};
use crate::launch::freeze::Freezer;
use crate::launch::members;
use domain::{Change, Domain};

/// Longest request in octets; more is nobody's honest request.
const REQUEST_LENGTH_MAX: u64 = 64 * 1024;

/// How long a caller that attends a domain may take to read a report.
const WRITE_LONGEST: Duration = Duration::from_secs(1);
const WARNINGS_MAX: usize = 200;
/// How long to wait after a caller could not be received.
const ACCEPT_AGAIN: Duration = Duration::from_millis(20);
/// How long a caller who keeps others waiting may take until it asks.
const CALLER_LONGEST: Duration = Duration::from_millis(500);

/// A domain that answers calls.
pub struct Control {
    name: String,
    title: String,
    domain: Arc<Domain>,
    freezer: Arc<Freezer>,
    /// Warnings that the agent has to report besides those that counters show.
    warnings: Mutex<Vec<String>>,
    tie: Mutex<Tie>,
    /// Holds that callers have asserted. Only these are theirs to release: the agent's own keep the
    /// clock where it is while it does something.
    holds: AtomicU32,
    listener: OnceLock<Listener>,
    /// Where the domain spans several hosts.
    together: OnceLock<Arc<dyn Together>>,
}

/// Holds of a domain that spans several hosts.
pub trait Together: Send + Sync {
    /// Asserts one more hold. Returns whether all clocks stand; not if the run is over.
    fn hold(&self) -> bool;

    /// Releases one of these. Returns whether there was one.
    fn release(&self) -> bool;
}

/// Hears what a caller has done, while the connection is there.
type Listener = Box<dyn Fn(Action, Caller) + Send + Sync>;

/// Who a domain is tied to.
enum Tie {
    /// A run, which alone may end it.
    Run,
    None,
    /// This connection, with whose end the domain is detached.
    Caller(Arc<UnixStream>),
    Detached,
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
        Arc::new(Self {
            name: name.to_owned(),
            title: title.to_owned(),
            domain,
            freezer,
            warnings: Mutex::default(),
            tie: Mutex::new(if of_run { Tie::Run } else { Tie::None }),
            holds: AtomicU32::new(0),
            listener: OnceLock::new(),
            together: OnceLock::new(),
        })
    }

    /// Sets the function that is called after each action of a caller on the domain. The first one
    /// named does.
    pub fn on_intervention(&self, listener: impl Fn(Action, Caller) + Send + Sync + 'static) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// From now on who holds the domain holds it on all hosts.
    pub fn holds_together(&self, together: Arc<dyn Together>) {
        let _ = self.together.set(together);
    }

    fn hold(&self) -> Result<(), String> {
        match self.together.get() {
            Some(all) if !all.hold() => return Err("the run is over".to_owned()),
            Some(_) => {}
            None => drop(self.domain.assert_hold()),
        }
        self.holds.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn release(&self) -> bool {
        match self.together.get() {
            Some(all) => all.release(),
            None => self.domain.release_hold().is_some(),
        }
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
        self.ended(stream);
    }

    /// Adds a warning to the status, once, and no more than [`WARNINGS_MAX`]: a program may give
    /// reason for as many as it likes. Who attends the domain learns of it.
    pub fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock();
        if warnings.len() < WARNINGS_MAX && !warnings.contains(&warning) {
            warnings.push(warning.clone());
            drop(warnings);
            if let Tie::Caller(stream) = &*self.tie.lock() {
                let message = Reply { id: 0, outcome: Outcome::Warning(warning) };
                // The caller may have closed its end.
                let _ = stream.as_ref().write_all(line(&message).as_bytes());
            }
        }
    }

    /// How the domain stands.
    pub fn status(&self) -> Status {
        let mut warnings = self.warnings.lock().clone();
        let (calls, doubts) = query::counted(&self.domain.counters());
        warnings.extend(doubts);
        warnings.extend(self.domain.lateness().warnings());
        Status {
            name: self.name.clone(),
            agent_pid: std::process::id(),
            title: self.title.clone(),
            clock: self.domain.reading(),
            pace: Box::new(self.domain.pace_status()),
            calls,
            freeze: Box::new(self.freezer.status()),
            warnings,
            detached: self.is_detached(),
        }
    }

    /// Detaches the domain unless somebody attends it.
    pub fn detach_unattended(&self) {
        let mut tie = self.tie.lock();
        if matches!(*tie, Tie::None) {
            self.release_all(&mut tie);
        }
    }

    fn is_detached(&self) -> bool {
        matches!(*self.tie.lock(), Tie::Detached)
    }

    fn attend(&self, stream: &Arc<UnixStream>) -> Result<(), String> {
        let mut tie = self.tie.lock();
        match *tie {
            Tie::Run => Err(format!("`{}` is the domain of a run", self.name)),
            Tie::Caller(_) => {
                Err(format!("the domain `{}` is already attended by another process", self.name))
            }
            Tie::None | Tie::Detached => {
                // Nobody waits longer for a caller that reads nothing.
                let _ = stream.set_write_timeout(Some(WRITE_LONGEST));
                *tie = Tie::Caller(Arc::clone(stream));
                Ok(())
            }
        }
    }

    fn detach(&self) -> Result<(), String> {
        let mut tie = self.tie.lock();
        match &*tie {
            Tie::Run => Err(format!("`{}` is the domain of a run and ends with it", self.name)),
            Tie::Detached => Err(format!("the domain `{}` is already detached", self.name)),
            Tie::None | Tie::Caller(_) => {
                self.release_all(&mut tie);
                Ok(())
            }
        }
    }

    fn ended(&self, stream: &Arc<UnixStream>) {
        let mut tie = self.tie.lock();
        if matches!(&*tie, Tie::Caller(caller) if Arc::ptr_eq(caller, stream)) {
            self.release_all(&mut tie);
        }
    }

    fn release_all(&self, tie: &mut Tie) {
        let before = std::mem::replace(tie, Tie::Detached);
        self.domain.detach();
        self.holds.store(0, Ordering::Relaxed);
        if let Tie::Caller(stream) = before {
            // Notifies the caller; gone already, if not.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }

    fn serve_requests(&self, stream: &Arc<UnixStream>) {
        use std::io::Read;
        let mut writer: &UnixStream = stream;
        let mut reader = BufReader::new(writer);
        if let Err(error) = peer::check_caller(stream) {
            let refused = Reply { id: 0, outcome: Outcome::Error(error.to_string()) };
            // The caller may have closed its end.
            let _ = writer.write_all(line(&refused).as_bytes());
            return;
        }
        let is_inside = peer::is_inside(stream);
        loop {
            let mut asked = String::new();
            match (&mut reader).take(REQUEST_LENGTH_MAX).read_line(&mut asked) {
                Ok(length) if length > 0 => {}
                _ => return,
            }
            let reply = match serde_json::from_str::<Request>(&asked) {
                Ok(request) => {
                    let outcome = self.answer(&request, stream, is_inside);
                    if outcome.is_ok() {
                        self.notify_listener(&request.call, stream, is_inside);
                    }
                    Reply { id: request.id, outcome: outcome.unwrap_or_else(Outcome::Error) }
                }
                Err(error) => Reply {
                    id: 0,
                    outcome: Outcome::Error(format!("not a valid request: {error}")),
                },
            };
            if writer.write_all(line(&reply).as_bytes()).is_err() {
                return;
            }
        }
    }

    fn answer(
        &self,
        request: &Request,
        stream: &Arc<UnixStream>,
        is_inside: bool,
    ) -> Result<Outcome, String> {
        if request.version != VERSION {
            return Err(format!(
                "this agent speaks version {VERSION} of the protocol, not {}; use the `qcycle` \
                 that started it",
                request.version
            ));
        }
        let looks =
            matches!(request.call, Call::Status | Call::Query { .. } | Call::Attend | Call::Detach);
        if !looks && self.is_detached() {
            return Err(format!(
                "the domain `{}` is detached; use `qcycle attach` to attach it again",
                self.name
            ));
        }
        match &request.call {
            Call::Status => {}
            Call::Attend => self.attend(stream)?,
            Call::Detach => self.detach()?,
            Call::Hold => match is_inside {
                true => self.freezer.without_freezing(|| self.hold())?,
                false => self.hold()?,
            },
            Call::Release => {
                let one_less = |holds: u32| holds.checked_sub(1);
                let theirs =
                    self.holds.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
                if theirs.is_err() || !self.release() {
                    return Err(format!("the domain `{}` is not held", self.name));
                }
            }
            Call::Dilate { tdf } => self.domain.dilate(factor(tdf)?),
            Call::DilateProgram { tdf, program } => {
                return self.dilate_programs(factor(tdf)?, program);
            }
            Call::Query { program } => return self.detail(program.as_ref()),
        }
        Ok(Outcome::Status(self.status()))
    }

    /// Reports what a caller has done to the domain, if anything.
    fn notify_listener(&self, call: &Call, stream: &UnixStream, is_inside: bool) {
        let Some(listener) = self.listener.get() else { return };
        let millionths = |tdf: &str| factor(tdf).map_or(0, Tdf::millionths);
        let action = match call {
            Call::Hold => Action::Hold,
            Call::Release => Action::Release,
            Call::Dilate { tdf } => Action::Dilate { tdf_millionths: millionths(tdf) },
            Call::DilateProgram { tdf, program } => {
                let found = query::select(&self.domain, Some(program)).unwrap_or_default();
                let names: BTreeSet<_> =
                    found.iter().map(|(program, _)| program.name.clone()).collect();
                let programs = names.into_iter().collect();
                Action::DilatePrograms { tdf_millionths: millionths(tdf), programs }
            }
            Call::Status | Call::Query { .. } | Call::Attend | Call::Detach => return,
        };
        listener(action, peer::who(stream, is_inside));
    }

    /// Dilates programs at one moment. What they start meanwhile goes on as they stood, so it is
    /// looked for once more.
    fn dilate_programs(&self, tdf: Tdf, selector: &Selector) -> Result<Outcome, String> {
        let mut dilated = BTreeSet::new();
        for _ in 0..2 {
            let found = query::select(&self.domain, Some(selector));
            let mut found = found.ok_or_else(|| self.unknown(selector))?;
            found.retain(|(program, _)| dilated.insert(program.number));
            let programs: Vec<_> = found.iter().map(|(program, _)| &**program).collect();
            if programs.iter().any(|program| self.domain.clock_of(program).free) {
                return Err(format!(
                    "{} is detached and runs at host rate; attach it to the domain again first",
                    self.words(selector)
                ));
            }
            self.domain.change_programs(&programs, Change::Dilate(tdf));
        }
        self.detail(Some(selector))
    }

    fn detail(&self, selector: Option<&Selector>) -> Result<Outcome, String> {
        // Without a selector all that there are, if any, are meant.
        let unknown = || selector.map_or_else(String::new, |named| self.unknown(named));
        let programs = query::select(&self.domain, selector).ok_or_else(unknown)?;
        let detail = query::detail(&self.domain, self.status(), &programs);
        Ok(Outcome::Detail(Box::new(detail)))
    }

    fn unknown(&self, selector: &Selector) -> String {
        let there = members::programs(&self.domain);
        let names: BTreeSet<&str> = there.iter().map(|(program, _)| &*program.name).collect();
        let names: Vec<_> = names.into_iter().map(|name| format!("{}/{name}", self.name)).collect();
        match selector {
            Selector::Pid(process) => {
                format!("the process {process} is not in the domain `{}`", self.name)
            }
            Selector::Name(_) if names.is_empty() => {
                format!("no program runs in the domain `{}`", self.name)
            }
            Selector::Name(_) => {
                format!(
                    "there is no program {}; there are: {}",
                    self.words(selector),
                    names.join(", ")
                )
            }
        }
    }

    fn words(&self, selector: &Selector) -> String {
        match selector {
            Selector::Pid(process) => format!("the process {process}"),
            Selector::Name(name) => format!("`{}/{name}`", self.name),
        }
    }
}

fn factor(text: &str) -> Result<Tdf, String> {
    text.parse::<Tdf>().map_err(|error| error.to_string())
}

fn line(reply: &Reply) -> String {
    serde_json::to_string(reply).expect("a reply is plain data") + "\n"
}
