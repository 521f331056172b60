//! GOOSE (IEC 61850-8-1, clause 18 and annex A): the state of a data set, repeated until it
//! changes.
//!
//! The decoder takes what the standard calls mandatory to be mandatory, in its order, and `goID`
//! as well, which is optional on the wire: a subscriber knows a publisher by it, and every
//! publisher that is known sends it. `numDatSetEntries` must be right. Simulation and ndsCom may
//! be left out when they are false, and are always written.

use std::fmt;

use super::ber::{Reader, Writer};
use super::data::{AllData, Form};
use super::error::{Fault, WireError};
use super::ethernet::{ETHERTYPE_GOOSE, Header};
use super::utc_time::UtcTime;

/// A decoded message, or one to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Goose<'a> {
    pub header: Header,
    /// Reference of the control block.
    pub gocb_ref: &'a str,
    /// How long a subscriber waits for the next message.
    pub time_allowed_to_live_ms: u32,
    pub dat_set: &'a str,
    /// Name of the message.
    pub go_id: &'a str,
    /// When `st_num` was counted up.
    pub t: UtcTime,
    /// Number of the state, one more at each change.
    pub st_num: u32,
    /// Counts messages since the last change.
    pub sq_num: u32,
    /// Whether a test set made it.
    pub simulation: bool,
    pub conf_rev: u32,
    /// Whether the publisher needs commissioning: its data mean nothing yet.
    pub nds_com: bool,
    /// Values of the data set, in its order.
    pub all_data: AllData<'a>,
}

impl<'a> Goose<'a> {
    /// Decodes a frame, tagged or not.
    ///
    /// # Errors
    /// The first field that is not as it must be.
    pub fn decode(frame: &'a [u8]) -> Result<Self, WireError> {
        let (header, mut pdu) = Header::decode(frame, ETHERTYPE_GOOSE, (0x61, "goosePdu"))?;
        Ok(Self {
            header,
            gocb_ref: pdu.value(0x80, "gocbRef")?.text()?,
            time_allowed_to_live_ms: pdu.value(0x81, "timeAllowedtoLive")?.int32u()?,
            dat_set: pdu.value(0x82, "datSet")?.text()?,
            go_id: pdu.value(0x83, "goID")?.text()?,
            t: UtcTime::from_octets(pdu.value(0x84, "t")?.array()?),
            st_num: pdu.value(0x85, "stNum")?.int32u()?,
            sq_num: pdu.value(0x86, "sqNum")?.int32u()?,
            simulation: pdu.optional(0x87, "simulation")?.map_or(Ok(false), Reader::boolean)?,
            conf_rev: pdu.value(0x88, "confRev")?.int32u()?,
            nds_com: pdu.optional(0x89, "ndsCom")?.map_or(Ok(false), Reader::boolean)?,
            all_data: values(pdu)?,
        })
    }

    /// Appends the frame to `out`; `form` is that of the counters, the values are encoded already.
    ///
    /// # Panics
    /// When the frame would be longer than any Ethernet's.
    pub fn encode(&self, form: Form, out: &mut Vec<u8>) {
        // INT32U in five octets: annex A.3, table A.1.
        let octets_min = if form == Form::FixedLength { 5 } else { 0 };
        let mut writer = Writer::new(out);
        let mark = writer.mark();
        let counter = |writer: &mut Writer<'_>, tag, value: u32| {
            writer.unsigned(tag, value.into(), octets_min);
        };
        writer.field(0xab, self.all_data.octets());
        counter(&mut writer, 0x8a, self.all_data.count());
        writer.boolean(0x89, self.nds_com);
        counter(&mut writer, 0x88, self.conf_rev);
        writer.boolean(0x87, self.simulation);
        counter(&mut writer, 0x86, self.sq_num);
        counter(&mut writer, 0x85, self.st_num);
        writer.field(0x84, &self.t.to_octets());
        writer.field(0x83, self.go_id.as_bytes());
        writer.field(0x82, self.dat_set.as_bytes());
        counter(&mut writer, 0x81, self.time_allowed_to_live_ms);
        writer.field(0x80, self.gocb_ref.as_bytes());
        writer.close(0x61, mark);
        self.header.write(&mut writer, mark, ETHERTYPE_GOOSE);
        writer.finish();
    }
}

/// The values at the end of a PDU, behind their number.
fn values(mut pdu: Reader<'_>) -> Result<AllData<'_>, WireError> {
    let entries = pdu.value(0x8a, "numDatSetEntries")?;
    let stated = entries.int32u()?;
    let all_data = AllData::check(pdu.value(0xab, "allData")?)?;
    pdu.finish()?;
    let found = all_data.count();
    if stated != found {
        return Err(entries.error(Fault::Count { stated, found }));
    }
    Ok(all_data)
}

impl fmt::Display for Goose<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {}, goID {}", self.header, self.gocb_ref, self.go_id)?;
        write!(out, ", stNum {}, sqNum {}, t {}", self.st_num, self.sq_num, self.t)?;
        write!(out, ", live {} ms", self.time_allowed_to_live_ms)?;
        for (name, set) in [("simulation", self.simulation), ("ndsCom", self.nds_com)] {
            if set {
                write!(out, ", {name}")?;
            }
        }
        self.all_data.elements().try_for_each(|value| write!(out, ", {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::data::tests::values;
    use crate::wire::{Data, Tag, Value};
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_again(
            tag in proptest::option::of(any::<u16>()), gocb_ref in "[ -~]{0,129}",
            time_allowed_to_live_ms: u32, dat_set in "[ -~]{0,129}", go_id in "[ -~]{0,129}",
            seconds: u32, quality: u8, st_num: u32, sq_num: u32, simulation: bool, conf_rev: u32,
            nds_com: bool, values in vec(values(), 0..8), fixed: bool,
        ) {
            let form = if fixed { Form::FixedLength } else { Form::Ordinary };
            let mut encoded = Vec::new();
            Value::encode_all(&values, form, &mut encoded);
            let message = Goose {
                header: Header { tag: tag.map(Tag), ..crate::wire::sampled_values::tests::header() },
                gocb_ref: &gocb_ref,
                time_allowed_to_live_ms,
                dat_set: &dat_set,
                go_id: &go_id,
                t: UtcTime { seconds, fraction: 1, quality },
                st_num,
                sq_num,
                simulation,
                conf_rev,
                nds_com,
                all_data: AllData::decode(&encoded).unwrap(),
            };
            let mut frame = vec![0xa5];
            message.encode(form, &mut frame);
            let decoded = Goose::decode(&frame[1..]).unwrap();
            prop_assert_eq!(decoded.st_num, st_num);
            prop_assert_eq!((decoded.header, decoded.t), (message.header, message.t));
            let again: Vec<Value> = decoded.all_data.elements().map(Data::to_value).collect();
            prop_assert_eq!(again, values);
            let mut frame_again = Vec::new();
            decoded.encode(form, &mut frame_again);
            prop_assert_eq!(&frame_again[..], &frame[1..]);
        }
    }
}
