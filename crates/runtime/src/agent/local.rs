//! The domain of an agent, as what its callers ask is answered and done here: holds, dilation, status, and who it is tied
//! to. Where it spans several hosts this is the part of one of them, and [`Together`] what it has in common with the others.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use vtime::{Tdf, VirtualTime};

use super::protocol::{Detail, Outcome, Reply, Selector, Status};
use super::query;
use crate::intervention::{Action, Caller};
use crate::launch::freeze::Freezer;
use crate::launch::members;
use domain::{Change, Domain, Reading};

/// How long a caller that attends a domain may take to read a report.
const WRITE_LONGEST: Duration = Duration::from_secs(1);
const WARNINGS_MAX: usize = 200;

/// The domain of an agent.
pub(super) struct Local {
    pub(super) name: String,
    title: String,
    domain: Arc<Domain>,
    pub(super) freezer: Arc<Freezer>,
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

/// The hosts of a domain, seen from one of them.
pub trait Together: Send + Sync {
    /// The number of this one.
    fn me(&self) -> usize;

    /// Their names, by number.
    fn names(&self) -> &[String];

    /// Whether a host is one of the run, which it is not any more once it is lost.
    fn is_there(&self, host: usize) -> bool;

    /// Asserts one more hold of this host. Returns where all clocks stand; `None` if the run is over.
    fn hold(&self) -> Option<VirtualTime>;

    /// Releases one hold of this host. Returns whether there was one.
    fn release(&self) -> bool;

    /// How many holds there are of all hosts, and how many of the clock here stand for them. `None` if the run is over.
    fn holds(&self) -> Option<(u32, u32)>;

    /// That the run is over, and why.
    fn why_over(&self) -> String;

    /// Asks these hosts at the same time. Each has so long to answer, or as long as it takes; what they say is in the
    /// same order, or in a sentence why one says nothing.
    fn ask(
        &self,
        hosts: &[usize],
        question: &[u8],
        longest: Option<Duration>,
    ) -> Vec<Result<Vec<u8>, String>>;
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

impl Local {
    /// A domain under a name, with a title for people. Only a run itself ends the domain `of_run`.
    pub(super) fn new(
        name: &str,
        title: &str,
        domain: Arc<Domain>,
        freezer: Arc<Freezer>,
        of_run: bool,
    ) -> Self {
        Self {
            name: name.to_owned(),
            title: title.to_owned(),
            domain,
            freezer,
            warnings: Mutex::default(),
            tie: Mutex::new(if of_run { Tie::Run } else { Tie::None }),
            holds: AtomicU32::new(0),
            listener: OnceLock::new(),
            together: OnceLock::new(),
        }
    }

    /// Sets the function that is called after each action of a caller on the domain. The first one
    /// named does.
    pub(super) fn on_intervention(
        &self,
        listener: impl Fn(Action, Caller) + Send + Sync + 'static,
    ) {
        let _ = self.listener.set(Box::new(listener));
    }

    /// From now on it is held with other hosts.
    pub(super) fn span_hosts(&self, together: Arc<dyn Together>) {
        let _ = self.together.set(together);
    }

    /// The name of this host, where there are several.
    pub(super) fn host(&self) -> Option<String> {
        self.together.get().map(|all| all.names()[all.me()].clone())
    }

    /// Holds it, with all other hosts.
    pub(super) fn hold(&self, by: Caller) -> Result<(), String> {
        match self.together.get() {
            Some(all) => _ = all.hold().ok_or_else(|| all.why_over())?,
            None => _ = self.domain.assert_hold(),
        }
        self.holds.fetch_add(1, Ordering::Relaxed);
        self.report(Action::Hold, by);
        Ok(())
    }

    /// Releases a hold that a caller has asserted at this host. Returns whether there was one.
    pub(super) fn release(&self, by: Caller) -> bool {
        let one_less = |holds: u32| holds.checked_sub(1);
        if self.holds.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_err() {
            return false;
        }
        let is_released = match self.together.get() {
            Some(all) => all.release(),
            None => self.domain.release_hold().is_some(),
        };
        if is_released {
            self.report(Action::Release, by);
        }
        is_released
    }

    /// Changes the factor of its clock, where there is no other host.
    pub(super) fn dilate(&self, tdf: Tdf, by: Caller) {
        self.domain.dilate(tdf);
        self.report(Action::Dilate { tdf_millionths: tdf.millionths() }, by);
    }

    /// Changes the factor of the clock of this host, which stands there with those of all others.
    pub(super) fn dilate_at(&self, tdf: Tdf, at: VirtualTime) -> Result<(), String> {
        let clock = self.domain.reading();
        if clock.holds == 0 || clock.virtual_ns != at.as_ns() {
            let now = VirtualTime::from_ns(clock.virtual_ns);
            return Err(format!(
                "its clock is at {now} and is to change its factor while it stands at {at}"
            ));
        }
        self.domain.dilate(tdf);
        Ok(())
    }

    /// Reports what somebody has done to the domain.
    pub(super) fn report(&self, action: Action, by: Caller) {
        if let Some(listener) = self.listener.get() {
            listener(action, by);
        }
    }

    /// Dilates programs at one moment. What they start meanwhile goes on as they stood, so it is
    /// looked for once more.
    pub(super) fn dilate_programs(
        &self,
        tdf: Tdf,
        selector: &Selector,
        by: Caller,
    ) -> Result<Detail, String> {
        let mut dilated = BTreeSet::new();
        for _ in 0..2 {
            let found = query::select(&self.domain, Some(selector));
            let mut found = found.ok_or_else(|| self.unknown(selector, []))?;
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
        let detail = self.detail(Some(selector))?;
        let names: BTreeSet<_> =
            detail.programs.iter().map(|program| program.name.clone()).collect();
        let (tdf_millionths, programs) = (tdf.millionths(), names.into_iter().collect());
        self.report(Action::DilatePrograms { tdf_millionths, programs }, by);
        Ok(detail)
    }

    /// How it stands here, with the programs that are meant.
    ///
    /// # Errors
    /// When there is none that is meant.
    pub(super) fn detail(&self, selector: Option<&Selector>) -> Result<Detail, String> {
        // Without a selector all that there are, if any, are meant.
        let unknown = || selector.map_or_else(String::new, |named| self.unknown(named, []));
        self.found(selector).ok_or_else(unknown)
    }

    /// The same; `None` if there is none that is meant.
    pub(super) fn found(&self, selector: Option<&Selector>) -> Option<Detail> {
        let programs = query::select(&self.domain, selector)?;
        Some(query::detail(&self.domain, self.status(), &programs))
    }

    /// How it stands here, without programs.
    pub(super) fn clock(&self) -> Detail {
        query::detail(&self.domain, self.status(), &[])
    }

    /// What is wrong with a selector that names nobody, neither here nor among those `elsewhere`.
    pub(super) fn unknown(
        &self,
        selector: &Selector,
        elsewhere: impl IntoIterator<Item = String>,
    ) -> String {
        let there = members::programs(&self.domain);
        let there = there.iter().map(|(program, _)| program.name.clone());
        let names: BTreeSet<_> = there.chain(elsewhere).collect();
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
    /// Adds a warning to the status, once, and no more than [`WARNINGS_MAX`]: a program may give
    /// reason for as many as it likes. Who attends the domain learns of it.
    pub(super) fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock();
        if warnings.len() < WARNINGS_MAX && !warnings.contains(&warning) {
            warnings.push(warning.clone());
            drop(warnings);
            if let Tie::Caller(stream) = &*self.tie.lock() {
                let message = Reply { id: 0, outcome: Outcome::Warning(warning) };
                // The caller may have closed its end.
                let _ = stream.as_ref().write_all(message.line().as_bytes());
            }
        }
    }

    /// How the domain stands.
    pub(super) fn status(&self) -> Status {
        let mut warnings = self.warnings.lock().clone();
        let (calls, doubts) = query::counted(&self.domain.counters());
        warnings.extend(doubts);
        warnings.extend(self.domain.lateness().warnings());
        Status {
            name: self.name.clone(),
            agent_pid: std::process::id(),
            host: self.host(),
            title: self.title.clone(),
            clock: self.reading(),
            pace: Box::new(self.domain.pace_status()),
            calls,
            freeze: Box::new(self.freezer.status()),
            warnings,
            detached: self.is_detached(),
        }
    }

    /// The clock here, with the holds of all hosts in place of the one by which they keep it.
    fn reading(&self) -> Reading {
        let asserted = self.together.get().and_then(|all| all.holds());
        let mut reading = self.domain.reading();
        if let Some((of_all, here)) = asserted {
            reading.holds = reading.holds.saturating_sub(here).saturating_add(of_all);
        }
        reading
    }

    /// Detaches the domain unless somebody attends it.
    pub(super) fn detach_unattended(&self) {
        let mut tie = self.tie.lock();
        if matches!(*tie, Tie::None) {
            self.release_all(&mut tie);
        }
    }

    pub(super) fn is_detached(&self) -> bool {
        matches!(*self.tie.lock(), Tie::Detached)
    }

    pub(super) fn attend(&self, stream: &Arc<UnixStream>) -> Result<(), String> {
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

    pub(super) fn detach(&self) -> Result<(), String> {
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

    pub(super) fn ended(&self, stream: &Arc<UnixStream>) {
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
}
