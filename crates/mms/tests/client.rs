//! A small device, and a client that knows each layer just as far as tests need it.

use std::time::Duration;

use iec61850::wire::ber::{Reader, Writer};
use iec61850::wire::{AllData, Data, Form, UtcTime, Value, Width};
use mms::{Client, Identity, Model, Node, Now, Server, Trigger, Type, control_block};

/// Connect request, and associate request with initiate, as the client of libiec61850 sends them.
pub(crate) const CONNECT: &str = "0300001611e00000000100c0010dc2020001c1020001";
pub(crate) const ASSOCIATE: &str = "030000bb02f0800db20506130100160102140200023302000134020001c19c\
     318199a003800101a28191810400000001820400000001a423300f0201010604520100013004060251013010020103\
     060528ca220201300406025101615e305c020101a0576055a107060528ca220203a20706052901876701a30302010c\
     a606060429018767a70302010cbe2f282d020103a028a826800300fde881010582010583010aa41680010181030\
     5f100820c03ee1c00000408000079ef18";
/// Its release, in a session PDU that ends it.
pub(crate) const RELEASE: &str = "0300001c02f0800913110102c10e610c300a020101a0056203800100";

pub(crate) const DOMAIN: &str = "BAYLD0";
const BLOCKS: [&str; 6] = ["urcb01", "urcb02", "urcb03", "urcb04", "urcb05", "urcb06"];

pub(crate) fn octets(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks_exact(2).map(octet).collect()
}

fn data_object(name: &str) -> Node {
    let quality = Value::BitString(vec![0, 0], 3);
    Node::structure(
        name,
        vec![
            Node::leaf("general", Type::Boolean, Value::Boolean(false), Trigger::Data),
            Node::leaf("q", Type::BitString(13), quality, Trigger::Quality),
            Node::leaf("t", Type::UtcTime, Value::UtcTime(UtcTime::default()), Trigger::None),
        ],
    )
}

/// A server of a device with two elements and six control blocks.
pub(crate) fn server() -> Server {
    server_of(2)
}

/// The same with so many elements.
pub(crate) fn server_of(elements: usize) -> Server {
    let element = |number: usize| {
        let status = Node::structure("ST", vec![data_object("Op")]);
        Node::structure(format!("A{number}PTOC1"), vec![status])
    };
    let number = Value::Integer(1, Width::Bits8);
    let mode = Node::leaf("stVal", Type::Integer(8), number, Trigger::Data);
    let common = Node::structure(
        "LLN0",
        vec![
            Node::structure("ST", vec![Node::structure("Mod", vec![mode])]),
            Node::structure("RP", BLOCKS.map(control_block).into()),
        ],
    );
    let members = (1..=elements).map(|number| format!("A{number}PTOC1$ST$Op")).collect();
    let nodes = std::iter::once(common).chain((1..=elements).map(element)).collect();
    let model = Model::new(DOMAIN, nodes, vec![("LLN0$Status".to_owned(), members)]);
    let blocks = BLOCKS.map(|name| (format!("LLN0$RP${name}"), "LLN0$Status".to_owned()));
    let identity =
        Identity { vendor: "V".to_owned(), model: "M".to_owned(), revision: "R".to_owned() };
    Server::new(identity, model, &blocks)
}

pub(crate) const fn at_ms(ms: u64) -> Now {
    Now { own: Duration::from_millis(ms), realtime_ns: 1_700_000_000_000_000_000 + ms * 1_000_000 }
}

/// Everything that waits for a client.
pub(crate) fn take(server: &mut Server, client: Client, now: Now) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let waiting = server.waiting(client).to_vec();
        if waiting.is_empty() {
            return all;
        }
        server.sent(client, waiting.len(), now);
        all.extend(waiting);
    }
}

/// A client with an association.
pub(crate) fn associated(server: &mut Server, now: Now) -> Client {
    associated_with(server, now, 65_000)
}

/// The same, which takes PDUs of so many octets.
pub(crate) fn associated_with(server: &mut Server, now: Now, pdu_octets_max: u32) -> Client {
    let client = server.connect(now).unwrap();
    server.receive(client, &octets(CONNECT), now);
    let mut associate = octets(ASSOCIATE);
    let stated = associate.windows(4).position(|part| part == [3, 0, 0xfd, 0xe8]).unwrap();
    associate[stated + 1..stated + 4].copy_from_slice(&pdu_octets_max.to_be_bytes()[1..]);
    server.receive(client, &associate, now);
    let answer = take(server, client, now);
    // The confirmation, and an accepted session.
    assert_eq!((answer[5], answer[22 + 7]), (0xd0, 14), "{answer:02x?}");
    client
}

/// A PDU of MMS in its layers.
pub(crate) fn wrapped(pdu: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
    let mut tsdu = Vec::new();
    let mut writer = Writer::new(&mut tsdu);
    pdu(&mut writer);
    writer.close(0xa0, writer.begin());
    writer.field(2, &[3]);
    writer.close(0x30, writer.begin());
    writer.close(0x61, writer.begin());
    writer.octets(&[1, 0, 1, 0]);
    writer.finish();
    let mut packet = vec![3, 0];
    packet.extend(((tsdu.len() + 7) as u16).to_be_bytes());
    packet.extend([2, 0xf0, 0x80]);
    packet.extend(tsdu);
    packet
}

/// PDUs of MMS in what a server sent.
pub(crate) fn unwrapped(mut stream: &[u8]) -> Vec<Vec<u8>> {
    let (mut pdus, mut tsdu) = (Vec::new(), Vec::new());
    while !stream.is_empty() {
        let length = usize::from(u16::from_be_bytes([stream[2], stream[3]]));
        tsdu.extend(&stream[7..length]);
        if stream[6] == 0x80 {
            let mut outer = Reader::new("", &tsdu[4..], 0);
            let mut list = outer.value(0x61, "").unwrap().value(0x30, "").unwrap();
            list.value(2, "").unwrap();
            pdus.push(list.value(0xa0, "").unwrap().rest().to_vec());
            tsdu.clear();
        }
        stream = &stream[length..];
    }
    pdus
}

/// Sends a confirmed request, and returns what is answered behind its number.
pub(crate) fn ask(
    server: &mut Server,
    client: Client,
    now: Now,
    service: impl FnOnce(&mut Writer<'_>),
) -> Vec<u8> {
    let request = wrapped(|writer| {
        service(writer);
        writer.unsigned(2, 7, 0);
        writer.close(0xa0, writer.begin());
    });
    server.receive(client, &request, now);
    let pdus = unwrapped(&take(server, client, now));
    // Reports that the request led to come behind its answer.
    let answer = pdus.first().unwrap();
    let mut reader = Reader::new("", answer, 0);
    let (tag, mut inner) = (reader.tag().unwrap(), reader.any("").unwrap());
    let number = inner.any("").unwrap();
    assert_eq!(number.rest(), [7], "{tag:02x} {answer:02x?}");
    inner.rest().to_vec()
}

pub(crate) fn domain_name(writer: &mut Writer<'_>, item: &str) {
    let mark = writer.mark();
    writer.field(0x1a, item.as_bytes());
    writer.field(0x1a, DOMAIN.as_bytes());
    writer.close(0xa1, mark);
}

/// A list of one variable, as read and write have it.
fn variable(writer: &mut Writer<'_>, item: &str) {
    let mark = writer.mark();
    domain_name(writer, item);
    writer.close(0xa0, mark);
    writer.close(0x30, mark);
    writer.close(0xa0, mark);
}

/// Reads a variable; what is answered as an access result.
pub(crate) fn read(server: &mut Server, client: Client, item: &str) -> Vec<u8> {
    let answer = ask(server, client, at_ms(0), |writer| {
        variable(writer, item);
        writer.close(0xa1, writer.begin());
        writer.close(0xa4, writer.begin());
    });
    let mut outer = Reader::new("", &answer, 0);
    outer.value(0xa4, "").unwrap().value(0xa1, "").unwrap().rest().to_vec()
}

fn write_request(writer: &mut Writer<'_>, item: &str, value: &Value) {
    let mark = writer.mark();
    value.write(Form::Ordinary, writer);
    writer.close(0xa0, mark);
    variable(writer, item);
    writer.close(0xa5, writer.begin());
}

/// The packet that writes a variable.
pub(crate) fn written(item: &str, value: &Value) -> Vec<u8> {
    wrapped(|writer| {
        write_request(writer, item, value);
        writer.unsigned(2, 7, 0);
        writer.close(0xa0, writer.begin());
    })
}

/// Writes a variable; the error, if it is one.
pub(crate) fn write(
    server: &mut Server,
    client: Client,
    now: Now,
    item: &str,
    value: &Value,
) -> Result<(), u8> {
    match ask(server, client, now, |writer| write_request(writer, item, value))[..] {
        [0xa5, 2, 0x81, 0] => Ok(()),
        [0xa5, 3, 0x80, 1, error] => Err(error),
        ref answer => panic!("{answer:02x?}"),
    }
}

/// Values of a report.
pub(crate) fn report(pdu: &[u8]) -> Vec<Value> {
    let mut outer = Reader::new("", pdu, 0);
    let mut report = outer.value(0xa3, "").unwrap().value(0xa0, "").unwrap();
    assert_eq!(report.value(0xa1, "").unwrap().rest(), [0x80, 3, b'R', b'P', b'T']);
    let values = AllData::decode(report.value(0xa0, "").unwrap().rest()).unwrap();
    values.elements().map(Data::to_value).collect()
}
