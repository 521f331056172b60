//! Damaged frames: cut, overwritten, with octets put in and taken out. None makes a decoder
//! panic, and what one accepts is encoded again to something that means the same.
//!
//! The fuzz targets (`make fuzz`) do this for longer and with an eye on what code was reached.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

use iec61850::wire::{Asdu, Data, Form, Goose, SampledValues, Value};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::malformed;
use crate::support;

/// What can be done to a frame.
#[derive(Clone, Debug)]
enum Damage {
    Overwrite(usize, u8),
    Insert(usize, u8),
    Remove(usize),
    Cut(usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    // Octets that mean something here: tags, lengths that are no lengths, limits.
    let octet = prop_oneof![
        any::<u8>(),
        prop::sample::select(vec![0, 1, 0x30, 0x7f, 0x80, 0x81, 0x84, 0x88, 0xa1, 0xa2, 0xff]),
    ];
    let place = || 0usize..260;
    prop_oneof![
        4 => (place(), octet.clone()).prop_map(|(at, octet)| Damage::Overwrite(at, octet)),
        1 => (place(), octet).prop_map(|(at, octet)| Damage::Insert(at, octet)),
        1 => place().prop_map(Damage::Remove),
        1 => place().prop_map(Damage::Cut),
    ]
}

fn apply(frame: &mut Vec<u8>, damage: &Damage) {
    match *damage {
        Damage::Overwrite(at, octet) => {
            if let Some(place) = frame.get_mut(at) {
                *place = octet;
            }
        }
        Damage::Insert(at, octet) => frame.insert(at.min(frame.len()), octet),
        Damage::Remove(at) if at < frame.len() => {
            frame.remove(at);
        }
        Damage::Remove(_) => {}
        Damage::Cut(length) => frame.truncate(length),
    }
}

fn look(frame: &[u8]) {
    let mut again = Vec::new();
    match Goose::decode(frame) {
        Ok(goose) => {
            let values: Vec<Value> = goose.all_data.elements().map(Data::to_value).collect();
            assert_eq!(values.len(), goose.all_data.count() as usize);
            goose.encode(Form::Ordinary, &mut again);
            assert_eq!(Goose::decode(&again).unwrap().to_string(), goose.to_string());
        }
        Err(error) => assert!(error.octet <= frame.len(), "{error}"),
    }
    again.clear();
    match SampledValues::decode(frame) {
        Ok(decoded) => {
            let asdus: Vec<Asdu<'_>> = decoded.asdus().collect();
            SampledValues::encode(&decoded.header, &asdus, &mut again);
            let twice = SampledValues::decode(&again).unwrap();
            assert_eq!(twice.asdus().collect::<Vec<_>>(), asdus);
        }
        Err(error) => assert!(error.octet <= frame.len(), "{error}"),
    }
}

#[test]
fn every_cut_of_a_frame_is_refused() {
    for name in ["iti_GOOSE.pcap", "iti_Sample_File_GOOSE.pcap", "sv_9-2le_4800.pcap"] {
        let frame = &support::capture(name)[0];
        for length in 0..frame.len() {
            assert!(Goose::decode(&frame[..length]).is_err());
            assert!(SampledValues::decode(&frame[..length]).is_err());
        }
    }
}

#[test]
fn no_damage_makes_a_decoder_panic() {
    let mut corpus: Vec<Vec<u8>> =
        malformed::frames_by_name().into_iter().map(|(_, frame)| frame).collect();
    for name in ["iti_GOOSE.pcap", "iti_Sample_File_GOOSE.pcap", "sv_9-2le_4800.pcap"] {
        corpus.extend(support::capture(name).into_iter().take(3));
    }
    let strategy = (prop::sample::select(corpus), vec(damage(), 1..5));
    proptest!(ProptestConfig::with_cases(4_000), |((mut frame, damages) in strategy)| {
        damages.iter().for_each(|damage| apply(&mut frame, damage));
        look(&frame);
    });
}
