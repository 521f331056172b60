//! What each service answers.

use iec61850::wire::{Value, Width};

use crate::client::{
    DOMAIN, RELEASE, ask, associated, at_ms, domain_name, octets, read, server, take, unwrapped,
    wrapped, write,
};

/// Errors of access to a variable.
const DENIED: u8 = 3;
const NOT_THERE: u8 = 10;

fn names(text: &[&str]) -> Vec<u8> {
    let one = |name: &&str| [&[0x1a, name.len() as u8], name.as_bytes()].concat();
    text.iter().flat_map(one).collect()
}

/// A request for names of a class; those of the domain, or of the server.
fn name_list(class: u8, domain: Option<&str>, after: Option<&str>) -> Vec<u8> {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    ask(&mut server, client, now, |writer| {
        if let Some(after) = after {
            writer.field(0x82, after.as_bytes());
        }
        let mark = writer.mark();
        match domain {
            Some(domain) => writer.field(0x81, domain.as_bytes()),
            None => writer.field(0x80, &[]),
        }
        writer.close(0xa1, mark);
        let mark = writer.mark();
        writer.field(0x80, &[class]);
        writer.close(0xa0, mark);
        writer.close(0xa1, writer.begin());
    })
}

#[test]
fn names_are_listed_by_class_in_order_and_continued() {
    let domains = names(&[DOMAIN]);
    assert_eq!(name_list(9, None, None)[4..12], domains);
    let lists = names(&["LLN0$Status"]);
    assert_eq!(name_list(2, Some(DOMAIN), None)[4..17], lists);
    let all = name_list(0, Some(DOMAIN), None);
    let first = names(&["A1PTOC1", "A1PTOC1$ST", "A1PTOC1$ST$Op", "A1PTOC1$ST$Op$general"]);
    assert!(all.windows(first.len()).any(|window| window == first));
    // Behind the last but one there is one; behind one that is not there, what is behind its place.
    let last = name_list(0, Some(DOMAIN), Some("LLN0$ST$Mod"));
    assert_eq!(last[4..], [&names(&["LLN0$ST$Mod$stVal"])[..], &[0x81, 1, 0]].concat());
    let behind = name_list(0, Some(DOMAIN), Some("LLN0$ST$Moc"));
    assert_eq!(behind[4..17], names(&["LLN0$ST$Mod"]));
    // Access: not there; unsupported.
    assert_eq!(name_list(0, Some("OTHER"), None), [0xa2, 5, 0xa0, 3, 0x87, 1, 2]);
    assert_eq!(name_list(5, None, None), [0xa2, 5, 0xa0, 3, 0x87, 1, 1]);
}

#[test]
fn values_are_read_whole_and_in_parts() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    assert_eq!(read(&mut server, client, "LLN0$ST$Mod$stVal"), [0x85, 1, 1]);
    assert_eq!(read(&mut server, client, "LLN0$ST$Mod"), [0xa2, 3, 0x85, 1, 1]);
    let operation = read(&mut server, client, "A1PTOC1$ST$Op");
    assert_eq!(operation[..11], [0xa2, 18, 0x83, 1, 0, 0x84, 3, 3, 0, 0, 0x91]);
    for item in ["LLN0$ST$Nod", "LLN0$ST$Mod$stVal$x", "", "$"] {
        assert_eq!(read(&mut server, client, item), [0x80, 1, NOT_THERE], "{item}");
    }
}

#[test]
fn a_component_is_read_by_alternate_access() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    let answer = ask(&mut server, client, now, |writer| {
        // Mod, and below it stVal.
        let mark = writer.mark();
        writer.field(0x81, b"stVal");
        writer.close(0x30, mark);
        writer.field(0x80, b"Mod");
        writer.close(0xa0, mark);
        writer.close(0xa5, mark);
        let name = writer.mark();
        domain_name(writer, "LLN0$ST");
        writer.close(0xa0, name);
        for tag in [0x30, 0xa0, 0xa1, 0xa4] {
            writer.close(tag, writer.begin());
        }
    });
    assert_eq!(answer, [0xa4, 5, 0xa1, 3, 0x85, 1, 1]);
}

#[test]
fn types_are_described_with_their_components() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    let answer = ask(&mut server, client, now, |writer| {
        domain_name(writer, "LLN0$ST$Mod");
        writer.close(0xa0, writer.begin());
        writer.close(0xa6, writer.begin());
    });
    // Not deletable; a structure of one component, an integer of 8 bits.
    let expected = octets("a617 800100 a212 a210 a10e 300c 8005737456616c a103850108");
    assert_eq!(answer, expected);
}

#[test]
fn data_sets_are_described_and_read_by_name() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    let attributes = |name: &'static str| {
        move |writer: &mut iec61850::wire::ber::Writer<'_>| {
            domain_name(writer, name);
            writer.close(0xac, writer.begin());
        }
    };
    let answer = ask(&mut server, client, now, attributes("LLN0$Status"));
    let member = names(&[DOMAIN, "A2PTOC1$ST$Op"]);
    assert!(answer.windows(member.len()).any(|window| window == member));
    let answer = ask(&mut server, client, now, attributes("LLN0$Other"));
    assert_eq!(answer, [0xa2, 5, 0xa0, 3, 0x87, 1, 2]);
    let answer = ask(&mut server, client, now, |writer| {
        domain_name(writer, "LLN0$Status");
        writer.close(0xa1, writer.begin());
        writer.close(0xa1, writer.begin());
        writer.close(0xa4, writer.begin());
    });
    assert_eq!(answer[..6], [0xa4, 42, 0xa1, 40, 0xa2, 18], "{answer:02x?}");
}

#[test]
fn what_is_read_only_cannot_be_written() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    let value = Value::Integer(3, Width::Bits8);
    for (item, error) in [
        ("LLN0$ST$Mod$stVal", DENIED),
        ("LLN0$ST$Mod", DENIED),
        ("A2PTOC1$ST$Op$general", DENIED),
        ("LLN0$RP$urcb01$SqNum", DENIED),
        ("LLN0$RP$urcb01$ConfRev", DENIED),
        ("LLN0$CO$Mod$Oper", NOT_THERE),
    ] {
        assert_eq!(write(&mut server, client, now, item, &value), Err(error), "{item}");
    }
    assert_eq!(read(&mut server, client, "LLN0$ST$Mod$stVal"), [0x85, 1, 1]);
}

#[test]
fn a_list_is_not_written_and_one_that_is_not_there_is_said_to_be_so() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    let mut write = |list: &str| {
        ask(&mut server, client, now, |writer| {
            let mark = writer.mark();
            writer.boolean(0x83, true);
            writer.close(0xa0, mark);
            let mark = writer.mark();
            domain_name(writer, list);
            writer.close(0xa1, mark);
            writer.close(0xa5, writer.begin());
        })
    };
    assert_eq!(write("LLN0$Status"), [0xa5, 6, 0x80, 1, DENIED, 0x80, 1, DENIED]);
    assert_eq!(write("LLN0$Other"), [0xa2, 5, 0xa0, 3, 0x87, 1, 2]);
}

#[test]
fn services_that_are_not_there_are_rejected_by_their_number() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    // File directory, number 77, takes two octets; a modifier; a read of nothing.
    for (service, reason) in [(0xbf, 1), (0x30, 2), (0xa4, 4)] {
        let answer = ask(&mut server, client, now, |writer| {
            writer.field(service, &[]);
        });
        assert_eq!(answer, [0x81, 1, reason]);
    }
    let mut send = |octets: &[u8]| {
        server.receive(client, &wrapped(|writer| writer.octets(octets)), now);
        unwrapped(&take(&mut server, client, now)).concat()
    };
    assert_eq!(send(&[0x8b, 0]), [0x8c, 0], "conclude");
    assert_eq!(send(&[0x85, 1, 9]), octets("a70a 800109 a105 a003 8a0101"), "cancel");
    assert_eq!(send(&[0x99, 0]), [0xa4, 3, 0x85, 1, 1], "no PDU");
    assert!(!server.is_over(client, now));
}

#[test]
fn a_release_is_answered_and_ends_the_connection() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    server.receive(client, &octets(RELEASE), now);
    let answer = server.waiting(client).to_vec();
    assert_eq!(answer[7], 10, "a disconnect of the session: {answer:02x?}");
    assert!(answer.ends_with(&[0x63, 3, 0x80, 1, 0]), "{answer:02x?}");
    assert!(!server.is_over(client, now), "the answer waits");
    server.sent(client, answer.len(), now);
    assert!(server.is_over(client, now));
}

#[test]
fn an_answer_that_is_too_large_for_the_client_is_an_error() {
    let (mut server, now) = (server(), at_ms(0));
    let client = associated(&mut server, now);
    let entries = 900;
    let answer = ask(&mut server, client, now, |writer| {
        for _ in 0..entries {
            let mark = writer.mark();
            domain_name(writer, "LLN0$RP");
            writer.close(0xa0, mark);
            writer.close(0x30, mark);
        }
        for tag in [0xa0, 0xa1, 0xa4] {
            writer.close(tag, writer.begin());
        }
    });
    assert_eq!(answer, [0xa2, 5, 0xa0, 3, 0x84, 1, 3]);
}
