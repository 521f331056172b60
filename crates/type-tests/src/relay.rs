//! A relay under test: ordinary settings, sampled values in the units of 9-2LE, and when each element
//! started and operated. It is the relay's own engine, stepped each millisecond as the program does.

use iec61850::SampleTime;
use iec61850::wire::sampled_values::Channels;
use iec61850::wire::{Asdu, Header, MacAddress, Quality, Sample as Raw, Synchronisation};
use protection::{Decision, PhaseSet};
use substation::engine::{Arrival, Change, Engine};
use substation::settings::{self, Relay};

use crate::line::Sample;

/// What becomes of one sample on its way.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    /// It arrives in its time.
    Arrives,
    Lost,
    /// It arrives so much later, in s, and so do those behind it until then.
    Late(f64),
}

/// A relay whose streams have as many samples a second.
#[derive(Debug)]
pub struct UnderTest {
    relay: Relay,
    rate: u32,
}

/// When an element first started and operated, and last dropped off, in s.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Seen {
    pub started_s: Option<f64>,
    pub operated_s: Option<f64>,
    /// Nothing while it has started.
    pub released_s: Option<f64>,
    /// Phases that it said when it first operated, and all that it said while it did.
    pub phases_first: PhaseSet,
    pub phases: PhaseSet,
}

impl UnderTest {
    /// A relay with these settings, whose streams have `rate` samples a second.
    ///
    /// # Panics
    /// If the settings are wrong: they are part of the test.
    #[must_use]
    pub fn new(text: &str, rate: u32) -> Self {
        let relay = settings::read("relay.yaml", text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        Self { relay, rate }
    }

    /// The names of its elements, in the order of [`UnderTest::run`].
    pub fn elements(&self) -> impl Iterator<Item = &str> {
        self.relay.protection.elements.keys().map(String::as_str)
    }

    /// What each element does with these samples.
    #[must_use]
    pub fn run(&self, samples: &[Sample]) -> Vec<Seen> {
        self.run_with(samples, |_| Fate::Arrives)
    }

    /// The same, with samples lost or late.
    pub fn run_with(&self, samples: &[Sample], mut fate: impl FnMut(usize) -> Fate) -> Vec<Seen> {
        self.run_streams(&[samples], |_, number| fate(number))
    }

    /// The same of a relay with several streams, in the order of their names, all as long.
    pub fn run_streams(
        &self,
        streams: &[&[Sample]],
        mut fate: impl FnMut(usize, usize) -> Fate,
    ) -> Vec<Seen> {
        let mut seen = vec![Seen::default(); self.relay.protection.elements.len()];
        let mut stepper = Stepper::new(&self.relay, self.rate, streams.to_vec());
        while let Some((now_s, changes)) = stepper.step(&mut fate, |_| ()) {
            for change in changes {
                match *change {
                    Change::Start(element, is_start) => seen[element].start(is_start, now_s),
                    Change::Operate(element, true) => {
                        seen[element].operated_s.get_or_insert(now_s);
                    }
                    _ => {}
                }
            }
            for (element, seen) in seen.iter_mut().enumerate() {
                seen.operates(stepper.engine.decision(element));
            }
        }
        seen
    }
}

/// An engine and the samples that it is given, step by step.
pub(crate) struct Stepper<'a> {
    pub(crate) engine: Engine,
    rate: u32,
    streams: Vec<&'a [Sample]>,
    /// Steps done; one is a millisecond.
    steps: usize,
    /// Number of the sample that is the next to be sent.
    next: usize,
    /// Stream and number of samples that have not arrived yet.
    waiting: Vec<(usize, usize)>,
    held_until_s: f64,
}

impl<'a> Stepper<'a> {
    /// At time zero; streams are in the order of their names, all as long.
    pub(crate) fn new(relay: &Relay, rate: u32, streams: Vec<&'a [Sample]>) -> Self {
        let engine = Engine::new(&relay.protection);
        Self { engine, rate, streams, steps: 0, next: 0, waiting: Vec::new(), held_until_s: 0.0 }
    }

    /// Gives the engine what has arrived by now, lets `before` have it, and steps it: the time in s, and
    /// what changed. Nothing when the samples are over.
    pub(crate) fn step(
        &mut self,
        mut fate: impl FnMut(usize, usize) -> Fate,
        before: impl FnOnce(&mut Engine),
    ) -> Option<(f64, &[Change])> {
        let last = self.streams.first()?.len().checked_sub(1)?;
        let (rate, steps) = (self.rate as usize, self.steps);
        // Whole numbers, so that a sample of just now is not one of the next step.
        let is_due = |number: usize| number * 1000 <= steps * rate;
        if steps * rate > last * 1000 {
            return None;
        }
        let now_s = steps as f64 * 1e-3;
        while self.next <= last && is_due(self.next) {
            let number = self.next;
            self.next += 1;
            for stream in 0..self.streams.len() {
                match fate(stream, number) {
                    Fate::Arrives => {}
                    Fate::Lost => continue,
                    Fate::Late(by_s) => {
                        let until_s = number as f64 / f64::from(self.rate) + by_s;
                        self.held_until_s = self.held_until_s.max(until_s);
                    }
                }
                self.waiting.push((stream, number));
            }
        }
        if now_s >= self.held_until_s {
            for (stream, number) in self.waiting.drain(..) {
                let sample = &self.streams[stream][number];
                self.engine.sample(&arrival(stream, number, sample, self.rate, now_s));
            }
        }
        before(&mut self.engine);
        self.steps += 1;
        Some((now_s, self.engine.step(SampleTime::from_ns(steps as u64 * 1_000_000))))
    }
}

impl Seen {
    fn start(&mut self, is_start: bool, now_s: f64) {
        if is_start {
            self.started_s.get_or_insert(now_s);
        }
        self.released_s = (!is_start).then_some(now_s);
    }

    fn operates(&mut self, decision: Decision) {
        if decision.operate {
            if self.phases.is_empty() {
                self.phases_first = decision.phases;
            }
            self.phases = self.phases | decision.phases;
        }
    }
}

fn arrival(stream: usize, number: usize, sample: &Sample, rate: u32, at_s: f64) -> Arrival {
    let raw = |value: f64, unit: f64| {
        let value = (value / unit).round() as i32;
        Raw { value, quality: Quality::GOOD }.to_octets()
    };
    let mut octets = [raw(0.0, 1.0); 8];
    for phase in 0..3 {
        octets[phase] = raw(sample.currents[phase], 1e-3);
        octets[4 + phase] = raw(sample.voltages[phase], 1e-2);
    }
    octets[3] = raw(sample.currents.iter().sum(), 1e-3);
    octets[7] = raw(sample.voltages.iter().sum(), 1e-2);
    let address = MacAddress::default();
    let header = Header {
        destination: address,
        source: address,
        tag: None,
        app_id: 0x4000,
        reserved: [0, 0],
    };
    let asdu = Asdu {
        sv_id: "any",
        dat_set: None,
        smp_cnt: (number as u32 % rate) as u16,
        conf_rev: 1,
        refr_tm: None,
        smp_synch: Synchronisation::Global,
        smp_rate: None,
        channels: Channels::new(&octets),
        smp_mod: None,
        gm_identity: None,
    };
    Arrival::new(stream as u16, SampleTime::from_ns((at_s * 1e9).round() as u64), header, &asdu)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wave::settings;

    #[test]
    fn a_step_has_all_samples_until_now_and_none_of_later() {
        const VOLTAGE: &str =
            "  U: {function: voltage, stream: s, side: over, pick_up: 80 kV, delay: 0 s}\n";
        for (hz, rate) in [(50.0, 4000), (60.0, 4800)] {
            let relay = UnderTest::new(&settings(hz, rate, VOLTAGE), rate).relay;
            let samples = vec![Sample::default(); rate as usize / 4];
            let mut stepper = Stepper::new(&relay, rate, vec![&samples]);
            let mut sent = 0;
            loop {
                let fate = |_, number| {
                    assert_eq!(number, sent, "in order, none twice");
                    sent += 1;
                    Fate::Arrives
                };
                let Some((now_s, _)) = stepper.step(fate, |_| ()) else { break };
                let until_now = (now_s * f64::from(rate) + 1e-6) as usize + 1;
                assert_eq!(sent, until_now.min(samples.len()), "at {now_s} s");
            }
            assert!((samples.len() - sent) * 1000 < rate as usize, "{sent} sent");
        }
    }
}
