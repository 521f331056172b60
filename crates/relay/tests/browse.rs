//! Clients of IEC 61850-8-1 at a relay: that of libiec61850 browses, reads and is told what happens;
//! hostile ones disturb nobody. Each runs in a process of its own, or as a bare socket.

use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::relay::start;
use crate::support;
use crate::support::feeder::{MergingUnit, RATE};
use crate::support::paced::publish;
use crate::support::running::{Relay, parse};

const PORT: u16 = 1102;
/// What a machine under any load does within.
const PATIENCE: Duration = Duration::from_secs(60);
/// A connect request of transport class 0, and the octets that a confirmation begins with.
const CONNECT: [u8; 11] = [3, 0, 0, 11, 6, 0xe0, 0, 0, 0, 1, 0];
const CONFIRMED: [u8; 6] = [3, 0, 0, 11, 6, 0xd0];

fn settings(records: &str, metrics: &str) -> String {
    format!(
        "relay: bay 1
frequency: 50 Hz
streams:
  s01: {{sv_id: MU01, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: {RATE} Hz, late_max: 20 ms}}
elements:
  I>: {{function: overcurrent, stream: s01, pick_up: 400 A, delay: 100 ms}}
  I>>: {{function: overcurrent, stream: s01, pick_up: 40 kA, delay: 0 ms}}
trips:
  breakers: {{Q0: [I>]}}
subscriptions:
  breaker: {{reference: XCBR/LLN0$GO$gcb01, destination: '01:0c:cd:01:00:02', app_id: 2, conf_rev: 1, entries: [position Q0]}}
host: {{interface: west, records: {records}, metrics: '{metrics}', mms: '127.0.0.1:{PORT}'}}
"
    )
}

/// What goes over the wire, as tshark sees it.
struct Capture {
    tshark: Child,
    folder: tempfile::TempDir,
}

impl Capture {
    /// Nothing where there is no tshark.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = Command::new("tshark");
        command.args(["-i", "lo", "-f", &format!("tcp port {PORT}"), "-w"]);
        command.arg(folder.path().join("mms.pcap")).stdout(Stdio::null()).stderr(Stdio::piped());
        let Ok(mut tshark) = command.spawn() else {
            support::not_measured("what tshark says of MMS", "it is not installed");
            return None;
        };
        let said = BufReader::new(tshark.stderr.take().expect("it is piped"));
        assert!(said.lines().map_while(Result::ok).any(|line| line.contains("Capturing on")));
        Some(Self { tshark, folder })
    }

    /// How many frames pass a filter.
    fn count(&self, filter: &str) -> usize {
        let mut command = Command::new("tshark");
        command.arg("-r").arg(self.folder.path().join("mms.pcap"));
        command.args(["-d", &format!("tcp.port=={PORT},tpkt"), "-Y", filter]);
        let output = command.stderr(Stdio::null()).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).lines().count()
    }

    /// Ends it when a frame that passes this filter is in its file, which lags behind.
    fn end_with(&mut self, filter: &str) {
        let begin = Instant::now();
        while self.count(filter) == 0 && begin.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(50));
        }
        // SAFETY: takes numbers only; the child has not been waited for.
        assert_eq!(unsafe { libc::kill(self.tshark.id() as i32, libc::SIGINT) }, 0);
        self.tshark.wait().expect("it is a child");
    }
}

/// The client of libiec61850, and what it says line by line.
fn client(wanted: &str) -> (Child, impl FnMut() -> Value + use<>) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/libiec61850_client.py");
    let mut command = Command::new("python3");
    command.arg(script).args([&PORT.to_string(), "Status", wanted]);
    let mut child = command.stdout(Stdio::piped()).spawn().expect("python3 starts");
    let mut said = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    (child, move || parse(&said.next().expect("it says something").expect("a text")))
}

#[test]
fn libiec61850_browses_a_relay_and_is_told_of_an_operation() {
    if !support::has("pyiec61850") {
        return;
    }
    let Some((relay, bus)) = start("a client of libiec61850", settings, "600s") else { return };
    let capture = Capture::start();
    let wanted = ["IHPTOC1.Str", "IHPTOC1.Op", "Q0PTRC1.Tr"];
    let wanted = wanted.map(|member| format!("bay_1LD0/{member}[ST]"));
    let (mut client, mut says) = client(&wanted.join(","));

    let found = says();
    assert_eq!(found["identity"], json!(["Quartercycle", "qcrelay"]));
    let nodes: Vec<&String> = found["objects"].as_object().expect("nodes").keys().collect();
    let expected = ["IHHPIOC1", "IHPTOC1", "LLN0", "LPHD1", "Q0CSWI1", "Q0PTRC1", "s01MMXU1"];
    assert_eq!(nodes, expected);
    assert_eq!(found["objects"]["IHPTOC1"]["Str"], json!(["dirGeneral", "general", "q", "t"]));
    assert_eq!(found["objects"]["s01MMXU1"]["A"], json!(["phsA", "phsB", "phsC"]));
    assert_eq!(found["components"], json!(["general", "q", "t"]));
    let values = &found["values"];
    for (name, expected) in [
        ("Mod", json!(1)),
        ("ctlModel", json!(0)),
        ("swRev", json!(env!("CARGO_PKG_VERSION"))),
        ("pickUp", json!(400.0)),
        // Invalid: the second bit, for no sample has come yet.
        ("currentQuality", json!(2)),
        ("enabled", json!(false)),
    ] {
        assert_eq!(values[name], expected, "{name}");
    }
    assert_eq!(values["operated"]["0"], json!(false));
    let refused = found["refused"].as_array().expect("a list");
    assert_eq!(refused.len(), 3, "{refused:?}");
    let denied = |text: &&Value| text.as_str().is_some_and(|text| text.contains("access-denied"));
    assert_eq!(refused.iter().filter(denied).count(), 2, "{refused:?}");

    let unit = MergingUnit::new(1, Some(1.0), 50.0);
    let is_measured = publish(&bus, 3 * RATE, RATE, |number| vec![unit.frame(number)]);
    if !is_measured {
        client.kill().and_then(|()| client.wait()).expect("it is ours");
        return;
    }
    let told = says();
    assert!(client.wait().expect("it is ours").success());
    let reports = told["reports"].as_array().expect("a list");
    // The first is the interrogation, with all members; its reason is 16 there.
    let members = found["members"].as_array().expect("a list").len();
    let entries = |report: &Value| report["entries"].as_object().expect("entries").clone();
    let first = reports.iter().find(|report| entries(report).len() == members).expect("one");
    assert!(entries(first).values().all(|entry| entry["reason"] == json!(16)), "{first}");
    // What the element did came in its order, with the time of the event.
    let mut times = Vec::new();
    for member in &wanted {
        let is_on = |entry: &Value| entry["reason"] == json!(1) && entry["value"][0] == json!(true);
        let entry = reports.iter().find_map(|report| entries(report).remove(member).filter(is_on));
        let entry = entry.unwrap_or_else(|| panic!("{member}: {reports:?}"));
        let value = entry["value"].as_array().expect("a structure");
        assert_eq!(value[value.len() - 2], json!(0), "good quality: {entry}");
        times.push(value[value.len() - 1].as_u64().expect("ms"));
    }
    assert!(times[0] + 90 <= times[1] && times[1] <= times[2], "{times:?}");
    let sequence: Vec<u64> = reports.iter().filter_map(|r| r["sequence"].as_u64()).collect();
    assert!(sequence.iter().zip(0..).all(|(found, expected)| *found == expected), "{sequence:?}");
    assert!(told["read"].as_array().is_some_and(|read| read.len() == members));
    if let Some(mut capture) = capture {
        capture.end_with("tcp.flags.fin == 1 || tcp.flags.reset == 1");
        let faulty = "_ws.malformed || _ws.expert.severity == error";
        let counts = ["mms", faulty].map(|filter| capture.count(filter));
        assert!(counts[0] > 40 && counts[1] == 0, "{counts:?}");
    }
    relay.interrupt();
    let (_, records) = relay.finish();
    let operate_ns = records.iter().find(|record| record["operate"] == json!("I>"));
    let operate_ns = operate_ns.and_then(|record| record["realtime_ns"].as_u64()).expect("it did");
    assert!(times[1].abs_diff(operate_ns / 1_000_000) <= 1, "{times:?}, {operate_ns}");
}

fn connect() -> TcpStream {
    let address = SocketAddr::from(([127, 0, 0, 1], PORT));
    let stream = TcpStream::connect_timeout(&address, PATIENCE).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    stream
}

/// Whether a client gets a connection of the transport layer.
fn is_served(stream: &mut TcpStream) -> bool {
    let mut octets = [0; CONFIRMED.len()];
    stream.write_all(&CONNECT).is_ok()
        && stream.read_exact(&mut octets).is_ok()
        && octets[..6] == CONFIRMED
}

/// Whether the other side closes a connection.
fn is_closed(stream: &mut TcpStream) -> bool {
    // Reads on after an interruption: with a timeout, whoever was stopped and goes on is
    // interrupted too (signal(7)).
    let end = stream.read_to_end(&mut Vec::new());
    end.map_or_else(|error| error.kind() == ErrorKind::ConnectionReset, |_| true)
}

fn relay_alone() -> Option<Relay> {
    start("a client at a socket", settings, "600s").map(|(relay, _)| relay)
}

#[test]
fn one_client_too_many_is_turned_away_and_may_come_when_another_has_left() {
    let Some(relay) = relay_alone() else { return };
    let mut clients: Vec<TcpStream> = (0..20).map(|_| connect()).collect();
    let served: Vec<bool> = clients.iter_mut().map(is_served).collect();
    assert_eq!(served.iter().filter(|served| **served).count(), 8, "{served:?}");
    assert!(clients.iter_mut().zip(&served).all(|(client, served)| *served || is_closed(client)));
    drop(clients);
    let begin = Instant::now();
    while !is_served(&mut connect()) {
        assert!(begin.elapsed() < PATIENCE, "places of those who left are free");
    }
    relay.interrupt();
    relay.finish();
}

#[test]
fn a_client_that_speaks_nonsense_or_nothing_is_cut_off_alone() {
    let Some(relay) = relay_alone() else { return };
    let mut good = connect();
    assert!(is_served(&mut good));
    for octets in [
        &b"GET / HTTP/1.0\r\n\r\n"[..],
        &[3, 0, 0, 0],
        &[3, 0, 0, 7, 200, 0xe0, 0],
        // Data before a connection.
        &[3, 0, 0, 7, 2, 0xf0, 0x80],
    ] {
        let mut hostile = connect();
        hostile.write_all(octets).expect("it is sent");
        assert!(is_closed(&mut hostile), "{octets:?}");
    }
    // Half a packet, and nothing more, is waited for until it is clear that none comes.
    let mut silent = connect();
    silent.write_all(&CONNECT[..5]).expect("it is sent");
    assert!(is_closed(&mut silent));
    // The other one did not associate either in all that time.
    assert!(is_closed(&mut good) && is_served(&mut connect()));
    relay.interrupt();
    relay.finish();
}
