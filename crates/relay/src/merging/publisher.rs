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
use iec61850::wire::MacAddress;
use substation::protection::breaker::{self, Breaker};
use substation::settings::merging_unit::{MergingUnit, PublishedStream, Source, TrippedBreaker};

use super::disturbance::{Disturbances, Fate};
use super::feedback::Listener;
use super::frame;
use super::generator::{Generator, Samples};
use super::plant::{self, PlantFile};
use super::schedule::{Pace, Schedule};
use super::summary::{FaultStamps, Frames, LatenessFigures, Summary};
use crate::exchange::histogram;
use os::packet::PacketSocket;

/// The first sample is at least this much later than now.
const LEAD_NS: i64 = 100_000_000;
/// Frames later than this are left out: no merging unit sends them, and a burst of them would
/// hide from a relay that this one stood still.
const GIVE_UP_NS: i64 = 100_000_000;
/// Frames that one call is given; it takes as many at once anyway.
const AT_ONCE: usize = 64;

/// A merging unit that is ready to begin.
#[derive(Debug)]
pub(crate) struct Publisher {
    socket: PacketSocket,
    interface: String,
    streams: Vec<Outgoing>,
    sources: Vec<SourceState>,
    schedule: Schedule,
    listener: Option<Listener>,
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

/// A generator, the breaker behind it, and what was reported of its faults.
#[derive(Debug)]
struct SourceState {
    name: String,
    rate: u16,
    generator: Generator,
    breaker: Option<(Breaker, u64)>,
    /// The fault of this episode, by its place in the list.
    fault: Option<(u64, usize)>,
    /// Where its phasors are, if it follows a simulated grid.
    plant: Option<PlantFile>,
}

/// The position of a breaker in a simulated grid, if there is one.
#[derive(Debug)]
struct Position {
    file: Option<String>,
    opens_ns: Option<i64>,
}

/// Frames that are sent together: buffers that are used again and again.
#[derive(Default)]
struct Batch {
    buffers: Vec<Vec<u8>>,
    count: usize,
}

impl Publisher {
    /// Opens the interface and makes all streams ready.
    pub(crate) fn new(
        unit: &MergingUnit,
        interface: &str,
        generators: BTreeMap<(String, u16), Generator>,
    ) -> anyhow::Result<Self> {
        // Protocol 0: this socket gets no frame, it only sends.
        let socket = PacketSocket::open(interface, 0)?;
        let listener =
            unit.breaker.as_ref().map(|breaker| Listener::start(interface, breaker)).transpose()?;
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
            Ok(SourceState { name, rate, generator, breaker: None, fault: None, plant })
        });
        let sources = sources.collect::<anyhow::Result<_>>()?;
        Ok(Self {
            socket,
            interface: interface.to_owned(),
            schedule: Schedule::new(streams.iter().map(|stream| stream.pace)),
            streams,
            sources,
            listener,
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
        let begin_ns = next_second_ns();
        let end_ns = duration.map_or(u64::MAX, |duration| duration.as_nanos() as u64);
        let (mut batch, mut due) = (Batch::default(), Vec::new());
        while let Some(due_ns) = self.schedule.next_due_ns().filter(|due_ns| *due_ns < end_ns) {
            if is_over.load(Ordering::Relaxed) {
                break;
            }
            self.schedule.take_due(due_ns, &mut due);
            batch.count = 0;
            for (stream, number) in &due {
                self.prepare(*stream, *number, &mut batch)?;
            }
            let at_ns = begin_ns + due_ns as i64;
            os::realtime::sleep_until(at_ns);
            self.send(&batch, at_ns, self.streams[due[0].0].pace.interval_ns())?;
            self.take_trips(begin_ns, tell);
            self.position.open_when_due()?;
            self.note_faults(begin_ns, tell);
        }
        let over_ns = os::realtime::now_ns().max(begin_ns) - begin_ns;
        Ok(self.summary(over_ns as f64 * 1e-9))
    }

    /// Makes a frame of a stream, or what a disturbance makes of it.
    fn prepare(&mut self, stream: usize, number: u64, batch: &mut Batch) -> anyhow::Result<()> {
        let outgoing = &mut self.streams[stream];
        let taken_ns = outgoing.pace.due_ns(number) - outgoing.pace.phase_ns;
        let fate = outgoing.disturbances.fate(number, taken_ns);
        let source = &mut self.sources[outgoing.source];
        source.follow_plant(taken_ns)?;
        let buffer = batch.next();
        let sample = |number| source.samples(number);
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

    fn send(&mut self, batch: &Batch, at_ns: i64, interval_ns: u64) -> anyhow::Result<()> {
        if os::realtime::now_ns() - at_ns > GIVE_UP_NS {
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
            let late_ns = (os::realtime::now_ns() - at_ns).max(0) as u64;
            self.lateness.saturating_record_n(late_ns.max(1), sent as u64);
            self.frames.published += sent as u64;
            self.frames.dropped += (buffers.len() - sent) as u64;
            if late_ns > interval_ns {
                self.frames.late += sent as u64;
            }
        }
        Ok(())
    }

    /// Orders the breakers of all sources to open.
    fn take_trips(&mut self, begin_ns: i64, tell: &Sender<String>) {
        let Some(listener) = &self.listener else { return };
        while let Ok(trip_ns) = listener.trips.try_recv() {
            self.position.tripped(trip_ns + self.opening.as_nanos() as i64);
            for source in &mut self.sources {
                let since_begin = SampleTime::from_ns((trip_ns - begin_ns).max(0) as u64);
                source.trip(since_begin, self.opening);
                let Some((_, place)) = source.fault else { continue };
                let fault = &mut self.faults[place];
                if fault.trip_after_ns.is_none() {
                    let inception_ns = fault.inception_realtime_ns - realtime_offset_ns();
                    fault.trip_after_ns = Some(trip_ns - inception_ns);
                    tell.send(fault.to_string()).ok();
                }
            }
        }
    }

    /// Stamps faults that have begun and currents that have ended.
    fn note_faults(&mut self, begin_ns: i64, tell: &Sender<String>) {
        for source in &mut self.sources {
            let Some((episode, begin_s)) = source.generator.fault_begun(source.rate) else {
                continue;
            };
            let inception_ns = begin_ns + (begin_s * 1e9).round() as i64;
            match source.fault {
                Some((known, place)) if known == episode => {
                    let fault = &mut self.faults[place];
                    let interrupted = source.generator.interrupted_at();
                    if let (Some(number), None) = (interrupted, fault.interrupted_after_ns) {
                        let at = SampleTime::of_sample(number, source.rate.into());
                        let after_ns = begin_ns + at.ns() as i64 - inception_ns;
                        fault.interrupted_after_ns = Some(after_ns);
                        tell.send(fault.to_string()).ok();
                    }
                }
                _ => {
                    let fault = FaultStamps {
                        source: source.name.clone(),
                        number: episode + 1,
                        inception_realtime_ns: inception_ns + realtime_offset_ns(),
                        trip_after_ns: None,
                        interrupted_after_ns: None,
                    };
                    tell.send(fault.to_string()).ok();
                    source.fault = Some((episode, self.faults.len()));
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

impl SourceState {
    fn samples(&mut self, number: u64) -> Samples {
        let episode = self.generator.episode_at(number);
        let is_open = self.breaker.as_ref().is_some_and(|(breaker, tripped_in)| {
            let now = SampleTime::of_sample(number, self.rate.into());
            *tripped_in == episode && !breaker.conducts(now)
        });
        self.generator.samples(number, is_open)
    }

    fn follow_plant(&mut self, now_ns: u64) -> anyhow::Result<()> {
        let Some(plant) = &mut self.plant else { return Ok(()) };
        if let Some(phasors) = plant.read_when_due(now_ns)? {
            self.generator.set_phasors(phasors);
        }
        Ok(())
    }

    /// A trip opens the breaker for the episode in which it comes.
    fn trip(&mut self, at: SampleTime, opening: Duration) {
        let number = u128::from(at.ns()) * u128::from(self.rate) / 1_000_000_000;
        let episode = self.generator.episode_at(number as u64);
        if self.breaker.as_ref().is_some_and(|(_, tripped_in)| *tripped_in == episode) {
            return;
        }
        // It closes by itself with the next episode.
        let mut breaker = Breaker::new(breaker::Settings { opening, closing: Duration::ZERO });
        breaker.trip(at);
        self.breaker = Some((breaker, episode));
    }
}

impl Position {
    fn of(breaker: Option<&TrippedBreaker>) -> Self {
        Self { file: breaker.and_then(|breaker| breaker.position.clone()), opens_ns: None }
    }

    /// Its contacts are apart at this time.
    fn tripped(&mut self, opens_ns: i64) {
        self.opens_ns = self.opens_ns.or(Some(opens_ns));
    }

    fn open_when_due(&mut self) -> anyhow::Result<()> {
        if self.opens_ns.is_none_or(|opens_ns| os::realtime::now_ns() < opens_ns) {
            return Ok(());
        }
        // It opens once: nothing in the grid closes it again but its operator.
        self.file.take().map_or(Ok(()), |file| plant::open_breaker(&file))
    }
}

impl Batch {
    /// Room for one more frame.
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

/// `CLOCK_MONOTONIC` at the next whole second of `CLOCK_REALTIME`.
pub(super) fn next_second_ns() -> i64 {
    let offset_ns = realtime_offset_ns();
    let earliest_ns = os::realtime::now_ns() + LEAD_NS + offset_ns;
    let second_ns = 1_000_000_000;
    (earliest_ns + second_ns - 1).div_euclid(second_ns) * second_ns - offset_ns
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
        let at_ns = next_second_ns();
        let ahead_ns = at_ns - os::realtime::now_ns();
        assert!(ahead_ns <= LEAD_NS + 1_000_000_000);
        // As exactly as a loaded host can be asked for both clocks.
        let rest_ns = (at_ns + realtime_offset_ns()).rem_euclid(1_000_000_000);
        assert!(!(50_000_000..950_000_000).contains(&rest_ns), "{rest_ns}");
    }
}
