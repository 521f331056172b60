//! Control blocks of reports: who gets them, what they say, and when.

use iec61850::wire::{Value, Width};
use mms::{Client, Identity, Model, Node, Server, Trigger, Type, control_block};
use proptest::prelude::*;

use crate::client::{
    DOMAIN, associated, associated_with, at_ms, read, report, server, server_of, take, unwrapped,
    write, written,
};

const TEMPORARILY_UNAVAILABLE: u8 = 2;
const VALUE_INVALID: u8 = 11;
const BLOCK: &str = "LLN0$RP$urcb01";
/// Reasons: the first bits of six.
const DATA: u8 = 0x40;
const QUALITY: u8 = 0x20;
const INTEGRITY: u8 = 0x08;
const INTERROGATION: u8 = 0x04;

fn number(number: u64) -> Value {
    Value::Unsigned(number, Width::Bits32)
}

/// Writes an attribute of the first block.
fn set(
    server: &mut Server,
    client: Client,
    ms: u64,
    attribute: &str,
    value: &Value,
) -> Result<(), u8> {
    write(server, client, at_ms(ms), &format!("{BLOCK}${attribute}"), value)
}

fn switch(
    server: &mut Server,
    client: Client,
    ms: u64,
    attribute: &str,
    on: bool,
) -> Result<(), u8> {
    set(server, client, ms, attribute, &Value::Boolean(on))
}

fn operate(server: &mut Server, element: &str, on: bool, ms: u64) {
    let slot = server.model().slot(&format!("{element}$ST$Op$general")).unwrap();
    server.update(&[(slot, Value::Boolean(on))], at_ms(ms));
}

/// The reports that came: inclusion, `general` of each member in it, and the reasons.
fn told(server: &mut Server, client: Client, ms: u64) -> Vec<(u8, Vec<bool>, Vec<u8>)> {
    let pdus = unwrapped(&take(server, client, at_ms(ms)));
    pdus.iter().map(|pdu| short(&report(pdu))).collect()
}

fn short(values: &[Value]) -> (u8, Vec<bool>, Vec<u8>) {
    // Behind the options, which have as many bits over.
    let mut six_over = values.iter().filter(|value| matches!(value, Value::BitString(_, 6)));
    let Some(Value::BitString(inclusion, _)) = six_over.nth(1) else { panic!("{values:?}") };
    let general = |value: &Value| match value {
        Value::Structure(parts) => Some(parts[0] == Value::Boolean(true)),
        _ => None,
    };
    let members: Vec<bool> = values.iter().filter_map(general).collect();
    let reasons = values[values.len() - members.len()..].iter().map(|value| match value {
        Value::BitString(octets, 2) => octets[0],
        other => panic!("{other:?}"),
    });
    (inclusion[0], members.clone(), reasons.collect())
}

#[test]
fn an_interrogation_reports_all_and_a_change_what_has_changed() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    operate(&mut server, "A2PTOC1", true, 1);
    assert_eq!(told(&mut server, client, 1), [], "nobody asked");
    assert_eq!(switch(&mut server, client, 2, "GI", true), Err(TEMPORARILY_UNAVAILABLE));
    switch(&mut server, client, 3, "RptEna", true).unwrap();
    assert_eq!(read(&mut server, client, "LLN0$RP$urcb01$Resv"), [0x83, 1, 0xff]);
    // The report follows the answer at once, and `ask` has taken both: so it is enabled before.
    operate(&mut server, "A1PTOC1", true, 4);
    assert_eq!(told(&mut server, client, 4), [(0x80, vec![true], vec![DATA])]);
    operate(&mut server, "A1PTOC1", true, 5);
    assert_eq!(told(&mut server, client, 5), [], "nothing has changed");
    let quality = server.model().slot("A2PTOC1$ST$Op$q").unwrap();
    let time = server.model().slot("A2PTOC1$ST$Op$t").unwrap();
    let invalid = Value::BitString(vec![0x40, 0], 3);
    let stamp = Value::UtcTime(iec61850::wire::UtcTime { seconds: 9, ..Default::default() });
    server.update(&[(quality, invalid), (time, stamp.clone())], at_ms(6));
    assert_eq!(told(&mut server, client, 6), [(0x40, vec![true], vec![QUALITY])]);
    let later = Value::UtcTime(iec61850::wire::UtcTime { seconds: 10, ..Default::default() });
    server.update(&[(time, later)], at_ms(7));
    assert_eq!(told(&mut server, client, 7), [], "time alone is no change");
}

#[test]
fn the_head_of_a_report_says_what_its_options_want() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    // Of all options those that unbuffered reports have: all but overflow, entry and segmentation.
    set(&mut server, client, 0, "OptFlds", &Value::BitString(vec![0x7f, 0xc0], 6)).unwrap();
    set(&mut server, client, 0, "RptID", &Value::VisibleString("mine".to_owned())).unwrap();
    switch(&mut server, client, 0, "RptEna", true).unwrap();
    operate(&mut server, "A1PTOC1", true, 1);
    let pdus = unwrapped(&take(&mut server, client, at_ms(1)));
    let values = report(&pdus[0]);
    assert_eq!(
        values[..6],
        [
            Value::VisibleString("mine".to_owned()),
            Value::BitString(vec![0x7c, 0x80], 6),
            Value::Unsigned(0, Width::Bits8),
            // 2023-11-14 is 14562 days after 1984-01-01; 22:13:20.001.
            Value::BinaryTime([80_000_001u32.to_be_bytes().to_vec(), vec![0x38, 0xe2]].concat()),
            Value::VisibleString("BAYLD0/LLN0$Status".to_owned()),
            Value::Unsigned(1, Width::Bits8),
        ]
    );
    assert_eq!(values[6], Value::BitString(vec![0x80], 6));
    assert_eq!(values[7], Value::VisibleString("BAYLD0/A1PTOC1$ST$Op".to_owned()));
    assert_eq!(values.len(), 10);
    // No option at all.
    switch(&mut server, client, 2, "RptEna", false).unwrap();
    set(&mut server, client, 2, "OptFlds", &Value::BitString(vec![0, 0], 6)).unwrap();
    switch(&mut server, client, 2, "RptEna", true).unwrap();
    operate(&mut server, "A1PTOC1", false, 3);
    let pdus = unwrapped(&take(&mut server, client, at_ms(3)));
    assert_eq!(report(&pdus[0]).len(), 4);
}

#[test]
fn integrity_reports_come_with_their_period() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    assert_eq!(set(&mut server, client, 0, "IntgPd", &number(99)), Err(VALUE_INVALID));
    set(&mut server, client, 0, "IntgPd", &number(500)).unwrap();
    switch(&mut server, client, 0, "RptEna", true).unwrap();
    let all = (0xc0, vec![false, false], vec![INTEGRITY, INTEGRITY]);
    for (ms, expected) in
        [(499, vec![]), (500, vec![all.clone()]), (999, vec![]), (1000, vec![all])]
    {
        server.tick(at_ms(ms));
        assert_eq!(told(&mut server, client, ms), expected, "{ms} ms");
    }
    switch(&mut server, client, 1001, "RptEna", false).unwrap();
    server.tick(at_ms(5000));
    assert_eq!(told(&mut server, client, 5000), []);
}

#[test]
fn changes_are_gathered_for_a_while_and_none_is_lost() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    set(&mut server, client, 0, "BufTm", &number(100)).unwrap();
    switch(&mut server, client, 0, "RptEna", true).unwrap();
    operate(&mut server, "A1PTOC1", true, 10);
    operate(&mut server, "A2PTOC1", true, 50);
    server.tick(at_ms(109));
    assert_eq!(told(&mut server, client, 109), []);
    server.tick(at_ms(110));
    let both = (0xc0, vec![true, true], vec![DATA, DATA]);
    assert_eq!(told(&mut server, client, 110), [both]);
    // A member that changes again while its first change waits: that one goes at once.
    operate(&mut server, "A1PTOC1", false, 200);
    operate(&mut server, "A1PTOC1", true, 210);
    assert_eq!(told(&mut server, client, 210), [(0x80, vec![false], vec![DATA])]);
    server.tick(at_ms(310));
    assert_eq!(told(&mut server, client, 310), [(0x80, vec![true], vec![DATA])]);
}

#[test]
fn a_block_belongs_to_one_client_until_that_leaves() {
    let mut server = server();
    let first = associated(&mut server, at_ms(0));
    let second = associated(&mut server, at_ms(0));
    switch(&mut server, first, 0, "RptEna", true).unwrap();
    for (client, attribute) in [(second, "RptEna"), (second, "Resv"), (first, "Resv")] {
        let refused = switch(&mut server, client, 1, attribute, true);
        assert_eq!(refused, Err(TEMPORARILY_UNAVAILABLE), "{attribute}");
    }
    operate(&mut server, "A1PTOC1", true, 2);
    assert_eq!(told(&mut server, second, 2), []);
    assert_eq!(told(&mut server, first, 2).len(), 1);
    server.disconnect(first);
    assert_eq!(read(&mut server, second, "LLN0$RP$urcb01$RptEna"), [0x83, 1, 0]);
    switch(&mut server, second, 3, "RptEna", true).unwrap();
    operate(&mut server, "A1PTOC1", false, 4);
    assert_eq!(told(&mut server, second, 4).len(), 1);
}

#[test]
fn what_a_client_chose_does_not_outlive_it() {
    let mut server = server();
    let attributes =
        ["RptID", "Resv", "DatSet", "ConfRev", "OptFlds", "BufTm", "SqNum", "TrgOps", "IntgPd"];
    let first = associated(&mut server, at_ms(0));
    let all = |server: &mut Server, client| {
        attributes.map(|attribute| read(server, client, &format!("{BLOCK}${attribute}")))
    };
    let configured = all(&mut server, first);
    let choose = |server: &mut Server, client| {
        for (attribute, value) in [
            ("RptID", Value::VisibleString("mine".to_owned())),
            ("OptFlds", Value::BitString(vec![0, 0], 6)),
            ("TrgOps", Value::BitString(vec![0x0c], 2)),
            ("BufTm", number(1000)),
            ("IntgPd", number(2000)),
            ("DatSet", Value::VisibleString(String::new())),
            ("DatSet", Value::VisibleString("BAYLD0/LLN0$Status".to_owned())),
        ] {
            set(server, client, 0, attribute, &value).unwrap();
        }
        let changed = all(server, client);
        assert!(configured.iter().zip(&changed).filter(|(was, is)| was != is).count() >= 6);
    };
    // It leaves without a reservation in words, and another one gives back what it has.
    choose(&mut server, first);
    switch(&mut server, first, 0, "RptEna", true).unwrap();
    switch(&mut server, first, 0, "GI", true).unwrap();
    let second = associated(&mut server, at_ms(0));
    let foreign = set(&mut server, second, 0, "BufTm", &number(1));
    assert_eq!(foreign, Err(TEMPORARILY_UNAVAILABLE), "it is the first one's");
    server.disconnect(first);
    assert_eq!(all(&mut server, second), configured);
    choose(&mut server, second);
    switch(&mut server, second, 0, "Resv", false).unwrap();
    assert_eq!(all(&mut server, second), configured);
    let third = associated(&mut server, at_ms(0));
    set(&mut server, third, 0, "BufTm", &number(1)).unwrap();
}

#[test]
fn one_client_holds_four_blocks_and_leaves_the_others() {
    let mut server = server();
    let greedy = associated(&mut server, at_ms(0));
    let mut switch = |client, number: u32, attribute, on| {
        let item = format!("LLN0$RP$urcb{number:02}${attribute}");
        write(&mut server, client, at_ms(0), &item, &Value::Boolean(on))
    };
    let mut reserve = |client, number, on| switch(client, number, "Resv", on);
    let taken: Vec<_> = (1..=6).map(|number| reserve(greedy, number, true)).collect();
    let refused = Err(TEMPORARILY_UNAVAILABLE);
    assert_eq!(taken, [Ok(()), Ok(()), Ok(()), Ok(()), refused, refused]);
    reserve(greedy, 2, false).unwrap();
    reserve(greedy, 6, true).unwrap();
    assert_eq!(reserve(greedy, 5, true), refused);
    // What takes no block may be written: clients do so before they begin.
    assert_eq!(reserve(greedy, 5, false), Ok(()));
    assert_eq!(switch(greedy, 5, "RptEna", false), Ok(()));
    assert_eq!(switch(greedy, 5, "RptEna", true), refused);
    let other = associated(&mut server, at_ms(0));
    write(&mut server, other, at_ms(0), "LLN0$RP$urcb05$Resv", &Value::Boolean(true)).unwrap();
}

#[test]
fn another_data_set_is_another_revision_and_one_that_is_not_there_is_refused() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    let text = |text: &str| Value::VisibleString(text.to_owned());
    let other = set(&mut server, client, 0, "DatSet", &text("BAYLD0/LLN0$Other"));
    assert_eq!(other, Err(VALUE_INVALID));
    set(&mut server, client, 0, "DatSet", &text("")).unwrap();
    assert_eq!(read(&mut server, client, "LLN0$RP$urcb01$ConfRev"), [0x86, 1, 2]);
    let without = switch(&mut server, client, 0, "RptEna", true);
    assert_eq!(without, Err(TEMPORARILY_UNAVAILABLE));
    set(&mut server, client, 0, "DatSet", &text("BAYLD0/LLN0$Status")).unwrap();
    switch(&mut server, client, 0, "RptEna", true).unwrap();
    switch(&mut server, client, 0, "GI", true).unwrap();
}

#[test]
fn an_interrogation_comes_behind_the_answer_that_grants_it() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    switch(&mut server, client, 0, "RptEna", true).unwrap();
    let item = format!("{BLOCK}$GI");
    server.receive(client, &written(&item, &Value::Boolean(true)), at_ms(1));
    let pdus = unwrapped(&take(&mut server, client, at_ms(1)));
    assert_eq!(pdus.len(), 2);
    assert_eq!(pdus[0][0], 0xa1);
    let all = (0xc0, vec![false, false], vec![INTERROGATION, INTERROGATION]);
    assert_eq!(short(&report(&pdus[1])), all);
}

#[test]
fn a_report_that_one_pdu_does_not_hold_comes_in_segments() {
    const MEMBERS: usize = 100;
    const OCTETS_MAX: usize = 1024;
    let mut server = server_of(MEMBERS);
    let client = associated_with(&mut server, at_ms(0), OCTETS_MAX as u32);
    switch(&mut server, client, 0, "RptEna", true).unwrap();
    server.receive(client, &written(&format!("{BLOCK}$GI"), &Value::Boolean(true)), at_ms(1));
    let pdus = unwrapped(&take(&mut server, client, at_ms(1)));
    let segments = &pdus[1..];
    let mut included = vec![0; MEMBERS];
    for (place, pdu) in segments.iter().enumerate() {
        assert!(pdu.len() <= OCTETS_MAX, "{}", pdu.len());
        let values = report(pdu);
        let Value::BitString(options, _) = &values[1] else { panic!("{values:?}") };
        assert_eq!(options[1], 0xc0, "revision and segmentation");
        assert_eq!(values[2], Value::Unsigned(0, Width::Bits8), "one report");
        assert_eq!(values[6], Value::Unsigned(place as u64, Width::Bits8));
        assert_eq!(values[7], Value::Boolean(place + 1 < segments.len()));
        let Value::BitString(inclusion, _) = &values[8] else { panic!("{values:?}") };
        for (member, count) in included.iter_mut().enumerate() {
            *count += usize::from(inclusion[member / 8] & (0x80 >> (member % 8)) != 0);
        }
    }
    assert!(segments.len() > 1 && included == [1; MEMBERS], "{included:?}");
}

#[test]
fn a_report_that_no_pdu_holds_takes_no_number() {
    let text = |number: usize| {
        let value = Value::VisibleString("x".repeat(250));
        Node::leaf(format!("d{number}"), Type::VisibleString(255), value, Trigger::Data)
    };
    let small = Node::leaf("s", Type::Boolean, Value::Boolean(false), Trigger::Data);
    let large = Node::structure("L", (0..4).map(text).collect());
    let block = Node::structure("RP", vec![control_block("urcb01")]);
    let set = ("LLN0$Status".to_owned(), vec!["LLN0$L".to_owned(), "LLN0$s".to_owned()]);
    let model =
        Model::new(DOMAIN, vec![Node::structure("LLN0", vec![large, small, block])], vec![set]);
    let block = (BLOCK.to_owned(), "LLN0$Status".to_owned());
    let mut server = Server::new(Identity::default(), model, &[block]);
    let client = associated_with(&mut server, at_ms(0), 1024);
    switch(&mut server, client, 0, "RptEna", true).unwrap();
    let mut numbers = |item, value| {
        let slot = server.model().slot(item).unwrap();
        server.update(&[(slot, value)], at_ms(1));
        let pdus = unwrapped(&take(&mut server, client, at_ms(1)));
        pdus.iter().map(|pdu| report(pdu)[2].clone()).collect::<Vec<_>>()
    };
    assert_eq!(numbers("LLN0$L$d0", Value::VisibleString(String::new())), []);
    assert_eq!(numbers("LLN0$s", Value::Boolean(true)), [Value::Unsigned(0, Width::Bits8)]);
}

proptest! {
    /// Whatever happens in whatever order, a client that put all reports together knows what is there.
    #[test]
    fn reports_put_together_are_the_present_state(
        steps in prop::collection::vec((0usize..2, any::<bool>(), 0u64..60), 1..40),
        buffer_ms in prop::sample::select(vec![0u64, 20, 100]),
    ) {
        let mut server = server();
        let client = associated(&mut server, at_ms(0));
        set(&mut server, client, 0, "BufTm", &number(buffer_ms)).unwrap();
        switch(&mut server, client, 0, "RptEna", true).unwrap();
        let (mut known, mut is, mut changes, mut heard, mut ms) =
            ([false; 2], [false; 2], 0, 0, 0);
        for (element, on, wait) in steps {
            ms += wait;
            operate(&mut server, ["A1PTOC1", "A2PTOC1"][element], on, ms);
            changes += usize::from(is[element] != on);
            is[element] = on;
        }
        server.tick(at_ms(ms + buffer_ms));
        for (inclusion, values, _) in told(&mut server, client, ms) {
            let mut values = values.into_iter();
            for (place, known) in known.iter_mut().enumerate() {
                if inclusion & (0x80 >> place) != 0 {
                    *known = values.next().unwrap();
                    heard += 1;
                }
            }
        }
        prop_assert_eq!((known, heard), (is, changes));
    }
}
