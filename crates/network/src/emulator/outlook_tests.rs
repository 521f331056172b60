//! What the outlook shows while frames come and go: never less than what was sent.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::UnixDatagram;
use std::time::{Duration, Instant};

use super::harness::*;
use super::*;
use crate::outlook::Quiet;
use crate::owed::Reason;
use crate::tcp_settings::avoid_timers_here;
use domain::Start;
use vtime::HostSpan;

/// alice and bob, linked to each other.
fn pair(delay_ms: i64) -> Plan {
    let links = [link("alice", "bob", VirtualSpan::from_ms(delay_ms))];
    Plan::of(&[node(0, "alice"), node(1, "bob")], &[], &[], &links, &[]).unwrap()
}

/// The first quiet moment from now on.
fn quiet(outlook: &Outlook, domain: &Domain) -> Quiet {
    let begun = Instant::now();
    loop {
        if let Some(quiet) = outlook.look(domain.now(), host_now()) {
            return quiet;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "the network is never quiet");
        thread::yield_now();
    }
}

/// A segment of TCP from alice to bob.
fn segment(flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x02; 12];
    frame.extend_from_slice(&[0x08, 0x00, 0x45, 0]);
    frame.extend_from_slice(&u16::try_from(40 + payload.len()).unwrap().to_be_bytes());
    frame.extend_from_slice(&[0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend_from_slice(&[0x0f, 0xa0, 0x01, 0xf6, 0, 0, 0, 100, 0, 0, 0, 1]);
    frame.extend_from_slice(&[0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    frame.extend_from_slice(payload);
    frame
}

/// Data is owed from when it was written to when the connection was reset, whatever the network's
/// thread is about to do.
fn domain_that_jumps() -> Arc<Domain> {
    Domain::new(Start { pace: Pace::Skip, ..Start::default() }).unwrap()
}

#[test]
fn what_a_frame_says_is_known_when_it_is_written() {
    const RST: u8 = 0x04;
    const ACK: u8 = 0x10;
    let domain = domain_that_jumps();
    // Sockets stand for devices, so that this runs without root.
    let [(alice, alices), (bob, _bobs)] = [(); 2].map(|()| UnixDatagram::pair().unwrap());
    alice.set_nonblocking(true).unwrap();
    bob.set_nonblocking(true).unwrap();
    let taps = [("alice".into(), alice.into()), ("bob".into(), bob.into())].into();
    let emulator =
        start(&pair(0), taps, Arc::clone(&domain), domain.now(), None, &BTreeMap::new(), None)
            .unwrap();
    let outlook = emulator.outlook();
    for _ in 0..1000 {
        alices.send(&segment(ACK, b"data")).unwrap();
        let owing = quiet(&outlook, &domain).owing;
        assert_eq!(owing.map(|owing| owing.reason), Some(Reason::Data));
        alices.send(&segment(RST, b"")).unwrap();
        assert_eq!(quiet(&outlook, &domain).owing, None);
    }
    assert_eq!(emulator.stop().nodes["alice"].sent, 2000);
    assert_eq!(outlook.look(domain.now(), host_now()), None);
}

/// When `send_to` returns, the frame is in the device's queue, on a link or there.
#[test]
fn a_frame_of_a_kernel_is_known_when_the_call_returns() {
    let domain = domain_that_jumps();
    let Some(testbed) = Testbed::start(&pair(2), &domain) else { return };
    testbed.send_and_receive();
    let outlook = testbed.emulator.outlook();
    let (mut buffer, bob) = ([0; 64], &testbed.sockets[1]);
    for _ in 0..200 {
        testbed.sockets[0].send_to(b"frame", (address(1), PORT)).unwrap();
        let quiet = quiet(&outlook, &domain);
        bob.set_nonblocking(true).unwrap();
        let is_there = bob.recv(&mut buffer).is_ok();
        bob.set_nonblocking(false).unwrap();
        assert!(quiet.next_at.is_some() || is_there, "overlooked: {quiet:?}");
        if !is_there {
            receive(bob, &mut buffer).unwrap();
        }
    }
}

#[test]
fn a_kernel_owes_nothing_while_a_frame_is_under_way_nor_after_the_last_acknowledgement() {
    let domain = domain_that_jumps();
    let Some(testbed) = Testbed::start(&pair(5), &domain) else { return };
    let outlook = testbed.emulator.outlook();
    let place = |node: usize| &testbed.sockets[node];
    let bob = in_namespace_of(place(1), || TcpListener::bind((address(1), PORT))).unwrap();
    let connect = || TcpStream::connect((address(1), PORT));
    let alice = in_namespace_of(place(0), connect).unwrap();
    let (mut bob, _) = bob.accept().unwrap();
    bob.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    for _ in 0..10 {
        (&alice).write_all(b"request").unwrap();
        // 5 ms to bob and as many back.
        let quiet = quiet(&outlook, &domain);
        let is_on_its_way = quiet.next_at.is_some();
        assert!(quiet.owing.is_none() || !is_on_its_way, "{quiet:?}");
        let mut request = [0; 7];
        bob.read_exact(&mut request).unwrap();
    }
    alice.shutdown(Shutdown::Both).unwrap();
    bob.shutdown(Shutdown::Both).unwrap();
    let begun = Instant::now();
    while quiet(&outlook, &domain).owing.is_some() {
        assert!(begun.elapsed() < Duration::from_secs(60), "owed for ever");
    }
}

#[test]
fn a_neighbour_that_is_not_there_is_owed_until_the_kernel_gives_up() {
    let domain = domain_that_jumps();
    let Some(testbed) = Testbed::start(&pair(0), &domain) else { return };
    let outlook = testbed.emulator.outlook();
    let begun = Instant::now();
    testbed.sockets[0].send_to(b"anybody?", (address(7), PORT)).unwrap();
    let first = quiet(&outlook, &domain).owing.unwrap();
    assert_eq!((outlook.name(first.station), first.reason), ("alice", Reason::Neighbour));
    outlook.note_ran_for(first, HostSpan::from_ms(7));
    while quiet(&outlook, &domain).owing.is_some() {
        assert!(begun.elapsed() < Duration::from_secs(60), "owed for ever");
        thread::sleep(Duration::from_millis(10));
    }
    // Three requests, a second apart, and a second for the last one.
    assert!(begun.elapsed() >= Duration::from_secs(3), "{:?}", begun.elapsed());
    let (stats, _) = testbed.stop();
    assert_eq!(stats.ran_for.len(), 1);
    assert_eq!((stats.ran_for[0].node.as_str(), stats.ran_for[0].host_ns), ("alice", 7_000_000));
}

/// Requests with answers, then one without. Settings of the nodes make a difference of 40 ms, which no
/// machine is too slow to see in the quickest of five.
#[test]
fn settings_of_a_node_keep_acknowledgements_from_waiting() {
    let domain = domain_that_jumps();
    let quickest = |sets: bool| {
        let testbed = Testbed::start(&pair(0), &domain)?;
        let place = |node: usize| &testbed.sockets[node];
        for node in [0, 1].into_iter().filter(|_| sets) {
            in_namespace_of(place(node), || avoid_timers_here(Some("eth0"))).unwrap();
        }
        let bob = in_namespace_of(place(1), || TcpListener::bind((address(1), PORT))).unwrap();
        let connect = || TcpStream::connect((address(1), PORT));
        let mut alice = in_namespace_of(place(0), connect).unwrap();
        let (mut bob, _) = bob.accept().unwrap();
        alice.set_nodelay(true).unwrap();
        bob.set_nodelay(true).unwrap();
        let (mut octet, outlook) = ([0], testbed.emulator.outlook());
        let waits = (0..5).map(|_| {
            // The kernel delays again what is answered, once it has found that it did so in vain.
            for _ in 0..40 {
                alice.write_all(b"?").unwrap();
                bob.read_exact(&mut octet).unwrap();
                bob.write_all(b"!").unwrap();
                alice.read_exact(&mut octet).unwrap();
            }
            while quiet(&outlook, &domain).owing.is_some() {}
            let sent = Instant::now();
            alice.write_all(b"?").unwrap();
            bob.read_exact(&mut octet).unwrap();
            while quiet(&outlook, &domain).owing.is_some() {}
            sent.elapsed()
        });
        waits.min()
    };
    let (Some(without), Some(with)) = (quickest(false), quickest(true)) else { return };
    println!("acknowledged after {without:?}, with settings of the node after {with:?}");
    assert!(4 * with < without);
}

/// What a look costs, as a table; says nothing about what is good enough.
#[test]
fn looks() {
    const LOOKS: u32 = 10_000;
    let domain = domain_that_jumps();
    let Some(testbed) = Testbed::start(&pair(0), &domain) else { return };
    let outlook = testbed.emulator.outlook();
    quiet(&outlook, &domain);
    let begun = Instant::now();
    let quiet = (0..LOOKS).filter(|_| outlook.look(domain.now(), host_now()).is_some()).count();
    println!("{quiet} of {LOOKS} looks quiet, {:?} each, two devices", begun.elapsed() / LOOKS);
    assert!(quiet > 0);
}
