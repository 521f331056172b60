//! A merging unit in a thread of a test.

use os::packet::PacketSocket;

/// A publisher that was kept from its work for longer says nothing about a relay.
const LATE_NS_MAX: i64 = 300_000_000;

/// Sends frames at the pace of their numbers; what is late is sent at once. Answers whether this
/// machine let it: after a long silence a relay must begin again.
pub(crate) fn publish(
    bus: &PacketSocket,
    count: u32,
    rate: u32,
    frames: impl Fn(u32) -> Vec<Vec<u8>>,
) -> bool {
    // What the processors of a test have to do beside it may delay it, as they would a device.
    let _refused = os::realtime::fifo(60);
    let begin_ns = os::realtime::now_ns();
    let mut late_ns_max = 0;
    for number in 0..count {
        let frames = frames(number);
        let due_ns = begin_ns + i64::from(number) * 1_000_000_000 / i64::from(rate);
        os::realtime::sleep_until(due_ns);
        late_ns_max = late_ns_max.max(os::realtime::now_ns() - due_ns);
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        assert_eq!(bus.send(&frames).expect("it sends"), frames.len());
    }
    if late_ns_max > LATE_NS_MAX {
        println!("not measured: the publisher itself was {late_ns_max} ns late");
    }
    late_ns_max <= LATE_NS_MAX
}
