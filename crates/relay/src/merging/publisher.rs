//! The loop of a merging unit: makes the next frames, sleeps until they are due, sends them with
//! one call, and counts what became of them.
//!
//! Frames are made before the sleep, so that after it only the call is left. The schedule is
//! absolute on `CLOCK_MONOTONIC`; sample 0 was at a whole second of `CLOCK_REALTIME` when it
//! began, and a clock that is set or slewed later on does not move the samples.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use hdrhistogram::Histogram;
use iec61850::SampleTime;
use iec61850::wire::{MacAddress, UtcTime};
use realtime::exchange::histogram;
use realtime::{clock, time};
use substation::settings::merging_unit::{MergingUnit, PublishedStream, Source, TrippedBreaker};

use super::disturbance::{Disturbances, Fate};
use super::feedback::Listener;
use super::frame;
use super::generator::Generator;
use super::plant::{self, PlantFile};
use super::schedule::{Pace, Schedule};
use super::source::{SelfClosing, SourceState};
use super::summary::{FaultStamps, Frames, LatenessFigures, Summary};
use super::switchgear::{PositionMessage, Switchgear};
use os::packet::PacketSocket;

/// The first sample is at least this much later than now.
const LEAD: Duration = Duration::from_millis(100);
/// Frames later than this are left out: no merging unit sends them, and a burst of them would
/// hide from a relay that this one was stopped.
const GIVE_UP: Duration = Duration::from_millis(100);
/// Frames that one call is given; it takes as many at once anyway.
const AT_ONCE: usize = 64;

#[derive(Debug)]
pub(crate) struct Publisher {
    socket: PacketSocket,
    interface: String,
    streams: Vec<Outgoing>,
    sources: Vec<SourceState>,
    schedule: Schedule,
    listener: Option<Listener>,
    /// The breaker that obeys orders to close, and the message that tells where it is.
    gear: Option<Switchgear>,
    message: Option<PositionMessage>,
    opening: Duration,
    position: Position,
    lateness: Histogram<u64>,
    frames: Frames,
    faults: Vec<FaultStamps>,
    warnings: Vec<String>,
}

#[derive(Debug)]
struct Outgoing {
    settings: PublishedStream,
    pace: Pace,
    disturbances: Disturbances,
    source: usize,
    /// A frame that is sent behind the next one.
    held_back: Option<Vec<u8>>,
}

/// The position of a breaker in a simulated grid, if there is one.
#[derive(Debug)]
struct Position {
    file: Option<String>,
    opens: Option<SampleTime>,
}

/// Frames that are sent together: buffers that are used again and again.
#[derive(Default)]
struct Batch {
    buffers: Vec<Vec<u8>>,
    count: usize,
}

impl Publisher {
    pub(crate) fn new(
        unit: &MergingUnit,
        interface: &str,
        generators: BTreeMap<(String, u16), Generator>,
    ) -> anyhow::Result<Self> {
        // Protocol 0: this socket gets no frame, it only sends.
        let socket = PacketSocket::open(interface, 0)?;
        let listener =
            unit.breaker.as_ref().map(|breaker| Listener::start(interface, breaker)).transpose()?;
        let ordered = unit.breaker.as_ref().filter(|breaker| breaker.closes.is_some());
        let address = MacAddress(socket.address());
        let message =
            unit.breaker.as_ref().and_then(|breaker| PositionMessage::new(breaker, address));
        let keys: Vec<(String, u16)> = generators.keys().cloned().collect();
        let streams: Vec<Outgoing> = unit
            .streams
            .iter()
            .enumerate()
            .map(|(number, (name, settings))| Outgoing {
                pace: frame::pace(settings),
                disturbances: Disturbances::of_stream(
                    unit.disturbances.values(),
                    name,
                    number,
                    unit.seed,
                ),
                source: keys
                    .iter()
                    .position(|key| *key == (settings.source.clone(), settings.rate))
                    .expect("each source and rate has its generator"),
                settings: settings.clone(),
                held_back: None,
            })
            .collect();
        let sources = generators.into_iter().map(|((name, rate), generator)| {
            let plant = match &unit.sources[&name] {
                Source::Plant(plant) => Some(PlantFile::open(plant)?),
                Source::Waveform(_) | Source::Playback(_) => None,
            };
            let own = unit.breaker.as_ref().filter(|breaker| breaker.closes.is_none());
            let own_gear = own.map(SelfClosing::new);
            Ok(SourceState { name, rate, generator, own_gear, fault: None, plant })
        });
        let sources = sources.collect::<anyhow::Result<_>>()?;
        Ok(Self {
            socket,
            interface: interface.to_owned(),
            schedule: Schedule::new(streams.iter().map(|stream| stream.pace)),
            streams,
            sources,
            listener,
            gear: ordered.map(Switchgear::new),
            message,
            opening: unit.breaker.as_ref().map_or(Duration::ZERO, |breaker| breaker.opening),
            position: Position::of(unit.breaker.as_ref()),
            lateness: histogram(),
            frames: Frames::default(),
            faults: Vec::new(),
            warnings: Vec::new(),
        })
    }

    /// Publishes for this long, or until `is_over`; tells of faults as they happen.
    pub(crate) fn run(
        mut self,
        duration: Option<Duration>,
        is_over: &AtomicBool,
        tell: &Sender<String>,
        warnings: Vec<String>,
    ) -> anyhow::Result<Summary> {
        self.warnings = warnings;
        let begin = next_second();
        let end = SampleTime::from_ns(duration.map_or(u64::MAX, time::ns));
        let (mut batch, mut due) = (Batch::default(), Vec::new());
        while let Some(next) = self.schedule.next_due().filter(|next| *next < end) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            self.schedule.take_due(next, &mut due);
            batch.count = 0;
            for (stream, number) in &due {
                self.prepare(*stream, *number, &mut batch)?;
            }
            let at = on_host(begin, next);
            time::sleep_until(at);
            self.send(&batch, at, self.streams[due[0].0].pace.interval())?;
            self.take_orders(begin, tell);
            self.tell_position(begin);
            self.position.open_when_due()?;
            self.note_faults(begin, tell);
        }
        Ok(self.summary(time::own().since(begin).as_secs_f64()))
    }

    /// Makes a frame of a stream, or what a disturbance makes of it.
    fn prepare(&mut self, stream: usize, number: u64, batch: &mut Batch) -> anyhow::Result<()> {
        let outgoing = &mut self.streams[stream];
        let taken = outgoing.pace.taken(number);
        let fate = outgoing.disturbances.fate(number, taken);
        let source = &mut self.sources[outgoing.source];
        source.follow_plant(taken)?;
        let buffer = batch.next();
        let gear = self.gear.as_ref();
        let sample = |number| source.samples(number, gear);
        frame::write(
            &outgoing.settings,
            MacAddress(self.socket.address()),
            number,
            fate,
            sample,
            buffer,
        );
        self.frames.count(fate);
        if fate.is_lost {
            batch.count -= 1;
        } else if fate.is_held_back {
            let frame = buffer.clone();
            batch.count -= 1;
            batch.add(outgoing.held_back.replace(frame));
        } else {
            let again = fate.is_doubled.then(|| buffer.clone());
            batch.add(again);
            batch.add(outgoing.held_back.take());
        }
        Ok(())
    }

    fn send(&mut self, batch: &Batch, at: SampleTime, interval: Duration) -> anyhow::Result<()> {
        if time::own().since(at) > GIVE_UP {
            self.frames.dropped += batch.count as u64;
            return Ok(());
        }
        for buffers in batch.buffers[..batch.count].chunks(AT_ONCE) {
            let mut frames: [&[u8]; AT_ONCE] = [&[]; AT_ONCE];
            for (frame, buffer) in frames.iter_mut().zip(buffers) {
                *frame = buffer;
            }
            let sent = match self.socket.send(&frames[..buffers.len()]) {
                Ok(sent) => sent,
                Err(error) if is_gone(&error) => return Err(error.into()),
                Err(error) => {
                    self.warn(format!("the interface did not accept frames: {error}"));
                    0
                }
            };
            let late = time::own().since(at);
            self.lateness.saturating_record_n(time::ns(late).max(1), sent as u64);
            self.frames.published += sent as u64;
            self.frames.dropped += (buffers.len() - sent) as u64;
            if late > interval {
                self.frames.late += sent as u64;
            }
        }
        Ok(())
    }

    /// Orders the breaker to open or to close.
    fn take_orders(&mut self, begin: SampleTime, tell: &Sender<String>) {
        let Some(listener) = &self.listener else { return };
        while let Ok((trip, orders)) = listener.orders.try_recv() {
            let at = SampleTime::ZERO.plus(trip.since(begin));
            if let Some(gear) = &mut self.gear {
                gear.obey(at, &orders);
            }
            for source in &mut self.sources {
                source.obey(at, &orders);
            }
            if orders.trip.is_empty() {
                continue;
            }
            self.position.tripped(trip.plus(self.opening));
            for source in &mut self.sources {
                let Some((_, place, inception)) = source.fault else { continue };
                let fault = &mut self.faults[place];
                if fault.trip_after_ns.is_none() {
                    fault.trip_after_ns = Some(ns_between(inception, trip));
                    tell.send(fault.to_string()).ok();
                }
            }
        }
    }

    /// Sends the message of the breaker when it is due.
    fn tell_position(&mut self, begin: SampleTime) {
        let (Some(gear), Some(message)) = (&self.gear, &mut self.message) else { return };
        let now = time::own();
        let stamp = || {
            let quality = clock::quality(&os::clock::state().unwrap_or_default());
            UtcTime::from_realtime_ns(time::common().ns(), quality)
        };
        let positions = gear.positions(SampleTime::ZERO.plus(now.since(begin)));
        if let Some(frame) = message.step(now, stamp, positions) {
            let sent = self.socket.send(&[frame]);
            if !matches!(sent, Ok(1..)) {
                self.warn("the interface did not accept the position of the breaker".into());
            }
        }
    }

    /// Stamps faults that have begun and currents that have ended.
    fn note_faults(&mut self, begin: SampleTime, tell: &Sender<String>) {
        for source in &mut self.sources {
            let Some((episode, inception)) = source.generator.fault_begun(source.rate) else {
                continue;
            };
            match source.fault {
                Some((known, place, _)) if known == episode => {
                    let fault = &mut self.faults[place];
                    let interrupted = source.generator.interrupted_at;
                    if let (Some(number), None) = (interrupted, fault.interrupted_after_ns) {
                        let at = SampleTime::of_sample(number, source.rate.into());
                        fault.interrupted_after_ns = Some(ns_between(inception, at));
                        tell.send(fault.to_string()).ok();
                    }
                }
                _ => {
                    let inception = on_host(begin, inception);
                    let fault = FaultStamps {
                        source: source.name.clone(),
                        number: episode + 1,
                        inception_realtime_ns: inception.ns() as i64 + realtime_offset_ns(),
                        trip_after_ns: None,
                        interrupted_after_ns: None,
                    };
                    tell.send(fault.to_string()).ok();
                    source.fault = Some((episode, self.faults.len(), inception));
                    self.faults.push(fault);
                }
            }
        }
    }

    /// Remembers a warning once.
    fn warn(&mut self, warning: String) {
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn summary(self, duration_s: f64) -> Summary {
        let lateness = &self.lateness;
        Summary {
            interface: self.interface,
            streams: self.streams.len(),
            duration_s,
            frames: self.frames,
            lateness_ns: LatenessFigures {
                frames: lateness.len(),
                mean: lateness.mean(),
                p50: lateness.value_at_quantile(0.5),
                p90: lateness.value_at_quantile(0.9),
                p99: lateness.value_at_quantile(0.99),
                p99_9: lateness.value_at_quantile(0.999),
                p99_99: lateness.value_at_quantile(0.9999),
                max: lateness.max(),
            },
            faults: self.faults,
            warnings: self.warnings,
        }
    }
}

impl Position {
    fn of(breaker: Option<&TrippedBreaker>) -> Self {
        Self { file: breaker.and_then(|breaker| breaker.position.clone()), opens: None }
    }

    /// Its contacts are apart at this time.
    fn tripped(&mut self, opens: SampleTime) {
        self.opens = self.opens.or(Some(opens));
    }

    fn open_when_due(&mut self) -> anyhow::Result<()> {
        if self.opens.is_none_or(|opens| time::own() < opens) {
            return Ok(());
        }
        // It opens once: nothing in the grid closes it again but its operator.
        self.file.take().map_or(Ok(()), |file| plant::open_breaker(&file))
    }
}

impl Batch {
    fn next(&mut self) -> &mut Vec<u8> {
        self.count += 1;
        if self.buffers.len() < self.count {
            self.buffers.push(Vec::new());
        }
        &mut self.buffers[self.count - 1]
    }

    fn add(&mut self, frame: Option<Vec<u8>>) {
        if let Some(frame) = frame {
            *self.next() = frame;
        }
    }
}

impl Frames {
    fn count(&mut self, fate: Fate) {
        self.lost_on_purpose += u64::from(fate.is_lost);
        self.held_back_on_purpose += u64::from(fate.is_held_back && !fate.is_lost);
        let is_doubled = fate.is_doubled && !fate.is_lost && !fate.is_held_back;
        self.doubled_on_purpose += u64::from(is_doubled);
    }
}

/// The time of this host at which something is that is counted from sample 0.
pub(super) const fn on_host(begin: SampleTime, at: SampleTime) -> SampleTime {
    begin.plus(at.since(SampleTime::ZERO))
}

/// From one moment to another, ns: a trip may be older than the fault.
fn ns_between(from: SampleTime, to: SampleTime) -> i64 {
    to.ns() as i64 - from.ns() as i64
}

/// `CLOCK_MONOTONIC` at the next whole second of `CLOCK_REALTIME`.
pub(super) fn next_second() -> SampleTime {
    let offset_ns = realtime_offset_ns();
    let earliest_ns = time::own().plus(LEAD).ns() as i64 + offset_ns;
    let second_ns = 1_000_000_000;
    let next_ns = (earliest_ns + second_ns - 1).div_euclid(second_ns) * second_ns;
    SampleTime::from_ns((next_ns - offset_ns) as u64)
}

/// What `CLOCK_REALTIME` is ahead of `CLOCK_MONOTONIC` by: the shortest of some readings.
fn realtime_offset_ns() -> i64 {
    let reading = || {
        let before_ns = os::realtime::now_ns();
        let realtime_ns = os::realtime::realtime_ns();
        let after_ns = os::realtime::now_ns();
        (after_ns - before_ns, realtime_ns - i64::midpoint(before_ns, after_ns))
    };
    let (_, offset_ns) = (0..5).map(|_| reading()).min().expect("there are five readings");
    offset_ns
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENXIO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_0_is_at_a_whole_second() {
        let at = next_second();
        assert!(at.since(time::own()) <= LEAD + Duration::from_secs(1));
        // As exactly as a loaded host can be asked for both clocks.
        let rest_ns = (at.ns() as i64 + realtime_offset_ns()).rem_euclid(1_000_000_000);
        assert!(!(50_000_000..950_000_000).contains(&rest_ns), "{rest_ns}");
    }
}
