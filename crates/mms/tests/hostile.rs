//! Clients that send anything, and clients that do not read: none makes the server panic or grow, and
//! none is noticed by another.

use iec61850::wire::Value;
use mms::CLIENTS_MAX;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::client::{
    ASSOCIATE, CONNECT, RELEASE, associated, at_ms, octets, read, server, take, wrapped, write,
    written,
};

/// What may wait for a client.
const WAITING_MAX: usize = 1 << 20;

/// Packets that mean something, whole.
fn packets() -> Vec<Vec<u8>> {
    let read = |writer: &mut iec61850::wire::ber::Writer<'_>| {
        // Of libiec61850: LLN0$ST$Mod of a domain.
        writer.octets(&octets(
            "a026 020107 a421 a11f a01d 301b a019 a117 1a064241594c4430 1a0d4c4c4e30245354244d6f6424",
        ));
    };
    vec![
        octets(CONNECT),
        octets(ASSOCIATE),
        wrapped(read),
        wrapped(|writer| writer.octets(&octets("a00e 020107 a109 a003800109 a1028000"))),
        wrapped(|writer| writer.octets(&octets("a005 020107 8000"))),
        written("LLN0$RP$urcb01$RptEna", &Value::Boolean(true)),
        written("LLN0$RP$urcb01$GI", &Value::Boolean(true)),
        octets(RELEASE),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn damaged_packets_harm_nobody_else(
        order in vec(0usize..8, 1..12),
        damage in vec((0usize..2000, any::<u8>()), 0..6),
        cut in vec(1usize..60, 1..6),
    ) {
        let mut server = server();
        let other = associated(&mut server, at_ms(0));
        let client = server.connect(at_ms(0)).unwrap();
        let packets = packets();
        // An association first, so that much of it is understood.
        let order = [0, 1].into_iter().chain(order);
        let mut stream: Vec<u8> = order.flat_map(|place| packets[place].clone()).collect();
        for (at, octet) in damage {
            let length = stream.len();
            stream[at % length] = octet;
        }
        let mut sizes = cut.into_iter().cycle();
        let mut rest = &stream[..];
        while !rest.is_empty() {
            let (part, behind) = rest.split_at(sizes.next().unwrap().min(rest.len()));
            server.receive(client, part, at_ms(1));
            rest = behind;
        }
        prop_assert!(server.waiting(client).len() < WAITING_MAX);
        server.disconnect(client);
        prop_assert_eq!(read(&mut server, other, "LLN0$ST$Mod$stVal"), [0x85, 1, 1]);
        prop_assert_eq!(read(&mut server, other, "LLN0$RP$urcb01$RptEna"), [0x83, 1, 0]);
    }

    #[test]
    fn noise_is_refused(noise in vec(any::<u8>(), 1..200)) {
        let mut server = server();
        let client = server.connect(at_ms(0)).unwrap();
        server.receive(client, &noise, at_ms(0));
        let is_first = noise[0] == 3;
        prop_assert!(is_first || server.is_over(client, at_ms(0)));
    }

    #[test]
    fn requests_of_noise_are_answered_or_end_the_association(noise in vec(any::<u8>(), 0..100)) {
        let mut server = server();
        let client = associated(&mut server, at_ms(0));
        server.receive(client, &wrapped(|writer| writer.octets(&noise)), at_ms(0));
        take(&mut server, client, at_ms(0));
        server.tick(at_ms(1));
    }
}

#[test]
fn one_connection_too_many_is_not_taken() {
    let mut server = server();
    let clients: Vec<_> = (0..CLIENTS_MAX).filter_map(|_| server.connect(at_ms(0))).collect();
    assert_eq!(clients.len(), CLIENTS_MAX);
    assert_eq!(server.connect(at_ms(0)), None);
    server.disconnect(clients[3]);
    assert_eq!(server.connect(at_ms(0)), Some(clients[3]));
}

#[test]
fn who_does_not_associate_is_cut_off() {
    let mut server = server();
    let silent = server.connect(at_ms(0)).unwrap();
    server.receive(silent, &octets(CONNECT)[..9], at_ms(5));
    let half = server.connect(at_ms(0)).unwrap();
    server.receive(half, &octets(CONNECT), at_ms(5));
    take(&mut server, half, at_ms(5));
    let whole = associated(&mut server, at_ms(5));
    let over = |ms| [silent, half, whole].map(|client| server.is_over(client, at_ms(ms)));
    assert_eq!(over(9_000), [false, false, false]);
    assert_eq!(over(10_006), [true, true, false]);
    assert_eq!(over(10_000_000), [true, true, false], "an association may be silent");
}

#[test]
fn who_asks_and_does_not_read_is_not_answered_further_and_then_cut_off() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    let request = wrapped(|writer| {
        writer.octets(&octets("a016 020107 a111 a003800100 a10a 81064241594c443080008000"));
    });
    let mut asked = 0;
    while server.takes_more(client) {
        server.receive(client, &request, at_ms(1));
        asked += 1;
        assert!(asked < 100_000, "it takes no more at last");
    }
    let waiting = server.waiting(client).len();
    assert!(waiting <= WAITING_MAX, "{waiting}");
    server.sent(client, 0, at_ms(9_000));
    assert!(!server.is_over(client, at_ms(9_000)) && server.is_over(client, at_ms(10_100)));
    // One that reads on, however slowly, gets it all.
    server.sent(client, 100, at_ms(9_000));
    assert!(!server.is_over(client, at_ms(18_000)));
    take(&mut server, client, at_ms(18_000));
    assert!(server.takes_more(client));
}

#[test]
fn who_wants_reports_and_does_not_read_them_is_cut_off() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    write(&mut server, client, at_ms(0), "LLN0$RP$urcb01$RptEna", &Value::Boolean(true)).unwrap();
    let slot = server.model().slot("A1PTOC1$ST$Op$general").unwrap();
    let mut changes = 0;
    let mut waiting_max = 0;
    while !server.is_over(client, at_ms(1)) {
        changes += 1;
        server.update(&[(slot, Value::Boolean(changes % 2 == 1))], at_ms(1));
        waiting_max = waiting_max.max(server.waiting(client).len());
        assert!(changes < 100_000, "it is cut off at last");
    }
    assert!((WAITING_MAX / 2..=WAITING_MAX).contains(&waiting_max), "{waiting_max}");
    assert!(server.waiting(client).is_empty());
}

#[test]
fn who_had_nothing_to_read_has_time_to_read_what_comes() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    write(&mut server, client, at_ms(0), "LLN0$RP$urcb01$RptEna", &Value::Boolean(true)).unwrap();
    let slot = server.model().slot("A1PTOC1$ST$Op$general").unwrap();
    server.update(&[(slot, Value::Boolean(true))], at_ms(60_000));
    assert!(!server.waiting(client).is_empty());
    let over = |ms| server.is_over(client, at_ms(ms));
    assert_eq!([60_001, 69_999, 70_001].map(over), [false, false, true]);
    take(&mut server, client, at_ms(69_999));
    // The answer to a release as well.
    server.receive(client, &octets(RELEASE), at_ms(90_000));
    assert!(!server.waiting(client).is_empty() && !server.is_over(client, at_ms(90_001)));
}

#[test]
fn who_breaks_a_rule_is_told_so_by_an_abort_in_all_layers() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    // A connect request on an association.
    server.receive(client, &octets(CONNECT), at_ms(1));
    // Packet; data; abort of the session with its reason and user data; of the presentation, with its
    // data in the context of ACSE; of the association, by who sends it.
    let expected =
        octets("0300001e 02f080 1915 11010b c110 a00e 610c 300a 020101 a005 6403 800100");
    assert_eq!(server.waiting(client), expected);
}

/// The request to associate, with a called selector of so many octets instead of four.
fn associate_with_selector(count: u8) -> Vec<u8> {
    const SELECTOR: [u8; 6] = [0x82, 4, 0, 0, 0, 1];
    /// Lengths of what the selector is in: packet, session, its user data, CP PPDU, parameters.
    const LENGTHS: [usize; 5] = [3, 8, 30, 33, 41];
    let mut octets = octets(ASSOCIATE);
    let at = octets.windows(6).position(|part| part == SELECTOR).unwrap();
    let selector = [&[0x82, count][..], &vec![7; count.into()]].concat();
    octets.splice(at..at + SELECTOR.len(), selector);
    LENGTHS.into_iter().for_each(|at| octets[at] = octets[at] - 4 + count);
    octets
}

#[test]
fn a_presentation_selector_has_16_octets_at_most() {
    let is_accepted = |selector: u8| {
        let mut server = server();
        let client = server.connect(at_ms(0)).unwrap();
        server.receive(client, &octets(CONNECT), at_ms(0));
        take(&mut server, client, at_ms(0));
        server.receive(client, &associate_with_selector(selector), at_ms(0));
        !take(&mut server, client, at_ms(0)).is_empty()
    };
    assert_eq!([0, 16, 17].map(is_accepted), [true, true, false]);
}

#[test]
fn a_pdu_of_any_length_is_not_joined() {
    let mut server = server();
    let client = associated(&mut server, at_ms(0));
    // Data TPDUs, none of which is the last.
    let mut part = vec![3, 0, 0x10, 7, 2, 0xf0, 0];
    part.resize(0x1007, 0);
    let mut parts = 0;
    while server.takes_more(client) {
        server.receive(client, &part, at_ms(0));
        parts += 1;
        assert!(parts < 100, "it ends at last");
    }
    assert!((15..=17).contains(&parts), "{parts}");
}
