//! A process bus in each wiring: frames arrive at every relay, macvlan has its cutoff, programs
//! are hosted, and nothing is left on the host.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use iec61850::wire::MacAddress;
use iec61850::wire::ethernet::ETHERTYPE_SAMPLED_VALUES;
use os::link_kind::link_kind;
use os::link_kind::{CUTOFF_AT_ONCE, LinkKind};
use os::packet::{Batch, PacketSocket, wait};
use os::process_bus::{INTERFACE, ProcessBus, Wiring};

use crate::common::guests::QCYCLE;
use crate::common::machine::alone;

const GROUP: MacAddress = MacAddress([1, 0x0c, 0xcd, 4, 0, 1]);

/// A bus, unless this host has none.
fn lay(wiring: Wiring, relays: usize) -> Option<ProcessBus> {
    match ProcessBus::lay(wiring, relays) {
        Ok(bus) => Some(bus),
        Err(error) => {
            println!("{wiring:?}: not measured: {error:#}");
            None
        }
    }
}

fn interfaces() -> BTreeSet<String> {
    let entries = std::fs::read_dir("/sys/class/net").expect("it is there");
    entries.map(|entry| entry.expect("it is read").file_name().to_string_lossy().into()).collect()
}

#[test]
fn frames_arrive_at_every_relay_in_order() {
    alone();
    let before = interfaces();
    for (wiring, relays) in [(Wiring::Veth, 1), (Wiring::Bridge, 2), (Wiring::Macvlan, 2)] {
        let Some(bus) = lay(wiring, relays) else { continue };
        let open = || Ok(PacketSocket::open(INTERFACE, ETHERTYPE_SAMPLED_VALUES)?);
        let publisher = bus.publisher.run(open).expect("it opens");
        let receivers: Vec<PacketSocket> =
            bus.relays.iter().map(|relay| relay.run(open).expect("it opens")).collect();
        receivers.iter().for_each(|receiver| receiver.join(GROUP.0).expect("it joins"));
        let frames: Vec<Vec<u8>> = (0..1000_u16)
            .map(|number| {
                let type_octets = ETHERTYPE_SAMPLED_VALUES.to_be_bytes();
                let mut frame = [&GROUP.0[..], &publisher.address(), &type_octets].concat();
                frame.extend(number.to_be_bytes());
                frame.resize(200, 0xa5);
                frame
            })
            .collect();
        let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
        assert_eq!(publisher.send(&frames).expect("it sends"), frames.len());
        for receiver in &receivers {
            let (mut came, mut batch) = (Vec::new(), Batch::new(64));
            while came.len() < 1000 && wait(&[receiver], Duration::from_secs(5)).expect("it waits")
            {
                receiver.receive(&mut batch).expect("it receives");
                came.extend(batch.frames().map(|frame| [frame.octets[14], frame.octets[15]]));
            }
            assert!(came.into_iter().map(u16::from_be_bytes).eq(0..1000), "{wiring:?}");
        }
    }
    assert_eq!(interfaces(), before);
}

#[test]
fn macvlan_hands_multicast_over_at_once() {
    alone();
    let Some(bus) = lay(Wiring::Macvlan, 1) else { return };
    let kind = bus.relays[0].run(|| link_kind(INTERFACE)).expect("it is there");
    assert_eq!(kind, LinkKind::Macvlan { cutoff: Some(CUTOFF_AT_ONCE) });
}

#[test]
fn a_program_sees_the_bus_and_nothing_else() {
    alone();
    let Some(bus) = lay(Wiring::Veth, 1) else { return };
    for end in [&bus.publisher, &bus.relays[0]] {
        let mut command = Command::new("cat");
        end.host(command.arg("/proc/self/net/dev")).expect("it is hosted");
        let output = command.output().expect("it runs");
        let table = String::from_utf8_lossy(&output.stdout).into_owned();
        let seen: Vec<&str> =
            table.lines().skip(2).filter_map(|line| line.trim().split(':').next()).collect();
        assert!(seen.contains(&INTERFACE), "{table}");
        assert!(seen.iter().all(|name| [INTERFACE, "lo"].contains(name)), "{table}");
    }
}

#[test]
fn a_cable_has_two_ends() {
    alone();
    let error = ProcessBus::lay(Wiring::Veth, 2).expect_err("it has no third");
    assert!(error.to_string().contains("takes one"), "{error}");
}

#[test]
fn programs_of_a_bus_run_and_their_failure_is_told() {
    alone();
    if lay(Wiring::Bridge, 2).is_none() {
        return;
    }
    let run = |publisher: &str| {
        let mut command = Command::new(QCYCLE);
        command.args(["bus", "--wiring", "bridge", "--publisher", publisher]);
        command.args(["--relay", "grep bus0 /proc/self/net/dev", "--relay", "true"]);
        command.output().expect("it runs")
    };
    let output = run("true");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 1);
    let output = run("cd / && echo one; echo two");
    let text = String::from_utf8_lossy(&output.stdout);
    // A relay of the bus prints in between.
    assert!(["one", "two"].iter().all(|line| text.lines().any(|one| one == *line)), "{text}");
    let output = run("true && false");
    assert_eq!(output.status.code(), Some(12));
    assert!(String::from_utf8_lossy(&output.stderr).contains("false"));
}
