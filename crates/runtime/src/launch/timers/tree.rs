//! The timers of one program tree: what is set, what is due, and who is notified.
//!
//! A tree is what was started under one name, with all that comes from it. Nothing that a program of
//! it does is waited for: what it asks comes as numbers ([`vtime::timer_call`]), and a notification is a
//! signal or a count of a timerfd.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;

use libc::{c_int, c_long, pid_t};
use vtime::image::Kind;
use vtime::page::Epoch;
use vtime::timer_call::{self, KERNEL, Left, NAMESPACE, NO_EVENT, Query};
use vtime::{HostSpan, HostTime, ProgramSpan, ProgramTime, VirtualTime};

use super::descriptor::TimerFd;
use super::held::{self, Descriptor};
use super::pace::{Pace, TURN};
use super::pool::Pool;
use super::posix::{Fired, PosixTimer, sigevent};
use super::signal::{Target, is_gone};
use super::table::{Due, Lane, Setting, Table};
use super::unsent::Unsent;
use crate::launch::timens;
use domain::Domain;
use os::process::{self, Identity, Process};

/// Numbers of POSIX timers of ours begin here: the kernel's own, for CPU time, count from 0.
pub(super) const FIRST_TIMER: c_int = 0x4000_0000;
const TIMER_ABSTIME: u64 = 1;
/// `TFD_TIMER_CANCEL_ON_SET`; nobody sets a clock of a domain, so it never cancels anything.
const CANCEL_ON_SET: u64 = 2;
/// The number of no program: timers of a process that is in none count in the time of the domain.
const NO_PROGRAM: Lane = 0;
/// Timers of ended processes are looked for at most this often.
const SWEEP_EVERY: HostSpan = HostSpan::from_ns(1_000_000_000);
/// Threads for which a period is kept until they ask for it; each does at once, unless it is killed.
const PERIODS_MAX: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    /// A timerfd, by its number in the tree.
    Descriptor(u64),
    Posix(pid_t, c_int),
    Interval(pid_t),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct TimerCall {
    pub(super) number: c_long,
    pub(super) thread: pid_t,
    pub(super) words: [u64; 6],
}

impl TimerCall {
    pub(super) fn sets(&self) -> bool {
        !matches!(
            self.number,
            libc::SYS_timer_gettime
                | libc::SYS_timerfd_gettime
                | libc::SYS_getitimer
                | libc::SYS_timer_getoverrun
                | libc::SYS_timer_create
        )
    }
}

/// What is known of the timers of a tree.
pub(in crate::launch) struct Timers {
    name: String,
    domain: Arc<Domain>,
    pool: Arc<Pool>,
    table: Table<Key>,
    descriptors: BTreeMap<u64, Descriptor>,
    /// Their numbers in the order of [`TimerFd::order`], to find one among thousands.
    order: Vec<u64>,
    taken: BTreeMap<Lane, usize>,
    posix: BTreeMap<(pid_t, c_int), PosixTimer>,
    intervals: BTreeMap<pid_t, Identity>,
    unsent: Unsent<Key>,
    /// Periods that threads are about to ask for.
    periods: BTreeMap<pid_t, ProgramSpan>,
    made: u64,
    swept: HostTime,
    /// How many timerfds there are when those of ended processes are looked for.
    sweep_at: usize,
}

impl Timers {
    pub(super) fn new(name: &str, domain: Arc<Domain>, pool: Arc<Pool>) -> Self {
        Self {
            name: name.to_owned(),
            domain,
            pool,
            table: Table::default(),
            descriptors: BTreeMap::new(),
            order: Vec::new(),
            taken: BTreeMap::new(),
            posix: BTreeMap::new(),
            intervals: BTreeMap::new(),
            unsent: Unsent::new(),
            periods: BTreeMap::new(),
            made: 0,
            swept: HostTime::ZERO,
            sweep_at: 0,
        }
    }

    /// Returns a call. A failure of the agent's own is counted with the program that it struck.
    pub(super) fn answer(&mut self, call: TimerCall) -> io::Result<i64> {
        let lane = self.lane_of(&call);
        if let Some(program) = self.domain.program(lane) {
            program.counters().count(Kind::Timer);
        }
        self.decide(call, lane).map_err(|error| match error.raw_os_error() {
            // The agent's descriptors are no business of the program's, which may have enough.
            Some(libc::EMFILE | libc::ENFILE | libc::ENOMEM) => {
                self.domain.lateness().note_refused(&self.name);
                io::Error::from_raw_os_error(libc::ENOMEM)
            }
            _ => error,
        })
    }

    fn decide(&mut self, call: TimerCall, lane: Lane) -> io::Result<i64> {
        let process = process::process_of(call.thread).ok_or(io::ErrorKind::NotFound)?;
        let which = call.words[0] as c_int;
        match call.number {
            libc::SYS_timer_create => self.create(process, call.words),
            libc::SYS_timer_getoverrun => self.query(process, call),
            libc::SYS_timer_delete => Ok(self.delete(process, which)),
            libc::SYS_timerfd_settime => self.set_descriptor(process, call, lane),
            libc::SYS_timerfd_gettime => {
                let timer = TimerFd::of(&Process::open_with_files(process)?, which)?;
                let known = self.place_of(&timer).ok().map(|place| self.order[place]);
                let left = known.map(|number| self.left(Key::Descriptor(number)));
                Ok(self.report_setting(call.thread, left.unwrap_or_default()))
            }
            libc::SYS_timer_settime | libc::SYS_timer_gettime => self.posix(process, call, lane),
            libc::SYS_getitimer => {
                self.claim_interval(process)?;
                Ok(self.report_setting(call.thread, self.left(Key::Interval(process))))
            }
            _ => {
                let setting = requested_setting(&call)?;
                self.claim_interval(process)?;
                let key = Key::Interval(process);
                let before = self.left(key);
                self.set(key, lane, setting, None);
                Ok(self.report_setting(call.thread, before))
            }
        }
    }

    fn set_descriptor(&mut self, process: pid_t, call: TimerCall, lane: Lane) -> io::Result<i64> {
        let flags = u64::from(call.words[1] as u32);
        if flags & !(TIMER_ABSTIME | CANCEL_ON_SET) != 0 {
            return Err(invalid());
        }
        let setting = requested_setting(&call)?;
        let timer = TimerFd::of(&Process::open_with_files(process)?, call.words[0] as c_int)?;
        let epoch = timer.clock().and_then(epoch_of).ok_or_else(invalid)?;
        let absolute = absolute(&call, epoch)?;
        let number = self.number_of(timer, (process, call.words[0] as c_int), lane)?;
        self.descriptors[&number].timer.reset();
        let key = Key::Descriptor(number);
        let before = self.left(key);
        self.set(key, lane, setting, absolute);
        if setting == Setting::default() {
            self.forget(key);
        }
        Ok(self.report_setting(call.thread, before))
    }

    fn posix(&mut self, process: pid_t, call: TimerCall, lane: Lane) -> io::Result<i64> {
        let number = call.words[0] as c_int;
        let key = Key::Posix(process, number);
        let before = self.left(key);
        // Another is one of the kernel's, or none at all.
        let Some(timer) = self.posix.get_mut(&(process, number)) else { return Ok(KERNEL) };
        if call.number == libc::SYS_timer_settime {
            let (setting, absolute) = (requested_setting(&call)?, absolute(&call, timer.epoch)?);
            timer.reset_overrun();
            self.unsent.forget(key);
            self.set(key, lane, setting, absolute);
        }
        Ok(self.report_setting(call.thread, before))
    }

    /// What a timer was, as an answer; its period will be asked for.
    fn report_setting(&mut self, thread: pid_t, before: Setting) -> i64 {
        let has_period = before.period > ProgramSpan::ZERO;
        if has_period {
            if self.periods.len() >= PERIODS_MAX {
                self.periods.pop_first();
            }
            self.periods.insert(thread, before.period);
        }
        Left { ns: before.left.as_ns(), has_period }.answer()
    }

    fn query(&mut self, process: pid_t, call: TimerCall) -> io::Result<i64> {
        let [which, query, ..] = call.words;
        match Query::of(query).ok_or_else(invalid)? {
            Query::Overrun => {
                let timer = self.posix.get_mut(&(process, which as c_int));
                Ok(timer.map_or(KERNEL, |timer| timer.overrun().into()))
            }
            Query::Period => Ok(self.periods.remove(&call.thread).map_or(0, ProgramSpan::as_ns)),
            Query::Monotonic => {
                timens::shift_ns(call.thread, Epoch::Monotonic).map(timer_call::shift_answer)
            }
            Query::Boottime => {
                timens::shift_ns(call.thread, Epoch::Boottime).map(timer_call::shift_answer)
            }
        }
    }

    fn create(&mut self, process: pid_t, words: [u64; 6]) -> io::Result<i64> {
        let [clock, event, value, thread, ..] = words;
        let Some(epoch) = epoch_of(clock as c_int) else { return Ok(KERNEL) };
        let owner = Identity::of_process(process)?;
        let own = (process, 0)..=(process, c_int::MAX);
        let mut others = self.posix.range(own.clone());
        if others.next().is_some_and(|(_, timer)| timer.target.process != owner) {
            // Of one that had the number before.
            self.forget_posix(process);
        }
        if !self.pool.allows_posix(self.posix.len(), process) {
            self.sweep_at_times();
            if !self.pool.allows_posix(self.posix.len(), process) {
                // As the kernel, whose limit it is.
                return Err(io::Error::from_raw_os_error(libc::EAGAIN));
            }
        }
        let last = self.posix.range(own).next_back().map(|(key, _)| key.1);
        // Those that were taken over have numbers of the kernel.
        let number = match last {
            None => FIRST_TIMER,
            Some(c_int::MAX) => (FIRST_TIMER..)
                .find(|number| !self.posix.contains_key(&(process, *number)))
                .ok_or_else(invalid)?,
            Some(last) => (last + 1).max(FIRST_TIMER),
        };
        let (signal, to_thread) = if thread == NO_EVENT {
            (Some((libc::SIGALRM, i64::from(number))), false)
        } else {
            sigevent(event >> 32, event as c_int, value.cast_signed()).ok_or_else(invalid)?
        };
        let thread = if to_thread {
            let number = process::thread_known_as(process, thread as pid_t).ok_or_else(invalid)?;
            Some(Identity::of_thread(process, number)?)
        } else {
            None
        };
        let target = Target { process: owner, thread };
        self.posix.insert((process, number), PosixTimer::new(target, epoch, signal));
        Ok(number.into())
    }

    fn delete(&mut self, process: pid_t, number: c_int) -> i64 {
        if self.posix.remove(&(process, number)).is_none() {
            return KERNEL;
        }
        self.table.remove(Key::Posix(process, number));
        // One that was taken over, the kernel forgets too.
        if number < FIRST_TIMER { KERNEL } else { 0 }
    }

    /// Makes the interval timer of a process its own, not that of one with its number before.
    fn claim_interval(&mut self, process: pid_t) -> io::Result<()> {
        let owner = Identity::of_process(process)?;
        if self.intervals.insert(process, owner) != Some(owner) {
            self.table.remove(Key::Interval(process));
            self.sweep_when_doubled();
        }
        Ok(())
    }

    /// Takes over a timerfd of a process from the kernel. What is no timerfd stays.
    pub(in crate::launch) fn take_over_descriptor(
        &mut self,
        process: pid_t,
        fd: c_int,
    ) -> io::Result<()> {
        let timer = TimerFd::of(&Process::open_with_files(process)?, fd)?;
        // Shared with a process that came before, if there is a place for it.
        if timer.clock().and_then(epoch_of).is_none() || self.place_of(&timer).is_ok() {
            return Ok(());
        }
        let lane = self.lane_begun_by(process);
        let number = self.number_of(timer, (process, fd), lane)?;
        let setting = self.descriptors[&number].timer.take_over()?;
        let setting = self.continued(setting);
        let key = Key::Descriptor(number);
        self.set(key, lane, setting, None);
        if setting == Setting::default() {
            self.forget(key);
        }
        Ok(())
    }

    /// Takes over the interval timer of a process, with nanoseconds left and period.
    pub(in crate::launch) fn take_over_interval(
        &mut self,
        process: pid_t,
        setting: [i64; 2],
    ) -> io::Result<()> {
        self.claim_interval(process)?;
        let setting = self.continued(setting);
        self.set(Key::Interval(process), self.lane_begun_by(process), setting, None);
        Ok(())
    }

    /// Takes over a POSIX timer of a process, which keeps its number.
    pub(in crate::launch) fn take_over_posix(
        &mut self,
        process: pid_t,
        timer: &super::KernelTimer,
        setting: [i64; 2],
    ) -> io::Result<()> {
        let Some(epoch) = epoch_of(timer.clock) else { return Ok(()) };
        let owner = Identity::of_process(process)?;
        let thread = timer.thread.map(|thread| Identity::of_thread(process, thread)).transpose()?;
        let posix = PosixTimer::new(Target { process: owner, thread }, epoch, timer.signal);
        self.posix.insert((process, timer.number), posix);
        let setting = self.continued(setting);
        self.set(Key::Posix(process, timer.number), self.lane_begun_by(process), setting, None);
        Ok(())
    }

    /// What the kernel would have let expire after this time, from virtual now on: the clocks of
    /// the domain went on from those of the host.
    fn continued(&self, [left, period]: [i64; 2]) -> Setting {
        if left == 0 {
            return Setting::default();
        }
        let shown = self.domain.now().as_ns() + self.domain.page().epoch(Epoch::Monotonic);
        let left = (domain::host_now().as_ns().saturating_add(left) - shown).max(1);
        Setting { left: ProgramSpan::from_ns(left), period: ProgramSpan::from_ns(period) }
    }

    /// A process runs another program, whose time goes on as that of the one before: its POSIX
    /// timers are gone, all others stay.
    pub(super) fn exec(&mut self, process: pid_t, program: u64) {
        self.table.change_lane(Key::Interval(process), program);
        for (number, known) in &self.descriptors {
            if known.owner.number == process {
                self.table.change_lane(Key::Descriptor(*number), program);
            }
        }
        self.forget_posix(process);
    }

    /// Sets a timer in the time of a program; `absolute` names the clock in which the setting counts,
    /// and how far it is ahead where the program is.
    fn set(&mut self, key: Key, lane: Lane, setting: Setting, absolute: Option<(Epoch, i64)>) {
        let next = match absolute {
            _ if setting.left == ProgramSpan::ZERO => None,
            Some((epoch, ahead_ns)) => {
                let epoch = self.domain.page().epoch(epoch).saturating_add(ahead_ns);
                Some(ProgramTime::from_ns(setting.left.as_ns().saturating_sub(epoch)))
            }
            None => Some(self.domain.now_of(lane) + setting.left),
        };
        self.table.set(key, lane, next, setting.period);
    }

    fn left(&self, key: Key) -> Setting {
        let now = self.table.lane(key).map_or(ProgramTime::ZERO, |lane| self.domain.now_of(lane));
        self.table.get(key, now)
    }

    /// The program in whose time the timers of a call count: the one that it names, if that is one
    /// of this tree.
    fn lane_of(&self, call: &TimerCall) -> Lane {
        let named = call.words[4];
        match self.domain.program(named) {
            Some(program) if program.name == self.name => named,
            _ => self.lane_begun_by(call.thread),
        }
    }

    fn lane_begun_by(&self, process: pid_t) -> Lane {
        self.domain.last_begun_by(process).unwrap_or(NO_PROGRAM)
    }

    /// Lets what is due expire, of each program some and then of the next, for a round. Returns when
    /// to do so again if nothing changes.
    pub(super) fn expire(&mut self, pace: &mut Pace) -> Option<HostTime> {
        let begun = domain::host_now();
        for key in self.unsent.due(begun) {
            if !self.fire(key, 0) {
                self.forget(key);
            }
        }
        if self.table.next().next().is_some() && pace.may_begin(begun) {
            pace.begin(begun);
            while self.turns(pace) && !pace.is_over(domain::host_now()) {}
            pace.end(domain::host_now());
        }
        let next = self.table.next();
        let next = next.filter_map(|(lane, when)| self.domain.host_time_of_program(lane, when));
        let next = next.min().map(|due| pace.not_before(due));
        next.into_iter().chain(self.unsent.next()).min()
    }

    /// The virtual time of the domain at which the next one expires; one that has passed while a signal
    /// could not be sent.
    pub(super) fn due(&self) -> Option<VirtualTime> {
        if self.unsent.next().is_some() {
            return Some(VirtualTime::ZERO);
        }
        let next = self.table.next();
        next.filter_map(|(lane, when)| self.domain.virtual_time_of_program(lane, when)).min()
    }

    /// One turn for each program. Returns whether one of them was not done with it.
    fn turns(&mut self, pace: &mut Pace) -> bool {
        let lanes: Vec<Lane> = self.table.next().map(|(lane, _)| lane).collect();
        let mut more = false;
        for lane in lanes {
            let now = self.domain.reached_by(lane);
            let due = std::iter::from_fn(|| self.table.take_due(lane, now));
            let due: Vec<Due<Key>> = due.take(TURN).collect();
            more |= due.len() == TURN;
            for due in due {
                pace.note(due.period);
                if !self.domain.computes(lane) {
                    self.domain.lateness().note_served(&self.name, due.late.as_ns());
                }
                let is_there = self.fire(due.key, due.times);
                // A timerfd that has no further expirations is the program's alone.
                let is_over =
                    matches!(due.key, Key::Descriptor(_)) && due.period == ProgramSpan::ZERO;
                if !is_there || is_over {
                    self.forget(due.key);
                }
            }
        }
        more
    }

    /// Lets a timer expire. Returns whether its program is still there.
    fn fire(&mut self, key: Key, times: u64) -> bool {
        match key {
            Key::Descriptor(number) => {
                let known = self.descriptors.get_mut(&number);
                known.is_some_and(|known| known.is_held() && known.timer.expire(times).is_ok())
            }
            Key::Posix(process, number) => {
                let Some(timer) = self.posix.get_mut(&(process, number)) else { return false };
                let times = times.saturating_add(self.unsent.of(key));
                let fired = timer.fire(number, times);
                if fired == Fired::NoRoom {
                    let now = (domain::host_now(), self.domain.now());
                    let late = self.unsent.keep(key, times, now);
                    self.domain.lateness().note_served(&self.name, late.as_ns());
                } else {
                    self.unsent.forget(key);
                }
                fired != Fired::Gone
            }
            Key::Interval(process) => self.intervals.get(&process).is_some_and(|owner| {
                let sent = Target { process: *owner, thread: None }.send_alarm();
                !is_gone(sent.as_ref())
            }),
        }
    }

    fn forget(&mut self, key: Key) {
        self.table.remove(key);
        self.unsent.forget(key);
        match key {
            Key::Descriptor(number) => {
                self.order.retain(|other| *other != number);
                if let Some(known) = self.descriptors.remove(&number) {
                    self.pool.give_back(1);
                    let taken = self.taken.entry(known.program).or_default();
                    *taken = taken.saturating_sub(1);
                    if *taken == 0 {
                        self.taken.remove(&known.program);
                    }
                }
            }
            Key::Posix(process, number) => drop(self.posix.remove(&(process, number))),
            Key::Interval(process) => drop(self.intervals.remove(&process)),
        }
    }

    fn forget_posix(&mut self, process: pid_t) {
        let own = self.posix.range((process, 0)..=(process, c_int::MAX));
        let own: Vec<c_int> = own.map(|(key, _)| key.1).collect();
        own.into_iter().for_each(|number| self.forget(Key::Posix(process, number)));
    }

    /// The number of a timerfd, by whatever descriptor it was named; made if it is new.
    ///
    /// # Errors
    /// ENOMEM if the agent has no descriptor for it.
    fn number_of(
        &mut self,
        timer: TimerFd,
        (process, fd): (pid_t, c_int),
        program: Lane,
    ) -> io::Result<u64> {
        if let Ok(place) = self.place_of(&timer) {
            return Ok(self.order[place]);
        }
        let owner = Identity::of_process(process)?;
        self.sweep_when_doubled();
        if !self.takes_descriptor(program) {
            self.sweep_at_times();
            if !self.takes_descriptor(program) {
                return Err(io::Error::from_raw_os_error(libc::ENOMEM));
            }
        }
        *self.taken.entry(program).or_default() += 1;
        let place = self.place_of(&timer).unwrap_or_else(|place| place);
        self.made += 1;
        self.descriptors.insert(self.made, Descriptor { timer, owner, fd, program });
        self.order.insert(place, self.made);
        Ok(self.made)
    }

    fn takes_descriptor(&self, program: Lane) -> bool {
        let own = self.taken.get(&program).copied().unwrap_or(0);
        self.pool.take_descriptor(own, self.descriptors.len())
    }

    /// Where a timerfd is in the order, or would be.
    fn place_of(&self, timer: &TimerFd) -> Result<usize, usize> {
        self.order.binary_search_by(|number| self.descriptors[number].timer.order(timer))
    }

    /// Forgets the timers of processes that have ended, when there are twice as many as were left
    /// the last time: so it costs each of them a few looks.
    fn sweep_when_doubled(&mut self) {
        const LEAST: usize = 64;
        if self.descriptors.len() + self.intervals.len() >= self.sweep_at {
            self.sweep();
            self.sweep_at = (2 * (self.descriptors.len() + self.intervals.len())).max(LEAST);
        }
    }

    /// The same where a limit is reached, which a program may make happen as often as it likes.
    fn sweep_at_times(&mut self) {
        let now = domain::host_now();
        if now - self.swept >= SWEEP_EVERY {
            self.swept = now;
            self.sweep();
        }
    }

    pub(super) fn have_live_owner(&self) -> bool {
        self.owners().into_iter().any(Identity::runs)
    }

    fn owners(&self) -> BTreeSet<Identity> {
        let of_descriptors = self.descriptors.values().map(|known| known.owner);
        let of_posix = self.posix.values().map(|timer| timer.target.process);
        let of_intervals = self.intervals.values().copied();
        of_descriptors.chain(of_posix).chain(of_intervals).collect()
    }

    fn held(&self) -> BTreeSet<u64> {
        let in_place = self.descriptors.iter().filter(|(_, known)| known.is_in_place());
        let mut held: BTreeSet<u64> = in_place.map(|(number, _)| *number).collect();
        if held.len() < self.descriptors.len() {
            let owners = self.descriptors.values().map(|known| known.owner);
            for (process, fd) in held::all(owners) {
                let order = |number: &u64| {
                    let order = self.descriptors[number].timer.order_with(process.number, fd);
                    order.unwrap_or(Ordering::Greater)
                };
                if let Ok(place) = self.order.binary_search_by(order) {
                    held.insert(self.order[place]);
                }
            }
        }
        held
    }

    fn sweep(&mut self) {
        let owners = self.owners();
        let gone: BTreeSet<Identity> =
            owners.into_iter().filter(|owner| !owner.is_there()).collect();
        let held = self.held();
        let descriptors = self.descriptors.iter().filter(|(number, _)| !held.contains(number));
        let posix = self.posix.iter().filter(|(_, timer)| gone.contains(&timer.target.process));
        let intervals = self.intervals.iter().filter(|(_, owner)| gone.contains(owner));
        let keys: Vec<Key> = descriptors
            .map(|(number, _)| Key::Descriptor(*number))
            .chain(posix.map(|((process, number), _)| Key::Posix(*process, *number)))
            .chain(intervals.map(|(process, _)| Key::Interval(*process)))
            .collect();
        keys.into_iter().for_each(|key| self.forget(key));
    }
}

impl Drop for Timers {
    fn drop(&mut self) {
        self.pool.give_back(self.descriptors.len());
    }
}

/// The epoch of the clocks that timers may count on; the alarm clocks are like those that they
/// wake a sleeping machine for.
pub(super) fn epoch_of(clock: c_int) -> Option<Epoch> {
    match clock {
        0 | 8 => Some(Epoch::Realtime),
        1 => Some(Epoch::Monotonic),
        7 | 9 => Some(Epoch::Boottime),
        11 => Some(Epoch::Tai),
        _ => None,
    }
}

fn requested_setting(call: &TimerCall) -> io::Result<Setting> {
    let [_, _, left, period, ..] = call.words;
    Ok(Setting { left: span(left)?, period: span(period)? })
}

/// The clock that shows what a call sets, and how far it is ahead in the namespace of the caller;
/// `None` if the time counts from now.
fn absolute(call: &TimerCall, epoch: Epoch) -> io::Result<Option<(Epoch, i64)>> {
    let flags = call.words[1];
    if flags & TIMER_ABSTIME == 0 {
        return Ok(None);
    }
    let is_ahead = flags & NAMESPACE != 0;
    let ahead_ns = if is_ahead { timens::shift_ns(call.thread, epoch)? } else { 0 };
    Ok(Some((epoch, ahead_ns)))
}

fn span(ns: u64) -> io::Result<ProgramSpan> {
    if ns.cast_signed() < 0 { Err(invalid()) } else { Ok(ProgramSpan::from_ns(ns.cast_signed())) }
}

fn invalid() -> io::Error {
    io::Error::from_raw_os_error(libc::EINVAL)
}
