//! One frame of a stream as octets.

use iec61850::wire::sampled_values::{ASDUS_MAX, Channels};
use iec61850::wire::{Asdu, Header, MacAddress, SampledValues, Synchronisation};
use substation::settings::merging_unit::PublishedStream;

use super::disturbance::Fate;
use super::generator::Samples;
use super::schedule::Pace;

/// Octets of all channels of a sample.
type Encoded = [[u8; 8]; 8];

pub(crate) fn pace(stream: &PublishedStream) -> Pace {
    Pace { rate: stream.rate, asdus: stream.asdus, phase: stream.phase }
}

/// Writes a frame of a stream into `out`, which it clears; `sample` gives the samples with a number.
pub(crate) fn write(
    stream: &PublishedStream,
    source: MacAddress,
    frame: u64,
    fate: Fate,
    mut sample: impl FnMut(u64) -> Samples,
    out: &mut Vec<u8>,
) {
    let pace = pace(stream);
    let first = pace.first_sample(frame);
    let count = usize::from(stream.asdus);
    let mut encoded = [Encoded::default(); ASDUS_MAX];
    for (encoded, number) in encoded.iter_mut().zip(first..).take(count) {
        *encoded = sample(number).map(|mut sample| {
            sample.quality.0 |= fate.quality.0;
            sample.to_octets()
        });
    }
    let mut asdus = [Asdu {
        sv_id: &stream.key.sv_id,
        dat_set: None,
        smp_cnt: 0,
        conf_rev: stream.conf_rev,
        refr_tm: None,
        smp_synch: if fate.is_unsynchronised {
            Synchronisation::None
        } else {
            stream.synchronisation
        },
        smp_rate: None,
        channels: Channels::new(&encoded[0][..]),
        smp_mod: None,
        gm_identity: None,
    }; ASDUS_MAX];
    for ((asdu, encoded), number) in asdus.iter_mut().zip(&encoded).zip(first..) {
        (asdu.smp_cnt, asdu.channels) = (pace.smp_cnt(number), Channels::new(encoded));
    }
    let header = Header {
        destination: stream.key.destination,
        source,
        tag: stream.tag,
        app_id: stream.key.app_id,
        reserved: [0, 0],
    };
    out.clear();
    SampledValues::encode(&header, &asdus[..count], out);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use iec61850::stream::StreamKey;
    use iec61850::wire::{Quality, Sample, Tag, Validity};

    use super::*;

    fn stream(rate: u16, asdus: u8) -> PublishedStream {
        PublishedStream {
            key: StreamKey {
                destination: MacAddress([1, 0x0c, 0xcd, 4, 0, 1]),
                app_id: 0x4000,
                sv_id: "MU01".into(),
            },
            tag: Some(Tag::new(4, 0)),
            conf_rev: 1,
            rate,
            asdus,
            phase: Duration::ZERO,
            synchronisation: Synchronisation::Global,
            source: "bay".into(),
        }
    }

    /// Samples that tell their number and channel.
    fn counted(number: u64) -> Samples {
        std::array::from_fn(|channel| Sample {
            value: number as i32 * 10 + channel as i32,
            quality: Quality::GOOD,
        })
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (rate, asdus) in [(4000, 1), (4800, 2), (14_400, 6), (12_800, 8)] {
            let stream = stream(rate, asdus);
            let mut out = vec![0xa5; 7];
            let source = MacAddress([2, 0, 0, 0, 0, 1]);
            // The last frame of a second: smpCnt ends at rate - 1.
            let frame = u64::from(rate / u16::from(asdus)) - 1;
            write(&stream, source, frame, Fate::default(), counted, &mut out);
            let decoded = SampledValues::decode(&out).expect("it is a frame");
            assert!((decoded.header.source, decoded.count()) == (source, asdus.into()));
            for (asdu, number) in decoded.asdus().zip(u64::from(rate) - u64::from(asdus)..) {
                assert!(stream.key.matches(&decoded.header, &asdu));
                assert_eq!(u64::from(asdu.smp_cnt), number);
                assert!(asdu.channels.iter().eq(counted(number)));
            }
            write(&stream, source, frame + 1, Fate::default(), counted, &mut out);
            assert_eq!(SampledValues::decode(&out).expect("it is a frame").first().smp_cnt, 0);
        }
    }

    #[test]
    fn a_fate_shows_in_quality_and_clock() {
        let fate = Fate { is_unsynchronised: true, quality: Quality::INVALID, ..Fate::default() };
        let mut out = Vec::new();
        write(&stream(4800, 2), MacAddress::default(), 0, fate, counted, &mut out);
        for asdu in SampledValues::decode(&out).expect("it is a frame").asdus() {
            assert_eq!(asdu.smp_synch, Synchronisation::None);
            assert!(asdu.channels.iter().all(|s| s.quality.validity() == Validity::Invalid));
        }
    }
}
