//! Captures: whatever is read back is written to what is read back the same, and what makes no sense
//! has a place within the file.
#![no_main]

use network::capture::{Heading, packet, section};
use network::pcapng::{CapturedFrame, Frames};

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let mut frames = Vec::new();
    for read in Frames::new(file) {
        match read {
            Ok(frame) => frames.push(frame),
            Err(damage) => {
                assert!(damage.offset <= file.len() as u64 && !damage.to_string().is_empty());
            }
        }
    }
    // What is written here has a direction, and a time since 1970.
    let written = |frame: &CapturedFrame| frame.heading.is_some() && frame.realtime_ns >= 0;
    frames.retain(written);
    let mut again = section("eth0", "fuzzed");
    for frame in &frames {
        packet(
            &mut again,
            frame.realtime_ns,
            frame.heading.unwrap_or(Heading::Inbound),
            &frame.bytes,
        );
    }
    let reread: Vec<_> =
        Frames::new(&again[..]).map(|frame| frame.expect("written here")).collect();
    assert_eq!(reread, frames);
});
