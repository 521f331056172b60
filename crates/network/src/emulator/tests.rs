//! The network between real kernels. Times are virtual and compared with what they must at least
//! be; only a fault makes them too short, never a slow machine.

use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use vtime::Tdf;

use super::harness::*;
use super::*;
use crate::capture::reader::Packet;
use crate::plan::{Attacker, Event, EventKind, Link};
use crate::tap;
use domain::Start;

use crate::wire::ethernet::{ETHERTYPE_ARP, ETHERTYPE_IPV4};
use crate::wire::{Ethernet, Ipv4};

fn ms(ms: i64) -> VirtualSpan {
    VirtualSpan::from_ms(ms)
}

/// alice and bob, each linked to a switch.
fn two_nodes(change: impl Fn(Link) -> Link) -> Plan {
    let links = [link("alice", "hub", ms(5)), link("hub", "bob", ms(5))].map(change);
    let nodes = [node(0, "alice"), node(1, "bob")];
    Plan::of(&nodes, &["hub".into()], &[], &links, &[]).unwrap()
}

fn datagrams(packets: Vec<Packet>, heading: Heading) -> Vec<Packet> {
    let is_datagram = |packet: &Packet| {
        let frame = Ethernet::parse(&packet.frame).unwrap();
        let transport = Ipv4::parse(frame.payload).and_then(|packet| packet.transport());
        packet.heading == heading && transport.is_some_and(|t| t.destination_port == PORT)
    };
    packets.into_iter().filter(is_datagram).collect()
}

fn receive_all(socket: &UdpSocket, patience: Duration) -> usize {
    let mut buffer = [0; 2048];
    socket.set_read_timeout(Some(patience)).unwrap();
    std::iter::from_fn(|| receive(socket, &mut buffer).ok()).count()
}

#[test]
fn arp_resolves_and_frames_take_the_delay_of_their_path() {
    let domain = Domain::new(Start::default()).unwrap();
    let Some(testbed) = Testbed::start(&two_nodes(|link| link), &domain) else { return };
    // The first datagram waits for ARP: there and back, and there once more.
    assert!(testbed.send_and_receive() >= ms(30));
    assert!(testbed.send_and_receive() >= ms(10));
    let (stats, captures) = testbed.stop();
    assert_eq!(stats.warnings, Vec::<String>::new());
    assert!(stats.nodes["bob"].received >= 3, "{stats:?}");
    let received: u64 = stats.nodes.values().map(|node| node.received).sum();
    assert_eq!(stats.lateness.frames, received);

    // Nobody but the programs of the test has sent anything: ARP and datagrams only.
    for packet in captures.of("alice").iter().chain(&captures.of("bob")) {
        let frame = Ethernet::parse(&packet.frame).unwrap();
        let is_known = [ETHERTYPE_ARP, ETHERTYPE_IPV4].contains(&frame.ethertype);
        assert!(is_known, "{frame:?}");
    }

    // Both captures report the same story, in the domain's time of day.
    let sent = datagrams(captures.of("alice"), Heading::Outbound);
    let received = datagrams(captures.of("bob"), Heading::Inbound);
    assert_eq!((sent.len(), received.len()), (2, 2));
    for (sent, received) in sent.iter().zip(&received) {
        assert_eq!(sent.frame, received.frame);
        assert!(received.realtime_ns - sent.realtime_ns >= 10_000_000);
        let now = domain.realtime_ns(domain.now()).unsigned_abs();
        assert!((now - 60_000_000_000..now).contains(&sent.realtime_ns));
    }
}

#[test]
fn capinfos_reads_the_captures() {
    let domain = Domain::new(Start::default()).unwrap();
    let Some(testbed) = Testbed::start(&two_nodes(|link| link), &domain) else { return };
    testbed.send_and_receive();
    let (_, captures) = testbed.stop();
    match Command::new("capinfos").arg("-M").arg(captures.path("bob")).output() {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{output:?}");
            assert!(text.contains("Name = eth0") && text.contains("Ethernet"), "{text}");
        }
        Err(_) => eprintln!("not run: capinfos is not installed"),
    }
}

#[test]
fn nothing_is_delivered_while_the_domain_is_held_and_all_of_it_after() {
    let domain = Domain::new(Start::default()).unwrap();
    // No delay, no rate: only the hold keeps frames back.
    let direct = two_nodes(|link| Link { delay: ms(0), ..link });
    let Some(testbed) = Testbed::start(&direct, &domain) else { return };
    testbed.send_and_receive();
    let hold = domain.hold();
    for _ in 0..10 {
        testbed.sockets[0].send_to(b"held", (address(1), PORT)).unwrap();
    }
    assert_eq!(receive_all(&testbed.sockets[1], Duration::from_millis(300)), 0);
    assert_eq!(domain.now(), hold.at());
    drop(hold);
    let (mut buffer, bob) = ([0; 2048], &testbed.sockets[1]);
    bob.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    (0..10).for_each(|_| assert_eq!(receive(bob, &mut buffer).unwrap(), 4));
}

#[test]
fn what_a_kernel_repeats_during_a_hold_is_withheld_and_nothing_is_lost() {
    const OCTETS: usize = 10_000;
    let domain = Domain::new(Start::default()).unwrap();
    let Some(testbed) = Testbed::start(&two_nodes(|link| link), &domain) else { return };
    let place = |node: usize| &testbed.sockets[node];
    let bob = in_namespace_of(place(1), || TcpListener::bind((address(1), PORT))).unwrap();
    let alice = in_namespace_of(place(0), || TcpStream::connect((address(1), PORT)));
    let (mut alice, (mut bob, _)) = (alice.unwrap(), bob.accept().unwrap());
    bob.set_read_timeout(Some(Duration::from_secs(20))).unwrap();

    let hold = domain.hold();
    let held_ns = domain.realtime_ns(hold.at()).unsigned_abs();
    alice.write_all(&[0x5a; OCTETS]).unwrap();
    // A kernel sends again after 200 ms, and once more twice as much later.
    thread::sleep(Duration::from_secs(1));
    drop(hold);
    let mut received = [0; OCTETS];
    bob.read_exact(&mut received).unwrap();
    assert_eq!(received, [0x5a; OCTETS]);

    let (stats, captures) = testbed.stop();
    assert!(stats.nodes["alice"].withheld_repeats > 0, "{stats:?}");
    let mut sent_in_hold = captures.of("alice");
    sent_in_hold.retain(|p| p.realtime_ns == held_ns && p.heading == Heading::Outbound);
    let mut sequences: Vec<_> = sent_in_hold.iter().filter_map(sequence_of_data).collect();
    let count = sequences.len();
    assert!(count > 0);
    sequences.sort_unstable();
    sequences.dedup();
    assert_eq!(sequences.len(), count, "a segment was sent twice at one moment");
}

/// The sequence number of a TCP segment that carries data.
fn sequence_of_data(packet: &Packet) -> Option<u32> {
    let segment = Ipv4::parse(Ethernet::parse(&packet.frame)?.payload)?.transport()?;
    segment.tcp.filter(|_| !segment.payload.is_empty()).map(|tcp| tcp.sequence)
}

#[test]
fn a_dilated_network_takes_as_many_times_longer() {
    let tdf = Tdf::from_millionths(10_000_000).unwrap();
    let domain = Domain::new(Start { tdf, ..Start::default() }).unwrap();
    let Some(testbed) = Testbed::start(&two_nodes(|link| link), &domain) else { return };
    let begun = Instant::now();
    // Three ways of 10 ms, as above.
    assert!(testbed.send_and_receive() >= ms(30));
    assert!(begun.elapsed() >= Duration::from_millis(299));
}

#[test]
fn a_slow_link_takes_its_time_and_drops_what_does_not_fit() {
    const BURST: usize = 200;
    let domain = Domain::new(Start::default()).unwrap();
    let slow = two_nodes(|link| match link.from.as_str() {
        "alice" => link,
        _ => Link { rate_bps: Some(10_000_000), queue: 50, ..link },
    });
    let Some(testbed) = Testbed::start(&slow, &domain) else { return };
    testbed.send_and_receive();
    for _ in 0..BURST {
        testbed.sockets[0].send_to(&[0; 1208], (address(1), PORT)).unwrap();
    }
    let received = testbed.receive_up_to_a_marker();
    let (stats, captures) = testbed.stop();
    let link = stats.links[1].forward;
    println!("{received} of {BURST} datagrams received, {} dropped", link.dropped_queue_full);
    assert!(link.dropped_queue_full > 0);
    let offered = link.delivered + link.dropped() + link.in_flight;
    assert_eq!(link.offered, offered);

    // (1208 + 42 + 24) octets at 10 Mbit/s take 1.0192 ms: the burst cannot pass faster.
    let received = datagrams(captures.of("bob"), Heading::Inbound);
    let sent = datagrams(captures.of("alice"), Heading::Outbound);
    let received: Vec<_> = received.iter().filter(|p| p.frame.len() > 1000).collect();
    let took_ns = received.last().unwrap().realtime_ns - sent[1].realtime_ns;
    let frames = u64::try_from(received.len()).unwrap();
    assert!(took_ns >= frames * 1_019_200 + 10_000_000, "{frames} frames took {took_ns} ns");
}

#[test]
fn an_attack_stops_the_victims_flow_and_draws_it_to_the_attacker() {
    let nodes = [node(0, "alice"), node(1, "bob")];
    let attackers = [Attacker { name: "eve".into() }];
    let links = ["alice", "bob", "eve"].map(|name| link(name, "hub", ms(1)));
    let victims = ["alice".into(), "bob".into()];
    let what = EventKind::ArpPoison { attacker: "eve".into(), victims };
    let begin = VirtualSpan::from_s(1);
    let events = [Event { at: begin, what }];
    let plan = Plan::of(&nodes, &["hub".into()], &attackers, &links, &events).unwrap();

    let domain = Domain::new(Start::default()).unwrap();
    let Some(testbed) = Testbed::start(&plan, &domain) else { return };
    let begin = testbed.zero + begin;
    let eve = plan.stations[2].mac;
    let is_forged = |packet: &Packet| {
        packet.heading == Heading::Inbound && Ethernet::parse(&packet.frame).unwrap().source == eve
    };
    let stamp_of = |packet: &Packet| {
        u64::from_be_bytes(packet.frame[42..].first_chunk().copied().unwrap_or_default())
    };
    testbed.send_and_receive();
    // Each datagram carries the time before which it was not sent.
    while domain.now() < begin + VirtualSpan::from_s(1) {
        let stamp_ns = domain.realtime_ns(domain.now()).to_be_bytes();
        testbed.sockets[0].send_to(&stamp_ns, (address(1), PORT)).unwrap();
        thread::sleep(Duration::from_millis(5));
    }
    let begin_ns = domain.realtime_ns(begin).unsigned_abs();
    let (stats, captures) = testbed.stop();

    let flow = datagrams(captures.of("bob"), Heading::Inbound);
    assert!(flow.iter().any(|packet| packet.realtime_ns < begin_ns));
    let ended_ns = flow.last().unwrap().realtime_ns.saturating_sub(begin_ns);
    println!("the flow ended {:.1} ms after the attack began", ended_ns as f64 / 1e6);
    // What reached alice before the third forged reply is in her ARP cache, a plain and a
    // gratuitous reply. Nothing that she sends after that goes to bob.
    let forged = captures.of("alice").into_iter().filter(is_forged);
    let poisoned_ns = forged.map(|packet| packet.realtime_ns).nth(2).unwrap();
    for packet in datagrams(captures.of("alice"), Heading::Outbound) {
        if stamp_of(&packet) > poisoned_ns {
            assert_eq!(Ethernet::parse(&packet.frame).unwrap().destination, eve);
        }
    }

    let at_eve = datagrams(captures.of("eve"), Heading::Inbound);
    assert!(!at_eve.is_empty());
    assert_eq!(stats.attackers["eve"].dropped, at_eve.len() as u64);
    assert!(at_eve.iter().all(|packet| packet.realtime_ns >= begin_ns));
    assert!(stats.attackers["eve"].sent >= 40);
}

#[test]
fn frames_for_an_interface_that_is_down_are_counted() {
    let domain = Domain::new(Start::default()).unwrap();
    let Some(testbed) = Testbed::start(&two_nodes(|link| link), &domain) else { return };
    testbed.send_and_receive();
    tap::bring_down(&testbed.sockets[1], "eth0").unwrap();
    testbed.sockets[0].send_to(b"lost", (address(1), PORT)).unwrap();
    domain.wait_until(domain.now() + ms(500)).unwrap();
    let (stats, captures) = testbed.stop();
    assert!(stats.nodes["bob"].dropped_refused >= 1, "{stats:?}");
    assert_eq!(datagrams(captures.of("bob"), Heading::Inbound).len(), 1);
}

#[test]
fn a_device_that_goes_away_is_reported_and_the_network_goes_on() {
    let domain = Domain::new(Start::default()).unwrap();
    // Sockets stand for devices, so that this runs without root.
    let [(alice, alices), (bob, _)] = [(); 2].map(|()| UnixStream::pair().unwrap());
    alice.set_nonblocking(true).unwrap();
    bob.set_nonblocking(true).unwrap();
    let taps = [("alice".into(), alice.into()), ("bob".into(), bob.into())].into();
    let folder = tempfile::tempdir().unwrap();
    let emulator = start(
        &two_nodes(|link| link),
        taps,
        Arc::clone(&domain),
        domain.now(),
        Some(folder.path()),
        &BTreeMap::new(),
        None,
    );
    (&alices).write_all(&[0xff; 60]).unwrap();
    domain.wait_until(domain.now() + ms(500)).unwrap();
    let stats = emulator.unwrap().stop();
    assert_eq!(stats.warnings.len(), 1, "{:?}", stats.warnings);
    assert!(stats.warnings[0].contains("node `bob`"));
    assert_eq!((stats.nodes["alice"].sent, stats.nodes["bob"].dropped_refused), (1, 1));
}

#[test]
fn a_plan_without_its_devices_is_refused() {
    let domain = Domain::new(Start::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plan = two_nodes(|link| link);
    let error = start(
        &plan,
        BTreeMap::new(),
        domain,
        VirtualTime::ZERO,
        Some(folder.path()),
        &BTreeMap::new(),
        None,
    );
    assert!(error.unwrap_err().to_string().contains("`alice`"));
}

/// How late frames are and how many pass, as a table; says nothing about what is good enough.
#[test]
fn lateness_and_throughput() {
    let domain = Domain::new(Start::default()).unwrap();
    let Some(testbed) = Testbed::start(&two_nodes(|link| link), &domain) else { return };
    for _ in 0..50 {
        testbed.send_and_receive();
    }
    let (stats, _) = testbed.stop();
    let calm = stats.lateness;

    let direct = two_nodes(|link| Link { delay: ms(0), ..link });
    let Some(testbed) = Testbed::start(&direct, &domain) else { return };
    testbed.send_and_receive();
    let begun = Instant::now();
    let receiver = testbed.sockets[1].try_clone().unwrap();
    let receiver = thread::spawn(move || receive_all(&receiver, Duration::from_millis(200)));
    while begun.elapsed() < Duration::from_millis(300) {
        testbed.sockets[0].send_to(&[0; 1472], (address(1), PORT)).unwrap();
    }
    let sent_for = begun.elapsed();
    let received = receiver.join().unwrap();
    let (stats, _) = testbed.stop();
    let mbit_per_s = received as f64 * 1514.0 * 8.0 / sent_for.as_secs_f64() / 1e6;
    println!("                     median      p99      max  (virtual ns late)");
    for (what, late) in [("one frame at a time", calm), ("flood", stats.lateness)] {
        println!("{what:19} {:8} {:8} {:8}", late.median_ns, late.p99_ns, late.max_ns);
    }
    println!("flood: {received} datagrams of 1472 octets, {mbit_per_s:.0} Mbit/s");
    match tcp_mbit_per_s(&direct, &domain) {
        Some(mbit_per_s) => println!("iperf3, one TCP connection: {mbit_per_s:.0} Mbit/s"),
        None => println!("not run: iperf3 is not installed"),
    }
    assert!(received > 0 && calm.frames > 0);
}

/// What iperf3 measures between two nodes in one second.
fn tcp_mbit_per_s(plan: &Plan, domain: &Arc<Domain>) -> Option<f64> {
    let testbed = Testbed::start(plan, domain)?;
    let iperf3 = |node: usize, arguments: &[&str]| {
        let mut command = Command::new("iperf3");
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::null());
        in_namespace_of(&testbed.sockets[node], || command.spawn()).ok()
    };
    let mut server = iperf3(1, &["--server", "--one-off"])?;
    let to = address(1).to_string();
    let client = ["--client", &to, "--time", "1", "--json", "--connect-timeout", "5000"];
    // The server takes a moment to listen.
    let figures = (0..50).find_map(|_| {
        thread::sleep(Duration::from_millis(50));
        let output = iperf3(0, &client)?.wait_with_output().ok()?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
        report["end"]["sum_received"]["bits_per_second"].as_f64()
    });
    let _ = (server.kill(), server.wait());
    figures.map(|bits_per_s| bits_per_s / 1e6)
}
