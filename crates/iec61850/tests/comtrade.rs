//! Fault records in one file and in two, as other programs write them, and damaged ones.

use iec61850::comtrade::{Encoding, Record, Revision};
use proptest::prelude::*;

const CONFIGURATION: &str = "SMARTSTATION,IED123,2013\r\n3,2A,1D\r\n\
    1,IA,A,Line123,A,0.5,1,0,-32768,32767,933,1,s\r\n2,VA,A,Line123,kV,2,0,12.5,-32768,32767,933,1,P\r\n\
    1,51A,,Line123,0\r\n60\r\n1\r\n1200,3\r\n12/01/2011,05:55:30.075011\r\n\
    12/01/2011,05:55:30.078261\r\nASCII\r\n1\r\n-5h30,-5h30\r\nB,3\r\n";
const DATA: &str = "1,0,-83,68,0\r\n2,833,-15,99999,1\r\n3,1667,55,,1\r\n";

/// Binary data in which a line of a combined file occurs.
fn binary(encoding: &str) -> Vec<u8> {
    let mut data = Vec::new();
    for (number, values) in [(1u32, [-83i16, 68]), (2, [-15, 0x0a0d]), (3, [55, i16::MIN])] {
        data.extend(number.to_le_bytes());
        data.extend((number * 833).to_le_bytes());
        for value in values {
            match encoding {
                "BINARY" => data.extend(value.to_le_bytes()),
                "BINARY32" if value == i16::MIN => data.extend(i32::MIN.to_le_bytes()),
                "BINARY32" => data.extend(i32::from(value).to_le_bytes()),
                _ if value == i16::MIN => data.extend(u32::MAX.to_le_bytes()),
                _ => data.extend(f32::from(value).to_le_bytes()),
            }
        }
        data.extend([u8::from(number > 1), 0]);
    }
    data
}

fn combined(configuration: &str, heading: &str, data: &[u8]) -> Vec<u8> {
    let text = format!(
        "--- file type: CFG ---\r\n{configuration}--- file type: INF ---\r\n\r\n\
         --- file type: HDR ---\r\na fault\r\n--- file type: {heading} ---\r\n"
    );
    [text.as_bytes(), data].concat()
}

/// Equal, also where values are missing.
fn assert_same(one: &Record, other: &Record) {
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
}

#[test]
fn a_combined_file_is_the_record_of_its_files() {
    let apart = Record::parse(CONFIGURATION, DATA.as_bytes()).unwrap();
    assert_eq!(apart.configuration.revision, Revision::Of2013);
    assert_eq!(apart.analog[0], [-40.5, -6.5, 28.5]);
    assert!(apart.analog[1][1].is_nan() && apart.analog[1][2].is_nan());
    assert_eq!(apart.configuration.analog[1].skew_us, 12.5);
    let again = |octets: &[u8]| Record::parse_combined(octets).unwrap();
    let written = combined(CONFIGURATION, "DAT ASCII", DATA.as_bytes());
    assert_same(&again(&written), &apart);
    // As others write it: a mark at the begin, lines of Unix, small letters, another order.
    let text = String::from_utf8(written.clone()).unwrap();
    assert_same(&again(&[b"\xef\xbb\xbf", &written[..]].concat()), &apart);
    assert_same(&again(text.replace("\r\n", "\n").to_ascii_lowercase().as_bytes()), &{
        let lower = CONFIGURATION.to_ascii_lowercase();
        Record::parse(&lower, DATA.as_bytes()).unwrap()
    });
    let (begin, data) = text.split_once("--- file type: DAT").unwrap();
    assert_same(&again(format!("--- file type: DAT{data}{begin}").as_bytes()), &apart);
}

#[test]
fn binary_data_of_a_combined_file_are_as_long_as_it_says() {
    for (encoding, expected) in [
        ("BINARY", Encoding::Binary),
        ("BINARY32", Encoding::Binary32),
        ("FLOAT32", Encoding::Float32),
    ] {
        let configuration = CONFIGURATION.replace("ASCII", encoding);
        let data = binary(encoding);
        let apart = Record::parse(&configuration, &data).unwrap();
        assert_eq!(apart.configuration.encoding, expected);
        assert_eq!(apart.analog[0], [-40.5, -6.5, 28.5], "{encoding}");
        assert!(apart.analog[1][2].is_nan(), "{encoding}");
        assert_eq!(apart.digital, [[false, true, true]]);
        let length = data.len();
        for heading in [
            format!("DAT BINARY: {length}"),
            format!("DAT {encoding}: {length}"),
            format!("DAT BINARY:{length:012}"),
            "DAT BINARY".to_owned(),
        ] {
            let file = combined(&configuration, &heading, &data);
            assert_same(&Record::parse_combined(&file).unwrap(), &apart);
        }
        let said = |heading: &str, data: &[u8]| {
            Record::parse_combined(&combined(&configuration, heading, data))
                .unwrap_err()
                .to_string()
        };
        let longer = [&data[..], b"\r\n\x1a"].concat();
        let file = combined(&configuration, &format!("DAT BINARY: {length}"), &longer);
        assert_same(&Record::parse_combined(&file).unwrap(), &apart);
        let cut = said(&format!("DAT BINARY: {}", length + 1), &data);
        assert!(
            cut.contains(&format!("{} octets of data, but {length} follow", length + 1)),
            "{cut}"
        );
        assert!(said("DAT BINARY: x", &data).contains("not a number of octets"));
        assert!(
            said("DAT ASCII", &data)
                .contains("the data are ASCII, but the configuration says binary")
        );
    }
}

#[test]
fn what_is_wrong_with_a_combined_file_is_told_with_its_line() {
    let file = String::from_utf8(combined(CONFIGURATION, "DAT ASCII", DATA.as_bytes())).unwrap();
    let said = |from: &str, to: &str| {
        assert!(file.contains(from), "{from}");
        Record::parse_combined(file.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
    };
    let line = |text: &str| 1 + file[..file.find(text).unwrap()].matches('\n').count();
    assert_eq!(
        said("0.5,", "x,"),
        format!(
            "combined file, line {}: the factor of a channel is not such a number: \"x\"",
            line("1,IA")
        )
    );
    assert_eq!(
        said("2,833,-15", "2,833,y"),
        format!("combined file, line {}: \"y\" is not a number", line("2,833"))
    );
    assert!(said("HDR", "XYZ").contains("part \"xyz\" is not known; known are CFG, INF"));
    assert!(said("HDR", "CFG").contains("a second part CFG"));
    assert!(said("CFG", "INF").contains("there is no part CFG"));
    assert!(said("DAT ASCII", "INF").contains("there is no part DAT"));
    assert!(said("--- file type: CFG ---\r\n", "").contains("line 1: a combined file begins with"));
    assert!(Record::parse_combined(b"").is_err());
}

#[test]
fn years_as_recorders_write_them_are_read() {
    for (year, revision) in [
        ("1991", Revision::Of1991),
        ("1997", Revision::Of1999),
        ("1999", Revision::Of1999),
        ("2000", Revision::Of1999),
        ("2001", Revision::Of1999),
        ("2008", Revision::Of1999),
        ("2013", Revision::Of2013),
        ("2017", Revision::Of2013),
    ] {
        let text = CONFIGURATION.replacen("2013", &format!(" {year} "), 1);
        let record = Record::parse(&text, DATA.as_bytes()).unwrap();
        assert_eq!(record.configuration.revision, revision, "{year}");
    }
    let none = CONFIGURATION.replacen(",2013", "", 1);
    let record = Record::parse(&none, DATA.as_bytes()).unwrap();
    assert_eq!(record.configuration.revision, Revision::Of1991);
    // The end of a file of DOS, and no factor of the stamps.
    let old = CONFIGURATION.replacen("2013", "1999", 1);
    for end in ["ASCII\r\n1\r\n\x1a", "ASCII\r\n\x1a", "ASCII\r\n", "ASCII"] {
        let text = format!("{}{end}", &old[..old.find("ASCII").unwrap()]);
        assert_eq!(Record::parse(&text, DATA.as_bytes()).unwrap().configuration.stamp_us, 1.0);
    }
}

#[test]
fn times_are_those_of_stamps_or_of_all_rates() {
    let with = |rates: &str, factor: &str| {
        let text = CONFIGURATION.replacen("1\r\n1200,3", rates, 1);
        let text = text.replacen("ASCII\r\n1\r\n", &format!("ASCII\r\n{factor}\r\n"), 1);
        Record::parse(&text, DATA.as_bytes()).unwrap().time_s
    };
    let near = |times_s: &[f64], expected: [f64; 3]| {
        times_s.iter().zip(expected).all(|(one, other)| (one - other).abs() < 1e-12)
    };
    assert!(near(&with("0\r\n0,3", "1"), [0.0, 833e-6, 1667e-6]));
    assert!(near(&with("0\r\n0,3", "10"), [0.0, 8330e-6, 16_670e-6]));
    assert!(near(&with("1\r\n1200,3", "10"), [0.0, 1.0 / 1200.0, 2.0 / 1200.0]));
    assert!(near(&with("2\r\n1000,1\r\n100,3", "1"), [0.0, 0.01, 0.02]));
    assert!(near(&with("2\r\n1000,2\r\n100,3", "1"), [0.0, 0.001, 0.011]));
    // More samples than the configuration says go on at the last rate.
    assert!(near(&with("1\r\n1000,1", "1"), [0.0, 0.001, 0.002]));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn cut_and_damaged_records_are_read_or_refused(
        form in 0usize..4, cut in 0.0..1.2f64, damages in prop::collection::vec(
            (0.0..1.0f64, prop_oneof![any::<u8>(), prop::sample::select(b"0189,-.\n:ADe ".to_vec())]), 0..6,
        ),
    ) {
        let encoding = ["ASCII", "BINARY", "BINARY32", "FLOAT32"][form];
        let configuration = CONFIGURATION.replace("ASCII", encoding);
        let data = if form == 0 { DATA.as_bytes().to_vec() } else { binary(encoding) };
        let heading = match form {
            0 => "DAT ASCII".to_owned(),
            _ => format!("DAT BINARY: {}", data.len()),
        };
        let damaged = |octets: &[u8]| {
            let mut octets = octets.to_vec();
            for (place, octet) in &damages {
                let place = (place * octets.len() as f64) as usize;
                octets[place] = *octet;
            }
            octets.truncate((cut * octets.len() as f64) as usize);
            octets
        };
        let check = |read: Result<Record, _>| {
            if let Ok(record) = read {
                let samples = record.time_s.len();
                assert!(record.analog.iter().all(|values| values.len() == samples));
                assert!(record.digital.iter().all(|states| states.len() == samples));
                assert!(record.time_s.iter().all(|time_s| time_s.is_finite()));
            }
        };
        check(Record::parse_combined(&damaged(&combined(&configuration, &heading, &data))));
        check(Record::parse(&String::from_utf8_lossy(&damaged(configuration.as_bytes())), &data));
        check(Record::parse(&configuration, &damaged(&data)));
    }
}
