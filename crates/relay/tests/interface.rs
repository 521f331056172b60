//! What a relay does when its interface goes: it never runs on in silence.

use serde_json::Value;

use crate::support;
use crate::support::running::Relay;

/// A relay on the west end of a cable, and of another for GOOSE.
fn start(of_what: &str, interface_down: &str) -> Option<Relay> {
    if !support::cable(of_what) {
        return None;
    }
    assert!(support::ip("link set dev lo up"));
    assert!(support::ip("link add name station type veth peer name other"));
    assert!(support::ip("link set dev station up") && support::ip("link set dev other up"));
    let settings = |records: &str, metrics: &str| {
        format!(
            "relay: bay\nfrequency: 50 Hz\nstreams:\n  s: {{sv_id: S, destination: \
             '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}\nhost:\n  interface: west\n  \
             station_interface: station\n  interface_down: {interface_down}\n  records: {records}\n  \
             metrics: '{metrics}'\n"
        )
    };
    let mut relay = Relay::start(settings, "600s");
    for interface in ["west", "station"] {
        assert!(relay.wait_until(&up(interface, 1)), "{interface} is up");
    }
    Some(relay)
}

fn up(interface: &str, value: u8) -> String {
    format!("qcrelay_interface_up{{interface=\"{interface}\"}} {value}")
}

/// How it ended, what it said of that, and the states of an interface that it recorded.
fn end(relay: Relay, interface: &str) -> (Option<i32>, String, Vec<String>) {
    let (output, records) = relay.end();
    let of_interface = |line: &&Value| line["interface"] == interface;
    let states = records.iter().filter(of_interface).map(|line| line["state"].to_string());
    let states = states.map(|state| state.trim_matches('"').to_owned()).collect();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), states)
}

#[test]
fn an_interface_that_goes_down_is_an_alarm_and_comes_again() {
    let Some(mut relay) = start("an interface that goes down and comes again", "alarm") else {
        return;
    };
    assert!(support::ip("link set dev west down"));
    assert!(relay.wait_until(&up("west", 0)));
    assert!(support::ip("link set dev west up"));
    assert!(relay.wait_until(&up("west", 1)));
    // The other end: the cable is out.
    assert!(support::ip("link set dev east down"));
    assert!(relay.wait_until(&up("west", 0)));
    relay.interrupt();
    let (code, _, states) = end(relay, "west");
    assert_eq!(code, Some(130));
    // Between down and up it may be seen while its carrier is not there yet.
    let mut states = states.iter().map(String::as_str);
    assert_eq!((states.next(), states.next()), (Some("up"), Some("down")), "{states:?}");
    assert!(states.any(|state| state == "up") && states.next_back() == Some("no carrier"));
}

#[test]
fn an_interface_that_goes_down_ends_it_where_settings_say_so() {
    for (interface, command, state) in [
        ("west", "link set dev west down", "down"),
        ("station", "link set dev other down", "no carrier"),
    ] {
        let Some(relay) = start("an interface that goes down", "end") else { return };
        assert!(support::ip(command));
        let (code, said, states) = end(relay, interface);
        assert_eq!(code, Some(12), "{said}");
        assert!(said.contains(&format!("interface {interface} is {state}: fix it")), "{said}");
        assert_eq!(states, ["up", state]);
    }
}

#[test]
fn an_interface_that_is_deleted_ends_it_whatever_settings_say() {
    for interface in ["west", "station"] {
        let Some(relay) = start("an interface that is deleted", "alarm") else { return };
        assert!(support::ip(&format!("link del dev {interface}")));
        let (code, said, states) = end(relay, interface);
        assert_eq!(code, Some(12), "{said}");
        assert!(said.contains(&format!("interface {interface} has disappeared")), "{said}");
        assert_eq!(states.last().map(String::as_str), Some("gone"));
    }
}
