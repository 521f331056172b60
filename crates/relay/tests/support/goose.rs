//! GOOSE as another device sends it.

use iec61850::wire::{AllData, Form, Goose, Header, MacAddress, UtcTime, Value};

/// A frame with these values; `change` makes it another one than that of control block `Q0`.
pub(crate) fn frame(values: &[Value], change: impl FnOnce(&mut Goose<'_>)) -> Vec<u8> {
    let (mut encoded, mut frame) = (Vec::new(), Vec::new());
    Value::encode_all(values, Form::Ordinary, &mut encoded);
    let mut message = Goose {
        header: Header {
            destination: MacAddress([1, 0x0c, 0xcd, 1, 0, 1]),
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            tag: None,
            app_id: 1,
            reserved: [0, 0],
        },
        gocb_ref: "Q0",
        time_allowed_to_live_ms: 2000,
        dat_set: "Q0/LLN0$values",
        go_id: "Q0",
        t: UtcTime::default(),
        st_num: 1,
        sq_num: 0,
        simulation: false,
        conf_rev: 1,
        nds_com: false,
        all_data: AllData::decode(&encoded).expect("it was encoded"),
    };
    change(&mut message);
    message.encode(Form::Ordinary, &mut frame);
    frame
}
