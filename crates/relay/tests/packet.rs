//! Frames over a cable: whole, in order, stamped, tagged or not, and of one kind only.

use std::time::Duration;

use iec61850::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use os::packet::{Batch, FRAME_OCTETS_MAX, HardwareAddress, PacketSocket, wait};

use crate::support;

const GROUP: HardwareAddress = [1, 0x0c, 0xcd, 4, 0, 1];

fn frame(from: HardwareAddress, tag: Option<u16>, ethertype: u16, number: u16) -> Vec<u8> {
    let mut frame = [GROUP, from].concat();
    if let Some(tag) = tag {
        frame.extend([0x81, 0x00]);
        frame.extend(tag.to_be_bytes());
    }
    frame.extend(ethertype.to_be_bytes());
    frame.extend(number.to_be_bytes());
    frame.resize(118, 0xa5);
    frame
}

/// Number and stamp of each frame that came, in order.
fn drain(socket: &PacketSocket, expected: usize) -> Vec<(u16, i64)> {
    let mut batch = Batch::new(64);
    let mut came = Vec::new();
    while came.len() < expected && wait(&[socket], Duration::from_secs(5)).expect("it waits") {
        socket.receive(&mut batch).expect("it receives");
        came.extend(batch.frames().map(|frame| {
            assert!(!frame.is_cut);
            let number = u16::from_be_bytes([frame.octets[14], frame.octets[15]]);
            (number, frame.received_realtime_ns)
        }));
    }
    assert_eq!(socket.receive(&mut batch).expect("it receives"), 0, "nothing else came");
    came
}

fn since_1970_ns() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("it is later than 1970").as_nanos() as i64
}

#[test]
fn a_burst_arrives_whole_in_order_and_stamped_while_nobody_looks() {
    if !support::cable("a burst over a cable") {
        return;
    }
    let from = PacketSocket::open("east", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    let to = PacketSocket::open("west", ETHERTYPE_SAMPLED_VALUES).expect("it opens");
    to.join(GROUP).expect("it joins");
    let begin_ns = since_1970_ns();
    // A tenth of a second of twenty streams, which nobody takes meanwhile.
    let frames: Vec<Vec<u8>> =
        (0..9600).map(|n| frame(from.address(), None, ETHERTYPE_SAMPLED_VALUES, n)).collect();
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    assert_eq!(from.send(&frames).expect("it sends"), frames.len());
    let came = drain(&to, frames.len());
    assert!(came.iter().map(|(number, _)| *number).eq(0..9600));
    let stamps: Vec<i64> = came.iter().map(|(_, stamp)| *stamp).collect();
    assert!(stamps.is_sorted() && stamps[0] >= begin_ns && stamps[9599] <= since_1970_ns());
    let counters = to.kernel_counters().expect("it counts");
    assert_eq!((counters.frames, counters.dropped), (9600, 0));
    assert!(to.receive_buffer_octets() > 16 << 20);
}

#[test]
fn tagged_frames_come_too_and_others_do_not() {
    if !support::cable("tagged frames over a cable") {
        return;
    }
    let from = PacketSocket::open("east", ETHERTYPE_GOOSE).expect("it opens");
    let to = PacketSocket::open("west", ETHERTYPE_GOOSE).expect("it opens");
    to.join_all().expect("it joins");
    let tags = [None, Some(0x8000), Some(0x8005)];
    let mut frames = vec![frame(from.address(), None, ETHERTYPE_SAMPLED_VALUES, 9)];
    frames.extend(
        tags.iter().zip(0..).map(|(tag, n)| frame(from.address(), *tag, ETHERTYPE_GOOSE, n)),
    );
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    assert_eq!(from.send(&frames).expect("it sends"), 4);
    assert!(drain(&to, 3).iter().map(|(number, _)| *number).eq(0..3));
    // What this end sent does not come back to it.
    assert_eq!(from.receive(&mut Batch::new(8)).expect("it receives"), 0);
}

#[test]
fn an_interface_that_is_not_there_is_refused_by_its_number() {
    if !support::cable("an interface that is not there") {
        return;
    }
    let error = PacketSocket::open("nowhere", ETHERTYPE_GOOSE).expect_err("there is none");
    assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
}

#[test]
fn a_frame_beyond_the_room_for_it_is_cut_and_says_so() {
    if !support::cable("a long frame over a cable") {
        return;
    }
    for end in ["east", "west"] {
        assert!(support::ip(&format!("link set dev {end} mtu 9000")));
    }
    let from = PacketSocket::open("east", ETHERTYPE_GOOSE).expect("it opens");
    let to = PacketSocket::open("west", ETHERTYPE_GOOSE).expect("it opens");
    let mut long = frame(from.address(), None, ETHERTYPE_GOOSE, 0);
    long.resize(4000, 0);
    assert_eq!(from.send(&[&long]).expect("it sends"), 1);
    let mut batch = Batch::new(2);
    assert!(wait(&[&to], Duration::from_secs(5)).expect("it waits"));
    assert_eq!(to.receive(&mut batch).expect("it receives"), 1);
    let cut = batch.frames().next().expect("one came");
    assert!(cut.is_cut && cut.octets.len() == FRAME_OCTETS_MAX);
}
