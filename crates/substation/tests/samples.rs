//! Samples of a stream with values of one's own, as they come to an engine.

use iec61850::SampleTime;
use iec61850::wire::sampled_values::Channels;
use iec61850::wire::{Asdu, Header, MacAddress, Quality, Sample, Synchronisation};
use substation::engine::Arrival;

/// Samples a second.
pub(crate) const RATE: u32 = 4000;
/// What an ampere is on the wire, and a volt (IEC 61869-9).
pub(crate) const AMPERE: f64 = 1e3;
pub(crate) const VOLT: f64 = 1e2;

/// The time of a sample, in s.
pub(crate) fn seconds(number: u32) -> f64 {
    f64::from(number) / f64::from(RATE)
}

/// A channel with this value.
pub(crate) fn channel(value: f64, quality: Quality) -> [u8; 8] {
    Sample { value: value.round() as i32, quality }.to_octets()
}

/// What a frame with one sample is decoded to.
pub(crate) fn framed<T>(
    number: u32,
    clock: Synchronisation,
    channels: &[[u8; 8]],
    take: impl FnOnce(&Header, &Asdu<'_>) -> T,
) -> T {
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
        channels: Channels::new(channels),
        smp_mod: None,
        gm_identity: None,
    };
    take(&header, &asdu)
}

/// The sample with this number, which comes so many samples `late`.
pub(crate) fn sampled(
    stream: u16,
    (number, late): (u32, u32),
    clock: Synchronisation,
    channels: &[[u8; 8]],
) -> Arrival {
    let at = SampleTime::of_sample((number + late).into(), RATE);
    framed(number, clock, channels, |header, asdu| Arrival::new(stream, at, *header, asdu))
}

/// As [`sampled`], of good quality; currents in A, voltages in V.
pub(crate) fn arrival(
    stream: u16,
    number_and_late: (u32, u32),
    clock: Synchronisation,
    currents_a: [f64; 3],
    voltages_v: [f64; 3],
) -> Arrival {
    let mut channels = [channel(0.0, Quality::GOOD); 8];
    for phase in 0..3 {
        channels[phase] = channel(currents_a[phase] * AMPERE, Quality::GOOD);
        channels[phase + 4] = channel(voltages_v[phase] * VOLT, Quality::GOOD);
    }
    sampled(stream, number_and_late, clock, &channels)
}
