//! A merging unit on a feeder, with load and with a fault.

use iec61850::wire::sampled_values::Channels;
use iec61850::wire::{
    Asdu, Header, MacAddress, Quality, Sample, SampledValues, Synchronisation, Tag,
};
use protection::waveform::{Fault, Wave};
use protection::{Complex, Degrees};

pub(crate) const RATE: u32 = 4000;
/// Root mean square value of the current before the fault and in it.
pub(crate) const LOAD_A: f64 = 300.0;
pub(crate) const FAULT_A: f64 = 5000.0;

pub(crate) struct MergingUnit {
    sv_id: String,
    destination: MacAddress,
    waves: [(Wave, Wave); 3],
}

impl MergingUnit {
    /// The unit with this number, on a feeder that has a fault from then on.
    pub(crate) fn new(number: u8, fault_at_s: Option<f64>, frequency_hz: f64) -> Self {
        let waves = [0.0, -120.0, 120.0].map(|turn_deg| {
            let wave = |before, steady, share: f64| Wave {
                frequency_hz,
                before: Complex::polar_deg(before, turn_deg),
                fault: fault_at_s.map(|begin_s| Fault {
                    begin_s,
                    end_s: f64::INFINITY,
                    steady: Complex::polar_deg(steady, turn_deg - 80.0 * share),
                    offset_tau_s: 0.04 * share,
                }),
                harmonics: vec![],
            };
            (wave(LOAD_A, FAULT_A, 1.0), wave(63_500.0, 30_000.0, 0.0))
        });
        let destination = MacAddress([1, 0x0c, 0xcd, 4, 0, number]);
        Self { sv_id: format!("MU{number:02}"), destination, waves }
    }

    pub(crate) fn frame(&self, number: u32) -> Vec<u8> {
        let time_s = f64::from(number) / f64::from(RATE);
        let mut values = [0.0; 8];
        for (phase, (current, voltage)) in self.waves.iter().enumerate() {
            values[phase] = current.value(time_s) * 1e3;
            values[4 + phase] = voltage.value(time_s) * 1e2;
        }
        let channels = values.map(|value| {
            Sample { value: value.round() as i32, quality: Quality::GOOD }.to_octets()
        });
        let header = Header {
            destination: self.destination,
            source: MacAddress([2, 0, 0, 0, 0, 9]),
            tag: Some(Tag::new(4, 0)),
            app_id: 0x4000,
            reserved: [0, 0],
        };
        let asdu = Asdu {
            sv_id: &self.sv_id,
            dat_set: None,
            smp_cnt: (number % RATE) as u16,
            conf_rev: 1,
            refr_tm: None,
            smp_synch: Synchronisation::Global,
            smp_rate: None,
            channels: Channels::new(&channels),
            smp_mod: None,
            gm_identity: None,
        };
        let mut frame = Vec::new();
        SampledValues::encode(&header, &[asdu], &mut frame);
        frame
    }
}
