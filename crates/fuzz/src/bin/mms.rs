//! MMS: whatever a client sends behind an association, in whatever pieces, while time goes on and
//! values change, the server stays bounded and another client is served.
#![no_main]

use std::time::Duration;

use iec61850::wire::Value;
use mms::{Identity, Model, Node, Now, Server, Trigger, Type, control_block};

/// What a client of libiec61850 sends first: connect, and associate with initiate.
const ASSOCIATED: &[u8] = include_bytes!("../../../mms/tests/data/associate");
const WAITING_MAX: usize = 1 << 20;
/// Longer than the shortest period of integrity reports.
const STEP: Duration = Duration::from_millis(150);

fn server() -> Server {
    let leaf = Node::leaf("stVal", Type::Boolean, Value::Boolean(false), Trigger::Data);
    let status = Node::structure("ST", vec![Node::structure("Mod", vec![leaf])]);
    let reports = Node::structure("RP", vec![control_block("urcbStatus01")]);
    let node = Node::structure("LLN0", vec![status, reports]);
    let set = ("LLN0$Status".to_owned(), vec!["LLN0$ST$Mod".to_owned()]);
    let model = Model::new("TESTLD0", vec![node], vec![set]);
    let block = ("LLN0$RP$urcbStatus01".to_owned(), "LLN0$Status".to_owned());
    Server::new(Identity::default(), model, &[block])
}

libfuzzer_sys::fuzz_target!(|octets: &[u8]| {
    let (mut server, mut now) = (server(), Now::default());
    let client = server.connect(now).expect("the first");
    server.receive(client, ASSOCIATED, now);
    assert!(server.takes_more(client), "it is associated");
    let slot = server.model().slot("LLN0$ST$Mod$stVal").expect("it is there");
    // The first octet says how large the pieces are.
    let Some((size, stream)) = octets.split_first() else { return };
    for (number, piece) in stream.chunks(usize::from(*size) + 1).enumerate() {
        server.receive(client, piece, now);
        // Between them the client reads a little, time goes on, and what is reported changes.
        server.sent(client, piece.len().min(server.waiting(client).len()), now);
        now.own += STEP;
        server.update(&[(slot, Value::Boolean(number % 2 == 0))], now);
        server.tick(now);
        assert!(server.waiting(client).len() <= WAITING_MAX);
    }
    server.disconnect(client);
    let other = server.connect(now).expect("there is room");
    server.receive(other, ASSOCIATED, now);
    assert!(server.takes_more(other) && !server.waiting(other).is_empty());
});
