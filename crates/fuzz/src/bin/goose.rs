//! GOOSE: whatever is accepted is encoded, in both forms, to what is decoded to the same.
#![no_main]

use iec61850::wire::{AllData, Data, Form, Goose, Value};

libfuzzer_sys::fuzz_target!(|frame: &[u8]| {
    let goose = match Goose::decode(frame) {
        Ok(goose) => goose,
        Err(error) => return assert!(error.octet <= frame.len() && !error.to_string().is_empty()),
    };
    // Printed rather than compared: a NaN is not equal to itself.
    let shown = goose.to_string();
    let values: Vec<Value> = goose.all_data.elements().map(Data::to_value).collect();
    for form in [Form::Ordinary, Form::FixedLength] {
        let mut encoded = Vec::new();
        Value::encode_all(&values, form, &mut encoded);
        if encoded.len() > 60_000 {
            continue;
        }
        let all_data = AllData::decode(&encoded).expect("encoded here");
        let mut again = Vec::new();
        Goose { all_data, ..goose }.encode(form, &mut again);
        assert_eq!(Goose::decode(&again).expect("encoded here").to_string(), shown);
    }
});
