//! A relay under test: ordinary settings, sampled values in the units of 9-2LE, and when each element
//! started and operated. It is the relay's own engine, stepped each millisecond as the program does.

use iec61850::SampleTime;
use iec61850::wire::sampled_values::Channels;
use iec61850::wire::{Asdu, Header, MacAddress, Quality, Sample as Raw, Synchronisation};
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
        let mut engine = Engine::new(&self.relay.protection);
        let mut seen = vec![Seen::default(); self.relay.protection.elements.len()];
        let rate = f64::from(self.rate);
        let mut step = 0u32;
        let mut waiting = Vec::new();
        let mut held_until_s = 0.0f64;
        for number in 0..streams.first().map_or(0, |stream| stream.len()) {
            let time_s = number as f64 / rate;
            for (stream, samples) in streams.iter().enumerate() {
                match fate(stream, number) {
                    Fate::Arrives => {}
                    Fate::Lost => continue,
                    Fate::Late(by_s) => held_until_s = held_until_s.max(time_s + by_s),
                }
                waiting.push((stream, number, &samples[number]));
            }
            while f64::from(step) * 1e-3 <= time_s {
                let now_s = f64::from(step) * 1e-3;
                if now_s >= held_until_s {
                    for (stream, number, sample) in waiting.drain(..) {
                        engine.sample(&arrival(stream, number, sample, self.rate, now_s));
                    }
                }
                let now = SampleTime::from_ns((now_s * 1e9).round() as u64);
                for change in engine.step(now) {
                    match *change {
                        Change::Start(element, is_start) => seen[element].start(is_start, now_s),
                        Change::Operate(element, true) => {
                            seen[element].operated_s.get_or_insert(now_s);
                        }
                        _ => {}
                    }
                }
                step += 1;
            }
        }
        seen
    }
}

impl Seen {
    fn start(&mut self, is_start: bool, now_s: f64) {
        if is_start {
            self.started_s.get_or_insert(now_s);
        }
        self.released_s = (!is_start).then_some(now_s);
    }
}

pub(crate) fn arrival(
    stream: usize,
    number: usize,
    sample: &Sample,
    rate: u32,
    at_s: f64,
) -> Arrival {
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
