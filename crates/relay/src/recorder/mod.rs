//! The disturbance recorder (RDRE, RADR and RBDR of IEC 61850-7-4), and what it says of faults.
//!
//! The task puts each sample that it uses and each event on a tape, a queue without locks, and waits for
//! nobody: what finds it full is missed and counted. A thread that may wait takes both off the tape and
//! keeps what is recent. When a trigger comes, it waits for the end of the disturbance, reports the
//! fault if a breaker was tripped, and hands the record to another thread, which alone waits for the
//! disk. Records that cannot be written, or come faster than they can, are lost and counted.

mod channels;
mod compose;
mod disturbance;
mod folder;
mod report;
mod tape;
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
use iec61850::comtrade::TimeQuality;
use os::clock::ClockState;
use realtime::time::{self, Now};
use rtrb::Consumer;
use serde_json::Value;
use substation::settings::{Relay, SignalKind};

use channels::{Channels, Edge, States};
use compose::Style;
use disturbance::{Disturbance, Span};
use report::Reporter;
pub(crate) use tape::{Entry, Teller};
use timeline::{Local, Timeline};
use track::Track;
pub(crate) use writer::Account;
use writer::{Job, Writer};

/// Time between two looks at the tape.
const LOOK: Duration = Duration::from_millis(20);
/// How late the last samples of a record may be.
const LATE: Duration = Duration::from_millis(150);
/// How long the end of a relay waits for its last record.
const LAST_RECORD_MAX: Duration = Duration::from_secs(2);
/// Samples with a clock that is further off may be of another second than they say.
const SECOND_KNOWN_US: u64 = 400_000;

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

#[derive(Debug)]
struct Recording {
    tape: Consumer<Entry>,
    streams: Vec<Recorded>,
    local: Local,
    channels: Channels,
    states: States,
    disturbance: Disturbance,
    /// Of each channel that is a trigger: which kind.
    triggers: BTreeMap<usize, SignalKind>,
    style: Style,
    before: Duration,
    reporter: Reporter,
    reports: Sender<Value>,
    writer: Writer,
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
                SignalKind::Trip => breakers.keys().position(|name| *name == signal.name),
                _ => elements.keys().position(|name| *name == signal.name),
            };
            place.map(|place| (channels.of_signal(signal.kind, place), signal.kind))
        };
        Self {
            streams: relay.protection.streams.iter().map(stream).collect(),
            local: None,
            states: States::new(channels.all.len()),
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
        }
    }

    fn run(&mut self, ending: &AtomicBool) {
        loop {
            // Before the tape is read: what it holds then is all that there will be.
            let is_last = ending.load(Ordering::Relaxed);
            let now = Now::read();
            self.take(now);
            let now_ns = now.common.ns();
            if let Some(span) = self.disturbance.span() {
                let is_over = span.end_ns + time::ns(LATE) <= now_ns;
                if is_over || is_last {
                    self.finish(&Span { end_ns: span.end_ns.min(now_ns), ..span });
                }
            } else {
                self.forget(now_ns.saturating_sub(time::ns(self.before + 2 * LATE)));
            }
            if is_last {
                return;
            }
            sleep(LOOK);
        }
    }

    /// Takes everything off the tape.
    fn take(&mut self, now: Now) {
        while let Ok(entry) = self.tape.pop() {
            match entry {
                Entry::Sample(arrival) => {
                    let Some(stream) = self.streams.get_mut(usize::from(arrival.stream)) else {
                        continue;
                    };
                    let arrived_ns = now.common_at(arrival.at).ns();
                    let asdu = arrival.asdu();
                    let number = stream.timeline.number(
                        arrived_ns,
                        asdu.smp_cnt,
                        asdu.smp_synch,
                        &mut self.local,
                    );
                    let mut raw = [0; 8];
                    raw.iter_mut().zip(asdu.channels.iter()).for_each(|(to, s)| *to = s.value);
                    stream.track.put(number, raw);
                }
                Entry::Event(event) => {
                    let (at_ns, states) = (event.at.ns(), &mut self.states);
                    let (triggers, disturbance) = (&self.triggers, &mut self.disturbance);
                    self.channels.changes(&event.what, |channel, on| {
                        states.put(Edge { at_ns, channel, on });
                        if let Some(kind) = triggers.get(&channel) {
                            disturbance.change(at_ns, *kind, on);
                        }
                    });
                }
            }
        }
    }

    fn forget(&mut self, before_ns: u64) {
        self.states.forget_before(before_ns);
        for stream in &mut self.streams {
            let seconds = u128::from(before_ns) * u128::from(stream.rate) / 1_000_000_000;
            stream.track.forget_before(seconds as u64);
        }
    }

    /// Reports and hands over what was recorded.
    fn finish(&mut self, span: &Span) {
        self.disturbance.finish();
        let streams: Vec<_> =
            self.streams.iter().map(|s| (s.name.as_str(), s.rate, &s.track)).collect();
        let name = self.writer.name(span.trigger_ns, None);
        let report =
            self.reporter.report(span, &streams, (&self.channels, &self.states), name.as_deref());
        if let Some(report) = report {
            // The thread that writes events lives as long as this one.
            let _unheard = self.reports.send(report);
        }
        if name.is_none() {
            return;
        }
        let mut rates: Vec<u16> = streams.iter().map(|stream| stream.1).collect();
        rates.sort_unstable();
        rates.dedup();
        let quality = self.quality(&os::clock::state().unwrap_or_default());
        for rate in &rates {
            let of_rate = streams.iter().filter(|stream| stream.1 == *rate);
            let of_rate: Vec<_> = of_rate.map(|(name, _, track)| (*name, *track)).collect();
            let states = (&self.channels, &self.states);
            let record = compose::record(&self.style, span, *rate, &of_rate, states);
            let suffix = (rates.len() > 1).then_some(*rate);
            let Some(name) = self.writer.name(span.trigger_ns, suffix) else { continue };
            self.writer.hand_over(Job { name, record, quality });
        }
    }

    /// What the times of samples are worth with such a clock of this host.
    fn quality(&self, clock: &ClockState) -> TimeQuality {
        let is_kept = clock.is_synchronised && !clock.has_failed;
        let are_exact = self.streams.iter().all(|stream| stream.timeline.is_exact);
        match (is_kept, are_exact) {
            (false, _) => TimeQuality::UNRELIABLE,
            // The clock tells the second, the samples the rest.
            (true, true) if clock.error_us_max < SECOND_KNOWN_US => TimeQuality::LOCKED,
            (true, _) => TimeQuality::within_us(timeline::DRIFT_MAX.as_micros() as u64)
                .or_worse(TimeQuality::within_us(clock.error_us_max)),
        }
    }
}
