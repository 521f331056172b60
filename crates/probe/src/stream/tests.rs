//! Streams as stories: whole, cut off anywhere, damaged anywhere, and not streams at all.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::{Facts, Plan};

fn header() -> Header {
    Header {
        plan: Plan::default(),
        facts: Facts { kernel_release: "6.1.0-rt".to_owned(), ..Facts::default() },
        began_realtime_ns: 1_700_000_000_000_000_000,
        began_monotonic_ns: 5,
        version: "0.1.0".to_owned(),
    }
}

fn a_stall() -> Stall {
    let ran = Ran {
        tid: 71,
        name: "spinner".to_owned(),
        policy: "FIFO 99".to_owned(),
        kernel: false,
        ran_ns: 5_000_000,
    };
    Stall {
        core: 1,
        at_ns: 1_000_000,
        length_ns: 5_000_300,
        seen_by: Detector::Wakeup,
        cause: Cause::Load,
        who: "spinner".to_owned(),
        evidence: Evidence { run_delay_ns: Some(5_000_000), ran: vec![ran], ..Evidence::default() },
    }
}

fn the_end() -> End {
    End { at_ns: 9, outcome: Outcome::Finished }
}

/// A stream of these samples of thread 1, with a stall in between.
fn stream_of(runs: &[Vec<Sample>]) -> Vec<u8> {
    let mut stream = Writer::new(Vec::new(), &header()).unwrap();
    let mut first = 0;
    for samples in runs {
        stream.samples(1, first, samples).unwrap();
        stream.note(&Note::Stall(a_stall())).unwrap();
        first += samples.len() as u64;
    }
    stream.end(&the_end()).unwrap()
}

fn read(octets: &[u8]) -> Vec<Item> {
    Reader::new(octets).unwrap().collect()
}

fn samples_in(items: &[Item]) -> Vec<Sample> {
    let of = |item: &Item| match item {
        Item::Samples(block) => block.samples.clone(),
        _ => Vec::new(),
    };
    items.iter().flat_map(of).collect()
}

fn a_sample() -> impl Strategy<Value = Sample> {
    // Mostly as they are in life, and sometimes anything.
    let times = prop_oneof![
        9 => (0i64..1 << 50, 0i64..1 << 30),
        1 => any::<(i64, i64)>(),
    ];
    let moment = || prop_oneof![2 => (0i64..1 << 30).prop_map(Some), 1 => Just(None)];
    (times, moment(), moment()).prop_map(|((at_ns, latency_ns), first, second)| Sample {
        at_ns,
        latency_ns,
        stamps: Stamps::within(latency_ns, [first, second]),
    })
}

proptest! {
    #[test]
    fn what_was_written_is_read(runs in vec(vec(a_sample(), 0..40), 0..6)) {
        let octets = stream_of(&runs);
        let items = read(&octets);
        prop_assert_eq!(samples_in(&items), runs.concat());
        prop_assert_eq!(items.last(), Some(&Item::End(the_end())));
        let stall = Item::Note(Box::new(Note::Stall(a_stall())));
        prop_assert_eq!(items.iter().filter(|item| **item == stall).count(), runs.len());
    }

    #[test]
    fn cut_anywhere_it_keeps_all_whole_blocks_and_says_so(
        runs in vec(vec(a_sample(), 1..40), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let octets = stream_of(&runs);
        let at = cut.index(octets.len());
        let Ok(reader) = Reader::new(&octets[..at]) else { return Ok(()) };
        let items: Vec<Item> = reader.collect();
        prop_assert!(matches!(items.last(), Some(Item::Cut(_))));
        let (all, kept) = (read(&octets), items.len() - 1);
        prop_assert_eq!(&items[..kept], &all[..kept]);
    }

    #[test]
    fn a_flipped_bit_is_never_a_sample(
        runs in vec(vec(a_sample(), 1..40), 1..6),
        place in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let mut octets = stream_of(&runs);
        let all = read(&octets);
        let at = place.index(octets.len());
        octets[at] ^= 1 << bit;
        let Ok(reader) = Reader::new(octets.as_slice()) else { return Ok(()) };
        let items: Vec<Item> = reader.collect();
        let kept = items.len() - 1;
        prop_assert!(matches!(items.last(), Some(Item::Cut(_))));
        prop_assert_eq!(&items[..kept], &all[..kept]);
    }

    #[test]
    fn any_octets_are_read_without_harm(octets: Vec<u8>, whole: bool) {
        // Also such as have their checksums right.
        let mut stream = if whole { stream_of(&[]) } else { Vec::new() };
        for tag in [block::Tag::Samples, block::Tag::Note, block::Tag::Header] {
            block::write(&mut stream, tag, &octets).unwrap();
        }
        let _ = Reader::new(stream.as_slice()).map(Iterator::count);
        let _ = Reader::new(octets.as_slice()).map(Iterator::count);
        let _ = samples::decode(&octets);
    }
}

#[test]
fn a_quiet_core_needs_three_octets_a_sample() {
    let samples: Vec<Sample> = (0..100_000)
        .map(|i| Sample {
            at_ns: i * 1_000_000,
            latency_ns: 3_000 + (i * 7919) % 2_000,
            ..Sample::default()
        })
        .collect();
    let octets = stream_of(std::slice::from_ref(&samples));
    assert!(octets.len() < 3 * samples.len() + 4_000, "{} octets", octets.len());
    let items = read(&octets);
    assert_eq!(samples_in(&items), samples);
    let firsts: Vec<u64> = items
        .iter()
        .filter_map(|item| if let Item::Samples(block) = item { Some(block.first) } else { None })
        .collect();
    assert_eq!(firsts[..3], [0, 4096, 8192]);
}

/// A block as it was written before there were moments: thread 1, first 0, three samples.
const WITHOUT_MOMENTS: [u8; 14] =
    [1, 0, 3, 0xe8, 0x07, 0, 0xa0, 0x1f, 0, 0x01, 0xd0, 0x0f, 0x80, 0x10];

#[test]
fn a_block_of_older_streams_is_read_and_written_as_it_was() {
    let sample = |at_ns, latency_ns| Sample { at_ns, latency_ns, ..Sample::default() };
    let samples = vec![sample(0, 2_000), sample(1_000, 1_999), sample(3_000, 3_023)];
    let read = samples::decode(&WITHOUT_MOMENTS);
    assert_eq!(read, Some(Samples { thread: 1, first: 0, samples: samples.clone() }));
    assert_eq!(samples::encode(1, 0, 1_000, &samples), WITHOUT_MOMENTS);
}

#[test]
fn moments_are_columns_behind_the_samples_as_far_as_they_are_known() {
    let octets = |columns: &[u8]| [&WITHOUT_MOMENTS, columns].concat();
    // 100 ns, unknown, 101 ns: each and one more, less the one before.
    let first = [0xca, 0x01, 0xc9, 0x01, 0xcc, 0x01];
    let read = samples::decode(&octets(&first)).unwrap();
    let moments: Vec<_> = read.samples.iter().map(|sample| sample.stamps.get(0)).collect();
    assert_eq!(moments, [Some(100), None, Some(101)]);
    assert!(read.samples.iter().all(|sample| sample.stamps.get(1).is_none()));
    assert_eq!(samples::encode(1, 0, 1_000, &read.samples), octets(&first));
    // A second one is known though the first is not.
    let both = [[0; 3], [0x04, 0, 0]].concat();
    let read = samples::decode(&octets(&both)).unwrap();
    assert_eq!(read.samples[2].stamps.get(1), Some(1));
    assert_eq!(samples::encode(1, 0, 1_000, &read.samples), octets(&both));
    // Too short, one column too many, below zero, above four octets.
    for wrong in [&[2, 0][..], &[0; 9], &[1, 0, 0], &[0x80, 0x80, 0x80, 0x80, 0x40, 0, 0]] {
        assert_eq!(samples::decode(&octets(wrong)), None, "{wrong:?}");
    }
}

#[test]
fn a_split_of_microseconds_takes_two_octets_a_moment() {
    let sample = |i: i64| {
        let latency_ns = 9_000 + (i * 7919) % 2_000;
        let stamps = [Some(1_000 + (i * 31) % 700), Some(2_500 + (i * 7919) % 1_000)];
        let stamps = Stamps::within(latency_ns, stamps);
        Sample { at_ns: i * 1_000_000, latency_ns, stamps }
    };
    let samples: Vec<Sample> = (0..10_000).map(sample).collect();
    let octets = stream_of(std::slice::from_ref(&samples));
    assert!(octets.len() < 7 * samples.len() + 4_000, "{} octets", octets.len());
    assert_eq!(samples_in(&read(&octets)), samples);
}

#[test]
fn what_is_no_stream_is_refused_with_the_reason() {
    let refused = |octets: &[u8]| Reader::new(octets).unwrap_err().to_string();
    assert!(refused(b"").contains("too short"));
    assert!(refused(b"PAR1....").contains("does not begin with `QCS1`"));
    assert!(refused(b"QCS9....").contains("version `QCS9`"));
    assert!(refused(b"QCS1").contains("ends before its head"));
    assert!(refused(b"QCS1Hxxxxxxxxx").contains("octets; at most"));
}
