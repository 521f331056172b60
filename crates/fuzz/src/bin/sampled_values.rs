//! Sampled values: whatever is accepted is encoded to what is decoded to the same.
#![no_main]

use iec61850::wire::{Asdu, SampledValues};

libfuzzer_sys::fuzz_target!(|frame: &[u8]| {
    let decoded = match SampledValues::decode(frame) {
        Ok(decoded) => decoded,
        Err(error) => return assert!(error.octet <= frame.len() && !error.to_string().is_empty()),
    };
    let asdus: Vec<Asdu<'_>> = decoded.asdus().collect();
    assert_eq!(asdus.len(), decoded.count());
    let mut again = Vec::new();
    SampledValues::encode(&decoded.header, &asdus, &mut again);
    let twice = SampledValues::decode(&again).expect("encoded here");
    assert_eq!(twice.header, decoded.header);
    assert!(twice.asdus().eq(asdus));
});
