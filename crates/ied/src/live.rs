//! What is known of a relay now, from the events of its task and its figures, and since when.

mod observe;

use std::mem::replace;

use iec61850::stream::State;
use iec61850::wire::UtcTime;
use protection::PhaseSet;
use protection::measurands::Measurands;
use quorum::CommonTime;
use substation::engine::Change;
use substation::settings::{Mode, Relay};

use super::positions::Positions;
pub(crate) use observe::{Source, enumerated};

/// Something that changes, and since when it is as it is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Since<T> {
    value: T,
    at: UtcTime,
}

impl<T: PartialEq> Since<T> {
    fn set(&mut self, value: T, at: UtcTime) -> bool {
        let is_other = self.value != value;
        if is_other {
            *self = Self { value, at };
        }
        is_other
    }
}

#[derive(Clone, PartialEq, Debug)]
struct Element {
    start: Since<bool>,
    operate: Since<bool>,
    /// Numbers of its streams.
    streams: Vec<usize>,
}

#[derive(Clone, PartialEq, Debug)]
struct Breaker {
    is_tripped: Since<bool>,
    /// Which poles are open, while publishers tell it of all.
    open: Since<Option<PhaseSet>>,
}

/// A relay at one moment. Numbers are places in the order of the names.
#[derive(Clone, PartialEq, Debug)]
pub struct Live {
    mode: Mode,
    begin: UtcTime,
    /// What stamps of now say of the clock.
    pub clock_quality: u8,
    /// Whether the host refuses what a relay needs to act in time.
    pub is_host_limited: bool,
    /// Whether each stream is valid.
    streams: Vec<bool>,
    /// Whether all of them are, which is the health of the relay.
    is_well: Since<bool>,
    elements: Vec<Element>,
    breakers: Vec<Breaker>,
    /// Of each stream, and when they were measured; none without what can be trusted.
    measurands: Vec<Since<Option<Measurands>>>,
    positions: Positions,
}

/// What a relay tells of itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Told {
    /// An element, a breaker or a stream is in another state.
    Change(Change),
    /// A value that a publisher has sent: number of the subscription, of the entry, and the value,
    /// `None` where it cannot be trusted.
    Value(usize, usize, Option<bool>),
}

impl Live {
    /// A relay that has just begun, by a clock of this quality, and knows nothing.
    pub fn new(relay: &Relay, begin: CommonTime, clock_quality: u8) -> Self {
        let begin = UtcTime::from_realtime_ns(begin.ns(), clock_quality);
        let streams: Vec<&String> = relay.protection.streams.keys().collect();
        let breakers = relay.protection.trips.elements_by_breaker.len();
        let place = |name| streams.iter().position(|known| *known == name);
        let (off, unknown) = (Since { value: false, at: begin }, Since { value: None, at: begin });
        Self {
            mode: relay.mode,
            begin,
            clock_quality,
            is_host_limited: false,
            streams: vec![false; streams.len()],
            is_well: off,
            elements: relay
                .protection
                .elements
                .values()
                .map(|element| Element {
                    start: off,
                    operate: off,
                    streams: element.streams.iter().filter_map(place).collect(),
                })
                .collect(),
            breakers: vec![Breaker { is_tripped: off, open: unknown }; breakers],
            measurands: vec![Since { value: None, at: begin }; streams.len()],
            positions: Positions::new(relay),
        }
    }

    /// Takes in what the relay told at a time; returns whether anything that clients see is other than
    /// before.
    pub fn take(&mut self, at: CommonTime, told: Told) -> bool {
        let at = self.stamp(at);
        match told {
            Told::Change(Change::Start(n, on)) => self.elements[n].start.set(on, at),
            Told::Change(Change::Operate(n, on)) => self.elements[n].operate.set(on, at),
            Told::Change(Change::Trip(n, on)) => self.breakers[n].is_tripped.set(on, at),
            Told::Change(Change::Stream(n, state)) => {
                let is_valid = state == State::Valid;
                let is_other = replace(&mut self.streams[n], is_valid) != is_valid;
                if is_other {
                    self.requalify(n, at);
                }
                is_other
            }
            Told::Value(subscription, entry, value) => {
                let concerned = self.positions.take(subscription, entry, value);
                concerned.is_some_and(|n| self.breakers[n].open.set(self.positions.open(n), at))
            }
            Told::Change(Change::Group(_) | Change::Poles(..) | Change::Reclosing(..)) => false,
        }
    }

    /// Takes in what was measured of each stream, in the order of their names.
    pub fn measure<'m>(
        &mut self,
        measured: impl Iterator<Item = &'m Option<Measurands>>,
        at: CommonTime,
    ) {
        let at = self.stamp(at);
        for (known, value) in self.measurands.iter_mut().zip(measured) {
            *known = Since { value: *value, at };
        }
    }

    /// What a stream concerns has another quality since then. No maximum of times says so: a clock may be
    /// set back.
    fn requalify(&mut self, stream: usize, at: UtcTime) {
        self.measurands[stream].at = at;
        for element in self.elements.iter_mut().filter(|known| known.streams.contains(&stream)) {
            (element.start.at, element.operate.at) = (at, at);
        }
        self.is_well.set(self.streams.iter().all(|is_valid| *is_valid), at);
    }

    const fn stamp(&self, at: CommonTime) -> UtcTime {
        UtcTime::from_realtime_ns(at.ns(), self.clock_quality)
    }

    /// Whether a publisher tells the position of a breaker.
    pub(crate) fn has_position(&self, breaker: usize) -> bool {
        self.positions.are_told(breaker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iec61850::wire::{Quality, Value};
    use protection::measurands::Quantities;
    use protection::{Complex, Sequence};
    use substation::settings;

    const TEXT: &str = "
relay: bay
frequency: 50 Hz
mode: MODE
streams:
  s01: {sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}
  s02: {sv_id: MU02, destination: '01:0c:cd:04:00:02', app_id: 0x4000, rate: 4000 Hz}
elements:
  I>: {function: overcurrent, stream: s02, pick_up: 400 A, delay: 100 ms}
trips:
  breakers: {Q0: [I>], Q1: [I>], Q2: [I>]}
subscriptions:
  breaker: {reference: XCBR/LLN0$GO$gcb01, destination: '01:0c:cd:01:00:02', app_id: 2, conf_rev: 1, entries: [unused, position Q1]}
  other: {reference: XCBR/LLN0$GO$gcb02, destination: '01:0c:cd:01:00:03', app_id: 3, conf_rev: 1, entries: [position Q2 A, position Q2 B, position Q2 C]}
";
    const GOOD: Quality = Quality::GOOD;
    const INVALID: Quality = Quality::INVALID;

    const fn second(second: u64) -> CommonTime {
        CommonTime::from_ns(second * 1_000_000_000)
    }

    fn live(mode: &str) -> Live {
        let relay = settings::read("", &TEXT.replace("MODE", mode)).expect("they are right");
        Live::new(&relay, second(1), 0x2a)
    }

    fn take(live: &mut Live, at_s: u64, told: Told) -> bool {
        live.take(second(at_s), told)
    }

    /// Its first value, quality, and second; each stamp knows the clock that read it.
    fn seen(live: &Live, source: Source) -> (Value, Quality, u32) {
        let mut observed = live.observe(source);
        assert_eq!(observed.at.quality, 0x2a);
        (observed.values.remove(0), observed.quality, observed.at.seconds)
    }

    #[test]
    fn an_element_is_trusted_while_its_own_streams_are_valid() {
        let mut live = live("on");
        let (start, off, on) = (Source::Start(0), Value::Boolean(false), Value::Boolean(true));
        assert_eq!(seen(&live, start), (off.clone(), INVALID, 1));
        assert!(take(&mut live, 2, Told::Change(Change::Stream(0, State::Valid))));
        assert_eq!(seen(&live, start), (off.clone(), INVALID, 1), "that is another one");
        assert!(take(&mut live, 3, Told::Change(Change::Stream(1, State::Valid))));
        assert_eq!(seen(&live, start), (off.clone(), GOOD, 3));
        assert!(take(&mut live, 4, Told::Change(Change::Start(0, true))));
        assert_eq!(seen(&live, start), (on, GOOD, 4));
        assert_eq!(seen(&live, Source::Operate(0)), (off, GOOD, 3));
        assert!(!take(&mut live, 5, Told::Change(Change::Start(0, true))), "nothing is new");
    }

    #[test]
    fn a_position_is_known_while_its_publisher_tells_it() {
        let mut live = live("on");
        assert!(live.has_position(1) && !live.has_position(0));
        let position = |bits| Value::BitString(vec![bits], 6);
        assert_eq!(seen(&live, Source::Position(1)), (position(0), INVALID, 1));
        assert!(take(&mut live, 2, Told::Value(0, 1, Some(true))));
        assert_eq!(seen(&live, Source::Position(1)), (position(0x80), GOOD, 2));
        assert!(take(&mut live, 3, Told::Value(0, 1, Some(false))));
        assert_eq!(seen(&live, Source::Position(1)), (position(0x40), GOOD, 3));
        assert!(take(&mut live, 4, Told::Value(0, 1, None)));
        assert_eq!(seen(&live, Source::Position(1)), (position(0), INVALID, 4));
        assert!(!take(&mut live, 5, Told::Value(0, 0, Some(true))), "it is unused");
        for (pole, is_closed) in [true, true, false].into_iter().enumerate() {
            take(&mut live, 6, Told::Value(1, pole, Some(is_closed)));
        }
        assert_eq!(seen(&live, Source::Position(2)), (position(0), GOOD, 6), "poles differ");
    }

    #[test]
    fn what_is_measured_is_good_with_its_stream_and_what_is_not_is_invalid() {
        let mut live = live("on");
        let (power, zero) = (Source::ActivePower(1), Value::Float32(0.0));
        assert_eq!(seen(&live, power), (zero.clone(), INVALID, 1));
        // 1 V and 5 A in phase A, and a frequency that was not measured.
        let quantities = |ampere: f64| Quantities {
            phases: [Complex::new(ampere, 0.0), Complex::ZERO, Complex::ZERO],
            residual: Complex::ZERO,
            sequence: Sequence::default(),
        };
        let measured = Measurands {
            currents: Some(quantities(5.0)),
            voltages: Some(quantities(1.0)),
            frequency_hz: None,
        };
        live.measure([None, Some(measured)].iter(), second(7));
        assert_eq!(seen(&live, power), (Value::Float32(5.0), INVALID, 7));
        take(&mut live, 8, Told::Change(Change::Stream(1, State::Valid)));
        assert_eq!(seen(&live, power), (Value::Float32(5.0), GOOD, 8), "its quality changed");
        assert_eq!(seen(&live, Source::Frequency(1)), (zero, INVALID, 8));
    }

    #[test]
    fn what_happens_after_the_clock_was_set_back_has_the_time_of_then() {
        let mut live = live("on");
        for stream in [0, 1] {
            take(&mut live, 8, Told::Change(Change::Stream(stream, State::Valid)));
        }
        assert_eq!(seen(&live, Source::Health).2, 8);
        take(&mut live, 3, Told::Change(Change::Start(0, true)));
        assert_eq!(seen(&live, Source::Start(0)), (Value::Boolean(true), GOOD, 3));
        live.measure([None, None].iter(), second(4));
        assert_eq!(seen(&live, Source::Frequency(1)).2, 4);
        take(&mut live, 5, Told::Change(Change::Stream(1, State::Invalid)));
        for source in [Source::Start(0), Source::Operate(0), Source::Frequency(1), Source::Health] {
            assert_eq!(seen(&live, source).2, 5, "{source:?}");
        }
    }

    #[test]
    fn a_relay_in_test_says_so_in_mode_and_quality() {
        let live = live("test");
        assert_eq!(seen(&live, Source::Mode), (enumerated(3), Quality::TEST, 1));
        let quality = Quality(INVALID.0 | Quality::TEST.0);
        assert_eq!(seen(&live, Source::Start(0)).1, quality);
    }

    #[test]
    fn health_is_that_of_streams_and_host() {
        let mut live = live("on");
        assert_eq!(seen(&live, Source::Health).0, enumerated(2));
        take(&mut live, 2, Told::Change(Change::Stream(0, State::Valid)));
        take(&mut live, 3, Told::Change(Change::Stream(1, State::Valid)));
        assert_eq!(seen(&live, Source::Health), (enumerated(1), GOOD, 3));
        assert_eq!(seen(&live, Source::HostHealth).0, enumerated(1));
        live.is_host_limited = true;
        assert_eq!(seen(&live, Source::HostHealth).0, enumerated(2));
    }
}
