//! Frames that nobody here wrote, decoded as tshark decodes them, encoded again to the same
//! octets; and frames that are wrong on purpose, refused with a reason.
#![expect(clippy::unwrap_used, reason = "a test ends there")]

use std::process::Command;

use iec61850::wire::{Asdu, Data, Form, Goose, Header, SampledValues, Synchronisation, Value};

use crate::malformed;
use crate::support;

/// Lines of a file that `tests/data/tshark.sh` wrote.
fn stored(name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(support::data().join(name)).unwrap();
    text.lines().map(str::to_owned).collect()
}

/// What the tshark of this machine says now; `None` if there is none, or one that writes times and
/// booleans in another way than the one that wrote the files.
fn live(protocol: &str, capture: &str) -> Option<Vec<String>> {
    let version = Command::new("tshark").arg("--version").output().ok()?.stdout;
    if !String::from_utf8_lossy(&version).contains(" 4.0.") {
        return None;
    }
    let mut script = Command::new("bash");
    script.args(["./tshark.sh", protocol, capture]).current_dir(support::data());
    let output = script.env("TZ", "UTC").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect())
}

fn joined<T: ToString>(items: impl IntoIterator<Item = T>) -> String {
    items.into_iter().map(|item| item.to_string()).collect::<Vec<_>>().join(",")
}

fn columns_of_header(header: &Header, frame: &[u8]) -> Vec<String> {
    let tag = |what: fn(iec61850::wire::Tag) -> u16| {
        header.tag.map_or(String::new(), |tag| what(tag).to_string())
    };
    let length = frame.len() - if header.tag.is_some() { 18 } else { 14 };
    vec![
        header.destination.to_string(),
        header.source.to_string(),
        tag(|tag| tag.priority().into()),
        tag(|tag| tag.vlan()),
        format!("{:#06x}", header.app_id),
        length.to_string(),
    ]
}

/// A stamp as tshark writes it.
fn date(time: iec61850::wire::UtcTime) -> String {
    let moment = jiff::Timestamp::from_nanosecond(time.realtime_ns().into()).unwrap();
    moment.strftime("%b %e, %Y %H:%M:%S.%9f UTC").to_string()
}

/// A GOOSE frame as a line of `goose.tsv`.
fn goose_line(frame: &[u8]) -> String {
    let goose = Goose::decode(frame).unwrap();
    let data = || goose.all_data.elements();
    let choice = |value: Data<'_>| match value {
        Data::Boolean(_) => 3,
        Data::BitString(_) => 4,
        Data::Integer(_) => 5,
        Data::Unsigned(_) => 6,
        other => panic!("{other} is in none of the captures"),
    };
    let bits = |value| if let Data::BitString(bits) = value { Some(bits) } else { None };
    let hex = |octets: &[u8]| octets.iter().map(|octet| format!("{octet:02x}")).collect::<String>();
    let mut columns = columns_of_header(&goose.header, frame);
    columns.extend([
        goose.gocb_ref.to_owned(),
        goose.time_allowed_to_live_ms.to_string(),
        goose.dat_set.to_owned(),
        goose.go_id.to_owned(),
        date(goose.t),
        goose.st_num.to_string(),
        goose.sq_num.to_string(),
        u8::from(goose.simulation).to_string(),
        goose.conf_rev.to_string(),
        u8::from(goose.nds_com).to_string(),
        goose.all_data.count().to_string(),
        goose.all_data.count().to_string(),
        joined(data().map(choice)),
        joined(data().filter_map(|value| match value {
            Data::Boolean(value) => Some(u8::from(value)),
            _ => None,
        })),
        joined(data().filter_map(bits).map(|bits| bits.padding())),
        joined(data().filter_map(bits).map(|bits| hex(bits.octets()))),
        joined(data().filter_map(|value| match value {
            Data::Integer(value) => Some(value),
            _ => None,
        })),
        joined(data().filter_map(|value| match value {
            Data::Unsigned(value) => Some(value),
            _ => None,
        })),
    ]);
    columns.join("\t")
}

/// A frame of sampled values as a line of `sampled_values.tsv`.
fn sampled_values_line(frame: &[u8]) -> String {
    let decoded = SampledValues::decode(frame).unwrap();
    let asdus: Vec<Asdu<'_>> = decoded.asdus().collect();
    let samples = || asdus.iter().flat_map(|asdu| asdu.channels.iter());
    let synchronisation = |asdu: &Asdu<'_>| match asdu.smp_synch {
        Synchronisation::Global => 2,
        other => panic!("{other:?} is not in the capture"),
    };
    let mut columns = columns_of_header(&decoded.header, frame);
    columns.extend([
        decoded.count().to_string(),
        joined(asdus.iter().map(|asdu| asdu.sv_id)),
        joined(asdus.iter().map(|asdu| asdu.smp_cnt)),
        joined(asdus.iter().map(|asdu| asdu.conf_rev)),
        joined(asdus.iter().map(synchronisation)),
        joined(samples().map(|sample| sample.value)),
        joined(samples().map(|sample| format!("{:#010x}", sample.quality.0))),
    ]);
    columns.join("\t")
}

/// Fails at the first frame that differs.
fn compare(ours: &[String], theirs: &[String]) {
    assert_eq!(ours.len(), theirs.len());
    for (number, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        assert_eq!(ours, theirs, "frame {}", number + 1);
    }
}

fn goose_frames() -> Vec<Vec<u8>> {
    let mut frames = support::capture("iti_GOOSE.pcap");
    frames.extend(support::capture("iti_Sample_File_GOOSE.pcap"));
    frames
}

#[test]
fn goose_is_decoded_field_by_field_as_tshark_does() {
    let lines: Vec<String> = goose_frames().iter().map(|frame| goose_line(frame)).collect();
    assert_eq!(lines.len(), 8 + 451);
    compare(&lines, &stored("goose.tsv"));
    match live("goose", "iti_Sample_File_GOOSE.pcap") {
        Some(live) => compare(&lines[8..], &live),
        None => println!("not measured: what tshark says now, for there is no tshark 4.0"),
    }
}

#[test]
fn sampled_values_are_decoded_field_by_field_as_tshark_does() {
    let frames = support::capture("sv_9-2le_4800.pcap");
    let lines: Vec<String> = frames[..200].iter().map(|frame| sampled_values_line(frame)).collect();
    compare(&lines, &stored("sampled_values.tsv"));
    match live("sampled_values", "sv_9-2le_4800.pcap") {
        Some(live) => compare(&lines, &live),
        None => println!("not measured: what tshark says now, for there is no tshark 4.0"),
    }
}

#[test]
fn captured_frames_are_encoded_again_to_the_same_octets() {
    let mut again = Vec::new();
    for frame in goose_frames() {
        let goose = Goose::decode(&frame).unwrap();
        // The values as well, not only a copy of their octets.
        let values: Vec<Value> = goose.all_data.elements().map(Data::to_value).collect();
        let mut data = Vec::new();
        Value::encode_all(&values, Form::Ordinary, &mut data);
        assert_eq!(data, goose.all_data.octets());
        again.clear();
        goose.encode(Form::Ordinary, &mut again);
        assert_eq!(again, frame);
    }
    let frames = support::capture("sv_9-2le_4800.pcap");
    assert_eq!(frames.len(), 10_161);
    for frame in frames {
        let decoded = SampledValues::decode(&frame).unwrap();
        let asdus: Vec<Asdu<'_>> = decoded.asdus().collect();
        again.clear();
        SampledValues::encode(&decoded.header, &asdus, &mut again);
        assert_eq!(again, frame);
    }
}

#[test]
fn malformed_frames_are_refused_and_the_reason_names_field_and_octet() {
    let refusals: Vec<String> = malformed::frames_by_name()
        .iter()
        .map(|(name, frame)| format!("{name}: {}", Goose::decode(frame).unwrap_err()))
        .collect();
    assert_eq!(
        refusals,
        [
            "GOOSE_all_data_primitives_fallbacks: Data at octet 157: tag 0x88 is not a type of \
             IEC 61850",
            "GOOSE_malformed_asn1: gocbRef at octet 25: tag 0x80 is expected here, not 0x1f",
            "GOOSE_missing_all_data: allData at octet 125: the field is missing",
            "GOOSE_missing_conf_rev: confRev at octet 116: tag 0x88 is expected here, not 0x89",
            "GOOSE_missing_dataset: datSet at octet 58: tag 0x82 is expected here, not 0x83",
            "GOOSE_missing_go_id: goID at octet 84: tag 0x83 is expected here, not 0x84",
            "GOOSE_missing_gocb_ref: gocbRef at octet 25: tag 0x80 is expected here, not 0x81",
            "GOOSE_missing_num_dat_set_entries: numDatSetEntries at octet 122: tag 0x8a is \
             expected here, not 0xab",
            "GOOSE_missing_timestamp: t at octet 97: tag 0x84 is expected here, not 0x85",
            "GOOSE_truncated: Length at octet 16: 145 octets are needed, 133 are there",
            "GOOSE_unsupported_tlv: allData at octet 125: tag 0xab is expected here, not 0x8c",
        ]
    );
}
