//! The disturbance recorder (RDRE, RADR and RBDR of IEC 61850-7-4), and what it says of faults.
//!
//! The task puts each sample that it uses and each event on a tape, a queue without locks, and waits for
//! nobody: what finds it full is missed and counted. A thread that may wait takes both off the tape and
//! keeps what is recent, by this host's own clock, which is never set. When a trigger comes, it waits for
//! the end of the disturbance, hands the record to another thread, which alone waits for the disk, and
//! reports the fault if a breaker was tripped. Records that cannot be written, or come faster than they can,
//! are lost and counted; the report names what was taken to be written, because it waits for no disk.

mod axis;
mod channels;
mod compose;
mod disturbance;
mod folder;
mod report;
mod tape;
#[cfg(test)]
mod tests;
mod timeline;
mod track;
mod writer;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, sleep};
use std::time::Duration;

use anyhow::{Context as _, Result};
use os::clock::ClockState;
use realtime::time::{self, Now};
use rtrb::Consumer;
use serde_json::Value;
use substation::settings::{Relay, SignalKind};

use axis::Axis;
use channels::{Channels, Edge, States};
use compose::Style;
use disturbance::{Disturbance, Span, Trigger};
use report::Reporter;
pub(crate) use tape::{Entry, Teller};
use timeline::{Local, Timeline};
use track::{Placed, Track};
pub(crate) use writer::Account;
use writer::{Job, Writer};

/// Time between two looks at the tape.
const LOOK: Duration = Duration::from_millis(20);
/// How late the last samples of a record may be.
const LATE: Duration = Duration::from_millis(150);
/// How long the end of a relay waits for its last record.
const LAST_RECORD_MAX: Duration = Duration::from_secs(2);

/// The threads of a recorder.
#[derive(Debug)]
pub(crate) struct Recorder {
    reports: Receiver<Value>,
    account: Arc<Account>,
    ending: Arc<AtomicBool>,
    ended: Receiver<()>,
}

impl Recorder {
    /// Starts them, with how ordinary threads are scheduled.
    pub(crate) fn start(relay: &Relay, tape: Consumer<Entry>) -> Result<Self> {
        let account = Arc::<Account>::default();
        let writer = Writer::start(relay, Arc::clone(&account))?;
        let ((reports, reports_out), (end, ended)) = (channel(), channel());
        let ending = Arc::new(AtomicBool::new(false));
        let mut recording = Recording::new(relay, tape, reports, writer);
        let is_ending = Arc::clone(&ending);
        let run = move || {
            recording.run(&is_ending);
            recording.writer.finish();
            // Nobody hears it who did not wait.
            let _unheard = end.send(());
        };
        Builder::new().name("recorder".into()).spawn(run).context("starting the recorder")?;
        Ok(Self { reports: reports_out, account, ending, ended })
    }

    /// What was found out about faults since the last call.
    pub(crate) fn reports(&self) -> impl Iterator<Item = Value> {
        self.reports.try_iter()
    }

    pub(crate) fn account(&self) -> &Account {
        &self.account
    }

    /// Ends the record of now, and waits a little for the disk.
    pub(crate) fn finish(&self) {
        self.ending.store(true, Ordering::Relaxed);
        if self.ended.recv_timeout(LAST_RECORD_MAX) == Err(RecvTimeoutError::Timeout) {
            self.account.lose("the last record was not on the disk at the end".into());
        }
    }
}

/// A stream as it is recorded.
#[derive(Debug)]
struct Recorded {
    name: String,
    rate: u16,
    timeline: Timeline,
    track: Track,
}

impl Recorded {
    /// Its samples as they stand on an axis.
    fn on(&self, axis: &Axis) -> Placed<'_> {
        let Self { name, rate, timeline, track } = self;
        Placed { name, rate: *rate, track, shift: axis.shift(timeline) }
    }
}

#[derive(Debug)]
struct Recording {
    tape: Consumer<Entry>,
    streams: Vec<Recorded>,
    local: Local,
    channels: Channels,
    states: States,
    disturbance: Disturbance,
    /// Channels that are triggers.
    triggers: BTreeMap<usize, Trigger>,
    style: Style,
    before: Duration,
    reporter: Reporter,
    reports: Sender<Value>,
    writer: Writer,
    /// When the tape was looked at last, by the own clock.
    seen_ns: u64,
}

impl Recording {
    fn new(relay: &Relay, tape: Consumer<Entry>, reports: Sender<Value>, writer: Writer) -> Self {
        let settings = &relay.recorder;
        let channels = Channels::of(relay);
        let room_s = (settings.length_max + 2 * LATE).as_secs_f64();
        let stream = |(name, stream): (&String, &substation::settings::Stream)| {
            let rate = stream.supervision.rate;
            let room = (room_s * f64::from(rate)) as usize;
            let (timeline, track) = (Timeline::new(rate), Track::new(room));
            Recorded { name: name.clone(), rate, timeline, track }
        };
        let elements = &relay.protection.elements;
        let breakers = &relay.protection.trips.elements_by_breaker;
        let trigger = |signal: &substation::settings::Signal| {
            let place = match signal.kind {
                SignalKind::Trip | SignalKind::TripPole(_) | SignalKind::TripQuality => {
                    breakers.keys().position(|name| *name == signal.name)
                }
                SignalKind::Start
                | SignalKind::Operate
                | SignalKind::Lockout
                | SignalKind::ElementQuality => {
                    elements.keys().position(|name| *name == signal.name)
                }
            };
            let channel = channels.of_signal(signal.kind, place?)?;
            Some((channel, Trigger::new(channel, signal.kind)))
        };
        Self {
            streams: relay.protection.streams.iter().map(stream).collect(),
            local: None,
            states: States::new(channels.at_start()),
            disturbance: Disturbance::new(settings),
            triggers: settings.triggers.iter().filter_map(trigger).collect(),
            style: Style {
                relay: relay.name.clone(),
                frequency_hz: relay.protection.frequency_hz,
                encoding: settings.encoding,
            },
            before: settings.before,
            reporter: Reporter::new(relay),
            channels,
            tape,
            reports,
            writer,
            seen_ns: 0,
        }
    }

    fn run(&mut self, ending: &AtomicBool) {
        loop {
            // Before the tape is read: what it holds then is all that there will be.
            let is_last = ending.load(Ordering::Relaxed);
            self.look(Now::read(), &os::clock::state().unwrap_or_default(), is_last);
            if is_last {
                return;
            }
            sleep(LOOK);
        }
    }

    /// What is done at each look: takes everything off the tape, and ends what is over.
    fn look(&mut self, now: Now, clock: &ClockState, is_last: bool) {
        let own_ns = now.own.ns();
        let host_ahead_ns = now.common.ns() as i64 - own_ns as i64;
        self.take(now, host_ahead_ns);
        while let Some(span) = self.disturbance.span() {
            let is_over = span.end_ns.saturating_add(time::ns(LATE)) <= own_ns;
            if !(is_over || is_last) {
                return;
            }
            let timelines = self.streams.iter().map(|stream| &stream.timeline);
            let axis = Axis::of(timelines, span.begin_ns, host_ahead_ns, clock);
            self.finish(&Span { end_ns: span.end_ns.min(own_ns), ..span }, &axis);
        }
        let mut timelines: Vec<_> = self.streams.iter_mut().map(|s| &mut s.timeline).collect();
        let moved = timeline::follow(&mut timelines, (own_ns, host_ahead_ns), &mut self.local);
        self.streams.iter_mut().zip(moved).for_each(|(stream, by)| stream.track.shift(by));
        self.states.forget_before(own_ns.saturating_sub(time::ns(self.before + 2 * LATE)));
    }

    /// Takes everything off the tape.
    fn take(&mut self, now: Now, host_ahead_ns: i64) {
        while let Ok(entry) = self.tape.pop() {
            match entry {
                Entry::Sample(arrival) => {
                    let Some(stream) = self.streams.get_mut(usize::from(arrival.stream)) else {
                        continue;
                    };
                    let (asdu, arrived) = (arrival.asdu(), (arrival.at.ns(), host_ahead_ns));
                    let (number, moved) = stream.timeline.number(
                        arrived,
                        asdu.smp_cnt,
                        asdu.smp_synch,
                        &mut self.local,
                    );
                    stream.track.shift(moved);
                    let mut raw = [0; 8];
                    raw.iter_mut().zip(asdu.channels.iter()).for_each(|(to, s)| *to = s.value);
                    stream.track.put(number, raw);
                }
                Entry::Event(event) => {
                    // It is from after the last look, and from before this one, however the clock was
                    // set; the task may have stamped it some time before it was on the tape.
                    let earliest_ns = self.seen_ns.saturating_sub(time::ns(LOOK));
                    let at_ns = now.own_at(event.at).ns().max(earliest_ns);
                    let (triggers, disturbance) = (&self.triggers, &mut self.disturbance);
                    let states = &mut self.states;
                    self.channels.changes(&event.what, |channel, on| {
                        if let Some(at_ns) = states.put(Edge { at_ns, channel, on })
                            && let Some(trigger) = triggers.get(&channel)
                        {
                            disturbance.change(at_ns, *trigger, on);
                        }
                    });
                }
            }
        }
        self.seen_ns = now.own.ns();
    }

    /// Reports and hands over what was recorded, on this axis.
    fn finish(&mut self, span: &Span, axis: &Axis) {
        self.disturbance.finish();
        let streams: Vec<Placed<'_>> = self.streams.iter().map(|stream| stream.on(axis)).collect();
        let states = self.states.at_times(|own_ns| axis.time_ns(own_ns));
        let span = Span {
            begin_ns: axis.time_ns(span.begin_ns),
            trigger_ns: axis.time_ns(span.trigger_ns),
            end_ns: axis.time_ns(span.end_ns),
        };
        let mut rates: Vec<u16> = streams.iter().map(|stream| stream.rate).collect();
        rates.sort_unstable();
        rates.dedup();
        let name =
            |rate: &u16| self.writer.name(span.trigger_ns, Some(*rate).filter(|_| rates.len() > 1));
        let names: Vec<String> = rates.iter().filter_map(name).collect();
        let states = (&self.channels, &states);
        let record = |(rate, name): (&u16, &String)| {
            let of_rate = streams.iter().filter(|stream| stream.rate == *rate).copied();
            let of_rate: Vec<_> = of_rate.collect();
            (name.clone(), compose::record(&self.style, &span, *rate, &of_rate, states))
        };
        let records: Vec<_> = rates.iter().zip(&names).map(record).collect();
        let is_taken = self.writer.hand_over(Job { records, quality: axis.quality });
        let named = if is_taken { &names[..] } else { &[] };
        if let Some(report) = self.reporter.report(&span, &streams, states, named) {
            // The thread that writes events lives as long as this one.
            let _unheard = self.reports.send(report);
        }
    }
}
