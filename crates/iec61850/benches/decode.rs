//! What decoding one frame of sampled values costs, here and in the crate iec61850-sv: the same
//! captured frames, one decoder and then the other in each round, so that whatever disturbs the
//! machine for longer than a round disturbs both. Every sample of every channel is looked at.
//!
//! Prints medians over rounds and the median of the ratios of the rounds. `--tiny` (and any run
//! by `cargo test`) makes one short round, so that the bench cannot rot.

#[path = "../tests/support/mod.rs"]
mod support;

use std::hint::black_box;
use std::time::Instant;

use iec61850::wire::SampledValues;
use iec61850_sv::{NineTwoLE, SvFrame, decode_sav_pdu};

/// Sum of values and qualities, so that nothing is left out.
fn ours(frame: &[u8]) -> i64 {
    let decoded = SampledValues::decode(frame).expect("the capture is good");
    let asdu = decoded.first();
    asdu.channels.iter().map(|sample| i64::from(sample.value) + i64::from(sample.quality.0)).sum()
}

fn theirs(frame: &[u8]) -> i64 {
    let frame = SvFrame::decode(frame).expect("the capture is good");
    let pdu = decode_sav_pdu(&frame.pdu_bytes).expect("the capture is good");
    let sample = pdu.asdus[0].sample.as_slice().try_into().expect("8 channels");
    let channels = NineTwoLE::from_sample(sample).channels;
    channels.iter().map(|channel| i64::from(channel.value) + i64::from(channel.quality.0)).sum()
}

/// Nanoseconds for each frame.
#[expect(clippy::disallowed_methods, reason = "a bench is where time is measured")]
fn time_ns(frames: &[Vec<u8>], decode: fn(&[u8]) -> i64) -> f64 {
    let begin = Instant::now();
    let sum = frames.iter().fold(0i64, |sum, frame| sum.wrapping_add(decode(black_box(frame))));
    black_box(sum);
    begin.elapsed().as_nanos() as f64 / frames.len() as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    // `cargo bench` says so; `cargo test` does not.
    let tiny = std::env::args().any(|word| word == "--tiny")
        || !std::env::args().any(|word| word == "--bench");
    let frames = support::capture("sv_9-2le_4800.pcap");
    let frames = if tiny { &frames[..100] } else { &frames[..] };
    for frame in frames {
        assert_eq!(ours(frame), theirs(frame));
    }
    let rounds = if tiny { 1 } else { 201 };
    let (mut own, mut foreign, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        let pair = (time_ns(frames, ours), time_ns(frames, theirs));
        own.push(pair.0);
        foreign.push(pair.1);
        ratios.push(pair.1 / pair.0);
    }
    println!("one frame of 9-2LE, 8 samples, {} frames, {rounds} rounds", frames.len());
    println!("iec61850      {:8.1} ns", median(&mut own));
    println!(
        "iec61850-sv   {:8.1} ns, {:.1} times as long",
        median(&mut foreign),
        median(&mut ratios)
    );
}
