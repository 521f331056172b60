//! One sample of a stream with values of its own, as it comes to an engine.

use iec61850::SampleTime;
use iec61850::wire::sampled_values::Channels;
use iec61850::wire::{Asdu, Header, MacAddress, Quality, Sample, Synchronisation};
use substation::engine::Arrival;

/// Samples a second.
pub(crate) const RATE: u32 = 4000;

/// The sample with this number, which comes so many samples `late`; currents in A, voltages in V.
pub(crate) fn arrival(
    stream: u16,
    (number, late): (u32, u32),
    clock: Synchronisation,
    currents_a: [f64; 3],
    voltages_v: [f64; 3],
) -> Arrival {
    let mut samples = [Sample { value: 0, quality: Quality::GOOD }.to_octets(); 8];
    for phase in 0..3 {
        for (channel, value) in
            [(phase, currents_a[phase] * 1000.0), (phase + 4, voltages_v[phase] * 100.0)]
        {
            samples[channel] = Sample { value: value as i32, quality: Quality::GOOD }.to_octets();
        }
    }
    let header = Header {
        destination: MacAddress::default(),
        source: MacAddress::default(),
        tag: None,
        app_id: 0x4000,
        reserved: [0, 0],
    };
    let asdu = Asdu {
        sv_id: "any",
        dat_set: None,
        smp_cnt: (number % RATE) as u16,
        conf_rev: 1,
        refr_tm: None,
        smp_synch: clock,
        smp_rate: None,
        channels: Channels::new(&samples),
        smp_mod: None,
        gm_identity: None,
    };
    Arrival::new(stream, SampleTime::of_sample((number + late).into(), RATE), header, &asdu)
}
