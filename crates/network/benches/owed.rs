//! What looking for unfinished business of kernels costs for each frame: sampled values and
//! datagrams, which have none, and TCP's data with its acknowledgement, alone and while other
//! connections wait as well. And what the answer costs, which is asked for after each round of the network,
//! while frames of a connection are under way.
//!
//! Prints medians over rounds. `--tiny` (and any run by `cargo test`) makes one short round, so that
//! the bench cannot rot.

use std::hint::black_box;
use std::time::Instant;

use network::owed::Owed;
use vtime::{HostSpan, HostTime};

const ACK: u8 = 0x10;

fn ethernet(ethertype: [u8; 2], payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    frame.extend_from_slice(&ethertype);
    frame.extend_from_slice(payload);
    frame
}

/// A packet of IPv4 between two hosts; `back` from the second to the first.
fn packet(protocol: u8, back: bool, inside: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0];
    packet.extend_from_slice(&(20 + inside.len() as u16).to_be_bytes());
    packet.extend_from_slice(&[0, 0, 0x40, 0, 64, protocol, 0, 0]);
    let hosts = if back { [2, 1] } else { [1, 2] };
    hosts.iter().for_each(|&host| packet.extend_from_slice(&[10, 0, 0, host]));
    packet.extend_from_slice(inside);
    ethernet([0x08, 0x00], &packet)
}

/// A segment of the connection from port `port` to port 502.
fn segment(back: bool, port: u16, sequence: u32, acknowledgement: u32, payload: &[u8]) -> Vec<u8> {
    let ports = if back { [502, port] } else { [port, 502] };
    let mut octets: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    octets.extend_from_slice(&sequence.to_be_bytes());
    octets.extend_from_slice(&acknowledgement.to_be_bytes());
    octets.extend_from_slice(&[0x50, ACK, 0xff, 0xff, 0, 0, 0, 0]);
    octets.extend_from_slice(payload);
    packet(6, back, &octets)
}

/// Nanoseconds for each frame that is sent and handed over.
fn time_ns(owed: &mut Owed, frames: &[(usize, Vec<u8>)], count: usize) -> f64 {
    let begin = Instant::now();
    for n in 0..count {
        let now = HostTime::from_ns(n as i64);
        for (from, frame) in frames {
            owed.sent(*from, black_box(frame), now);
            owed.delivered(1 - from, black_box(frame), now);
        }
    }
    begin.elapsed().as_nanos() as f64 / (count * frames.len()) as f64
}

fn main() {
    // `cargo bench` says so; `cargo test` does not.
    let tiny = std::env::args().any(|word| word == "--tiny")
        || !std::env::args().any(|word| word == "--bench");
    let (rounds, count) = if tiny { (1, 10) } else { (101, 2000) };
    let exchange =
        [(0, segment(false, 40_000, 100, 1, &[0; 12])), (1, segment(true, 40_000, 1, 112, &[]))];
    let rows = [
        ("sampled values", 0, vec![(0, ethernet([0x88, 0xba], &[0; 120]))]),
        ("UDP", 0, vec![(0, packet(17, false, &[0; 100]))]),
        ("TCP", 0, exchange.to_vec()),
        ("TCP, 100 others wait", 100, exchange.to_vec()),
        ("TCP, 4000 others wait", 4000, exchange.to_vec()),
    ];
    println!("one frame sent and handed over, {rounds} rounds");
    for (name, others, frames) in rows {
        let mut owed = Owed::default();
        for port in 1..=others {
            owed.sent(0, &segment(false, port, 1, 1, b"waits"), HostTime::ZERO);
        }
        let mut times: Vec<_> = (0..rounds).map(|_| time_ns(&mut owed, &frames, count)).collect();
        times.sort_by(f64::total_cmp);
        let is_owed = owed.owes(HostTime::ZERO + HostSpan::from_s(1)).is_some();
        assert_eq!(is_owed, others > 0);
        println!("{name:24} {:8.1} ns", times[times.len() / 2]);
    }
    println!("one answer, {rounds} rounds");
    for under_way in [0, 1, 10, 1000] {
        let mut owed = Owed::default();
        let frame = segment(false, 40_000, 100, 1, &[0; 1448]);
        owed.sent(0, &frame, HostTime::ZERO);
        let frames = vec![frame; under_way];
        let mut times: Vec<_> = (0..rounds).map(|_| answer_ns(&owed, &frames)).collect();
        times.sort_by(f64::total_cmp);
        println!("{under_way:4} frames under way     {:8.1} ns", times[times.len() / 2]);
    }
}

/// Nanoseconds for an answer beside these frames, in which a flow that waits is under way or not.
fn answer_ns(owed: &Owed, under_way: &[Vec<u8>]) -> f64 {
    const COUNT: usize = 20;
    let begin = Instant::now();
    for _ in 0..COUNT {
        let frames = black_box(under_way).iter().map(Vec::as_slice);
        let is_owed = owed.owes_beside(HostTime::ZERO, frames).is_some();
        assert_eq!(is_owed, under_way.is_empty());
    }
    begin.elapsed().as_nanos() as f64 / COUNT as f64
}
