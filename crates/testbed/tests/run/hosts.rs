//! Agents that share one virtual time, each with nodes of its own: what programs see, beside one agent with all nodes.
//!
//! This is the runner here: it places nodes on agents, and makes them meet.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use domain::{Freeze, KernelTimers, Pace};
use network::placement::Placement;
use network::plan::{Host, Link, Loss, Place, Plan};
use os::fds;
use runtime::agent::protocol::VERSION;
use runtime::intervention::{Action, Intervention};
use scenario::model::{Compute, Node, OnExit, Order as OfNodes, PointFile, Program};
use serde_json::Value;
use testbed::nodes::orders::{FinalReport, Hosts, Order, Output, PlantAnswer, Report, Setup};
use vtime::VirtualSpan;

use crate::common::machine::beside_others;
use crate::common::patience::{LONGEST as LOOK_LONGEST, patience, within};
use crate::common::processes::signal;

const LONGEST: Duration = Duration::from_secs(120);

/// A run to be spread over agents: its nodes, the delay of the link of each to the one switch, and its length.
struct Case {
    nodes: Vec<(Node, VirtualSpan)>,
    pace: Pace,
    duration: VirtualSpan,
}

/// A program in Python on a node of its own, which is called as the program.
fn python(
    number: u8,
    name: &str,
    script: &str,
    points: &[&str],
    delay_us: i64,
) -> (Node, VirtualSpan) {
    let program = Program {
        name: name.to_owned(),
        command: vec![interpreter(), "-c".to_owned(), script.to_owned()],
        environment: BTreeMap::new(),
        on_exit: OnExit::Ignore,
    };
    let file = |point: &&str| PointFile {
        point: plant::name::PointName((*point).to_owned()),
        writable: false,
        latency: VirtualSpan::ZERO,
    };
    let node = Node {
        name: name.to_owned(),
        address: Some((Ipv4Addr::new(10, 0, 0, number), 24)),
        files: points.iter().map(file).collect(),
        compute: Compute::default(),
        programs: vec![program],
    };
    (node, VirtualSpan::from_ns(delay_us * 1000))
}

/// Python, as the runner finds it.
fn interpreter() -> String {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join("python3"));
    let found = found.into_iter().find(|file| file.is_file()).expect("python3 is in PATH");
    found.to_str().unwrap().to_owned()
}

enum Event {
    Report(Box<Report>),
    Output(Output),
    Gone,
}

struct Agent {
    process: Child,
    socket: UnixStream,
}

impl Agent {
    fn start(number: usize, sockets: &Path, events: &Sender<(usize, Event)>) -> Self {
        let (socket, theirs) = UnixStream::pair().unwrap();
        let (written, writer) = std::io::pipe().unwrap();
        let ends = [theirs.as_raw_fd(), writer.as_raw_fd()].map(|fd| fd.to_string());
        let mut command = Command::new(env!("CARGO_BIN_EXE_qcycle"));
        command.args(["agent", "--owner", &ends[0], "--outputs", &ends[1]]);
        command.env(os::sockets::VARIABLE, sockets);
        fds::inherit(&mut command, theirs.as_fd());
        fds::inherit(&mut command, writer.as_fd());
        let process = command.spawn().unwrap();
        drop((theirs, writer));
        let (reports, outputs) = (events.clone(), events.clone());
        let reader = socket.try_clone().unwrap();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                let report = serde_json::from_str(&line).unwrap();
                let _ = reports.send((number, Event::Report(Box::new(report))));
            }
            let _ = reports.send((number, Event::Gone));
        });
        thread::spawn(move || {
            for line in BufReader::new(written).lines().map_while(Result::ok) {
                let output = serde_json::from_str(&line).unwrap();
                let _ = outputs.send((number, Event::Output(output)));
            }
        });
        Self { process, socket }
    }

    fn order(&mut self, order: &Order) {
        let line = serde_json::to_string(order).unwrap() + "\n";
        self.socket.write_all(line.as_bytes()).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
        let until = Instant::now() + Duration::from_secs(5);
        while Instant::now() < until && matches!(self.process.try_wait(), Ok(None)) {
            thread::sleep(Duration::from_millis(5));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What came of it: the lines of each program with their times, the questions to the plant in order, and what agents
/// reported last.
struct Came {
    lines: BTreeMap<String, Vec<(i64, String)>>,
    asked: Vec<(i64, String)>,
    warnings: Vec<String>,
    /// What somebody did, and the agent that has reported it.
    interventions: Vec<(usize, Intervention)>,
    last: BTreeMap<usize, FinalReport>,
    wall: Duration,
}

impl Came {
    /// Whether no instant went on for so long that the clock had to run, or a kernel took a frame for lost.
    fn is_to_be_judged(&self) -> bool {
        let all = || self.last.values();
        let took_too_long = all().any(|last| !last.status.pace.overran.is_empty());
        let nodes = all().flat_map(|last| &last.network).flat_map(|network| network.nodes.values());
        let repeats: u64 = nodes.map(|node| node.withheld_repeats).sum();
        if took_too_long || repeats > 0 {
            println!("not judged: this machine was too slow for it");
        }
        !took_too_long && repeats == 0
    }

    /// The numbers that a program has printed, one a line.
    fn numbers(&self, program: &str) -> Vec<i64> {
        let lines = self.lines.get(program).into_iter().flatten();
        lines.map(|(_, line)| line.trim().parse().unwrap()).collect()
    }
}

impl Case {
    fn plan(&self) -> Plan {
        let nodes = self
            .nodes
            .iter()
            .map(|(node, _)| Host { name: node.name.clone(), address: node.address });
        let links = self.nodes.iter().map(|(node, delay)| Link {
            from: node.name.clone(),
            to: "s".to_owned(),
            delay: *delay,
            rate_bps: None,
            queue: 1000,
            loss: Loss::default(),
        });
        let (nodes, links): (Vec<_>, Vec<_>) = (nodes.collect(), links.collect());
        Plan::of(&nodes, &["s".to_owned()], &[], &links, &[]).unwrap()
    }

    fn setup(&self, me: usize, hosts: &[usize]) -> Setup {
        let count = hosts.iter().max().unwrap() + 1;
        let plan = self.plan();
        let fixed = |place| match place {
            Place::Station(n) => Some(hosts[n]),
            Place::Switch(_) => None,
        };
        let others = Hosts {
            me,
            names: (0..count).map(|host| format!("host-{host}")).collect(),
            placement: Placement::new(&plan, count, fixed).unwrap(),
            mark: None,
            sync: hosts::Sync::Granted,
            listen: "127.0.0.1:0".parse().unwrap(),
            secrets: (0..count)
                .map(|host| [u8::try_from(me * host + me + host).unwrap(); 32])
                .collect(),
            silence_longest_ns: 10_000_000_000,
            bus: None,
        };
        let here = self.nodes.iter().zip(hosts).filter(|(_, host)| **host == me);
        Setup {
            version: VERSION,
            name: format!("host-{me}-of-{count}"),
            title: "a test".to_owned(),
            tdf_millionths: 1_000_000,
            pace: self.pace,
            kernel_timers: KernelTimers::Wait,
            order_of_nodes: OfNodes::Together,
            seed: 7,
            realtime_zero_ns: Some(1_700_000_000_000_000_000),
            settle: VirtualSpan::ZERO,
            duration: self.duration,
            freeze: "1 ms".parse::<Freeze>().unwrap(),
            stall_guard_ns: None,
            delays_least_ns: 1_000_000_000,
            directory: "/".into(),
            environment: std::env::vars().filter(|(name, _)| name == "PATH").collect(),
            nodes: here.map(|((node, _), _)| node.clone()).collect(),
            network: plan,
            captures: None,
            hosts: (count > 1).then_some(others),
        }
    }

    /// Runs it with each node on the agent of that number; `None` without root.
    fn run(&self, hosts: &[usize]) -> Option<Came> {
        self.run_with(hosts, |_| ())
    }

    /// The same, and does something meanwhile, with the folder of sockets.
    fn run_with(&self, hosts: &[usize], meanwhile: impl FnOnce(&Path) + Send) -> Option<Came> {
        if !rustix::process::geteuid().is_root() {
            println!("not run: no nodes without root");
            return None;
        }
        beside_others();
        let sockets = tempfile::tempdir().unwrap();
        let count = hosts.iter().max().unwrap() + 1;
        let (sender, events) = channel();
        let mut agents: Vec<_> =
            (0..count).map(|number| Agent::start(number, sockets.path(), &sender)).collect();
        for (me, agent) in agents.iter_mut().enumerate() {
            agent.order(&Order::Prepare(Box::new(self.setup(me, hosts))));
        }
        let mut session =
            Session { agents, events, came: Came::none(), addresses: BTreeMap::new() };
        session.until("prepared", |session| session.addresses.len() == count);
        if count > 1 {
            let addresses = session.addresses.values().map(|address| address.unwrap()).collect();
            session.order_all(&Order::Meet { addresses });
            let mut met = 0;
            session.until_reports("met", |report| {
                met += usize::from(matches!(report, Report::Met));
                met == count
            });
        }
        let begun = Instant::now();
        session.order_all(&Order::Begin);
        thread::scope(|scope| {
            let folder = sockets.path();
            scope.spawn(move || meanwhile(folder));
            let mut arrived = 0;
            session.until_reports("arrived", |report| {
                arrived += usize::from(matches!(report, Report::Arrived));
                arrived == count
            });
        });
        session.came.wall = begun.elapsed();
        session.order_all(&Order::End);
        session.until("ended", |session| session.came.last.len() == count);
        Some(session.came)
    }
}

impl Came {
    fn none() -> Self {
        Self {
            lines: BTreeMap::new(),
            asked: Vec::new(),
            warnings: Vec::new(),
            interventions: Vec::new(),
            last: BTreeMap::new(),
            wall: Duration::ZERO,
        }
    }
}

struct Session {
    agents: Vec<Agent>,
    events: Receiver<(usize, Event)>,
    came: Came,
    addresses: BTreeMap<usize, Option<std::net::SocketAddr>>,
}

impl Session {
    fn order_all(&mut self, order: &Order) {
        self.agents.iter_mut().for_each(|agent| agent.order(order));
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let until = Instant::now() + LONGEST;
        while !is_so(self) {
            self.next(what, until);
        }
    }

    fn until_reports(&mut self, what: &str, mut is_so: impl FnMut(&Report) -> bool) {
        let until = Instant::now() + LONGEST;
        while !self.next(what, until).is_some_and(|report| is_so(&report)) {}
    }

    fn next(&mut self, what: &str, until: Instant) -> Option<Report> {
        let left = until.saturating_duration_since(Instant::now());
        let (number, event) = match self.events.recv_timeout(left) {
            Ok(event) => event,
            Err(RecvTimeoutError::Timeout) => panic!("not {what} in time: {:?}", self.came.lines),
            Err(RecvTimeoutError::Disconnected) => panic!("all agents are gone, not {what}"),
        };
        match event {
            Event::Output(Output { program, at_ns, text, .. }) => {
                let lines = self.came.lines.entry(program).or_default();
                lines.extend(text.lines().map(|line| (at_ns, line.to_owned())));
                None
            }
            Event::Gone if self.came.last.contains_key(&number) => None,
            Event::Gone => panic!("agent {number} is gone, not {what}"),
            Event::Report(report) => {
                self.note(number, &report);
                Some(*report)
            }
        }
    }

    fn note(&mut self, number: usize, report: &Report) {
        match report {
            Report::Prepared { address, .. } => _ = self.addresses.insert(number, *address),
            Report::Failed { reason } => panic!("agent {number} failed: {reason}"),
            Report::NotStarted { program, reason, .. } => panic!("{program}: {reason}"),
            Report::Ask { ask, points, at_ns, .. } => {
                self.came.asked.push((*at_ns, points[0].0.clone()));
                // The plant here is a clock: each read shows when it was.
                let outcome = PlantAnswer::Values(vec![*at_ns as f64]);
                self.agents[number].order(&Order::Answer { ask: *ask, outcome });
            }
            Report::Warning { text } => self.came.warnings.push(text.clone()),
            Report::Intervention(one) => self.came.interventions.push((number, one.clone())),
            Report::Ended(last) => _ = self.came.last.insert(number, (**last).clone()),
            _ => {}
        }
    }
}

/// Answers datagrams.
const ECHO: &str = "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('0.0.0.0', 5000))
while True:
    data, peer = s.recvfrom(2000)
    s.sendto(data, peer)
";

/// Asks in intervals that do not repeat, and prints how many ns each answer took.
const ASK: &str = "
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
# Until the other program is there.
s.settimeout(0.1)
while True:
    s.sendto(b'hello', ('10.0.0.1', 5000))
    try:
        s.recv(2000)
        break
    except TimeoutError:
        pass
s.settimeout(None)
for n in range(40):
    time.sleep(0.0137 * (n % 5 + 1))
    begun = time.monotonic_ns()
    s.sendto(b'%d' % n, ('10.0.0.1', 5000))
    assert s.recv(2000) == b'%d' % n
    print(time.monotonic_ns() - begun, flush=True)
";

fn echo_and_ask(pace: Pace) -> Case {
    let nodes = vec![python(1, "echo", ECHO, &[], 700), python(2, "ask", ASK, &[], 2300)];
    Case { nodes, pace, duration: VirtualSpan::from_ms(4000) }
}

#[test]
fn in_jumps_alone_programs_see_the_same_on_two_hosts_as_on_one() {
    let case = echo_and_ask(Pace::Events);
    let (Some(one), Some(two)) = (case.run(&[0, 0]), case.run(&[0, 1])) else { return };
    if !one.is_to_be_judged() || !two.is_to_be_judged() {
        return;
    }
    println!("4 s on one host {:?}, on two {:?}", one.wall, two.wall);
    assert_eq!(one.numbers("ask").len(), 40);
    assert_eq!(two.lines, one.lines);
    // Both ways, and no more once the addresses are known.
    assert_eq!(two.numbers("ask")[39], 2 * 3_000_000);
    assert_eq!(two.warnings, Vec::<String>::new());
}

#[test]
fn no_answer_comes_early_from_another_host_whatever_the_pace() {
    for pace in [Pace::Real, Pace::Skip] {
        let case = echo_and_ask(pace);
        let Some(came) = case.run(&[0, 1]) else { return };
        for last in came.last.values() {
            println!("{}", last.status.pace.words(|ns| format!("{:.3} s", ns as f64 / 1e9)));
        }
        let took = came.numbers("ask");
        println!("{pace}: {} in {:?}, {} answers: {took:?}", case.duration, came.wall, took.len());
        assert!(took.iter().all(|ns| *ns >= 2 * 3_000_000), "{pace} {took:?}");
    }
}

#[test]
fn whoever_holds_one_host_holds_all_at_the_same_nanosecond() {
    for pace in [Pace::Real, Pace::Skip, Pace::Events] {
        let duration = VirtualSpan::from_ms(if pace == Pace::Real { 3000 } else { 60_000 });
        let case = Case { duration, ..echo_and_ask(pace) };
        let mut rounds = 0;
        let came = case.run_with(&[0, 1], |sockets| {
            let asks = |command: &str, host: usize| at_host(sockets, 2, host, &[command]);
            let at = |host: usize| virtual_ns(&stands(sockets, 2, host));
            for host in [0, 1, 0] {
                thread::sleep(Duration::from_millis(20));
                let held = asks("hold", host);
                if held.is_err() {
                    // With jumps it may be over.
                    return;
                }
                let stands = at(0);
                thread::sleep(Duration::from_millis(20));
                assert_eq!([at(0), at(1)], [stands; 2], "{pace}");
                // Once where it was asserted, then elsewhere.
                assert_eq!(asks("release", (host + rounds) % 2).err(), None);
                rounds += 1;
            }
        });
        let Some(came) = came else { return };
        println!("{pace}: {:?}, held {rounds} times", came.wall);
        assert!(rounds > 0 || pace != Pace::Real);
        assert!(came.numbers("ask").iter().all(|ns| *ns >= 2 * 3_000_000), "{pace}");
    }
}

/// `qcycle` with these arguments and the name of the domain at a host behind them. Returns what it prints, or what it
/// complains of.
fn at_host(
    sockets: &Path,
    hosts: usize,
    host: usize,
    arguments: &[&str],
) -> Result<String, String> {
    let name = format!("host-{host}-of-{hosts}");
    // A program is named behind its domain.
    let (last, before) = arguments.split_last().unwrap();
    let (whom, last) = match last.strip_prefix('/') {
        Some(program) => (format!("{name}/{program}"), None),
        None => (name, Some(last)),
    };
    qcycle(sockets, before.iter().chain(last).copied().chain([&*whom]))
}

fn qcycle<'a>(sockets: &Path, arguments: impl Iterator<Item = &'a str>) -> Result<String, String> {
    let mut qcycle = Command::new(env!("CARGO_BIN_EXE_qcycle"));
    let output = qcycle.args(arguments).env(os::sockets::VARIABLE, sockets).output().unwrap();
    let text = |octets: Vec<u8>| String::from_utf8(octets).unwrap();
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// How a domain stands, asked at a host.
fn stands(sockets: &Path, hosts: usize, host: usize) -> Value {
    serde_json::from_str(&at_host(sockets, hosts, host, &["query", "--json"]).unwrap()).unwrap()
}

fn virtual_ns(detail: &Value) -> i64 {
    detail["clock"]["virtual_ns"].as_i64().unwrap()
}

/// All hosts in the answer of one, in their order.
fn all_hosts(detail: &Value) -> Vec<Value> {
    let mut all = vec![detail.clone()];
    all.extend(detail["hosts"].as_array().unwrap().iter().cloned());
    all.sort_by_key(|host| host["host"].as_str().unwrap().to_owned());
    all
}

/// Their factors, in millionths.
fn factors(detail: &Value) -> Vec<u64> {
    let factor = |host: &Value| host["clock"]["tdf_millionths"].as_u64().unwrap();
    all_hosts(detail).iter().map(factor).collect()
}

/// The same, once all hosts have answered in time.
fn all_stand(sockets: &Path, hosts: usize, host: usize) -> Value {
    let mut detail = Value::Null;
    within(patience(LOOK_LONGEST), "a host is silent", || {
        detail = stands(sockets, hosts, host);
        all_hosts(&detail).iter().all(|host| host["silent"].is_null())
    });
    detail
}

/// A case with a program that sleeps on each host, which goes on until [`ends`]. Links are long, so that agents have
/// little to report and tests leave each other processors.
fn sleepers(count: u8) -> Case {
    let script = "import time\nwhile True: time.sleep(0.05)";
    let sleeper = |number| python(number, &format!("sleeper-{number}"), script, &[], 20_000);
    let duration = VirtualSpan::from_ms(100_000);
    Case { nodes: (1..=count).map(sleeper).collect(), pace: Pace::Real, duration }
}

/// Lets the rest of a run of sleepers pass.
fn ends(sockets: &Path) {
    at_host(sockets, 3, 1, &["dilate", "--tdf", "0.01"]).unwrap();
}

#[test]
fn at_any_host_all_are_shown() {
    let came = sleepers(3).run_with(&[0, 1, 2], |sockets| {
        let all_sleep = |host| {
            let all = all_hosts(&all_stand(sockets, 3, host));
            all.iter().all(|host| !host["programs"].as_array().unwrap().is_empty())
        };
        within(patience(LOOK_LONGEST), "no programs", || all_sleep(0));
        for host in 0..3 {
            let all = all_hosts(&all_stand(sockets, 3, host));
            let names: Vec<_> = all.iter().map(|host| host["host"].as_str().unwrap()).collect();
            assert_eq!(names, ["host-0", "host-1", "host-2"]);
            for (number, other) in all.iter().enumerate() {
                assert_eq!(other["programs"][0]["name"], format!("sleeper-{}", number + 1));
                assert_eq!(other["state"], "running");
            }
            for program in 1..=3 {
                let mut text = String::new();
                within(patience(LOOK_LONGEST), "it is not found", || {
                    let asked = ["query", &format!("/sleeper-{program}")];
                    at_host(sockets, 3, host, &asked).is_ok_and(|found| {
                        text = found;
                        true
                    })
                });
                let head = format!("program host-{host}-of-3/sleeper-{program}: ");
                assert!(text.starts_with(&head), "{text}");
                assert!(
                    text.contains(&format!("\n  host          host-{}\n", program - 1)),
                    "{text}"
                );
            }
            let unknown = at_host(sockets, 3, host, &["query", "/nobody"]).unwrap_err();
            assert!(unknown.contains("there is no program"), "{unknown}");
            for program in 1..=3 {
                assert!(
                    unknown.contains(&format!("host-{host}-of-3/sleeper-{program}")),
                    "{unknown}"
                );
            }
        }
        // Each domain is there once, though three agents of it are on this machine.
        let table = qcycle(sockets, ["ps", "--hosts"].into_iter()).unwrap();
        println!("{table}");
        assert_eq!(table.lines().count(), 1 + 3 + 3, "{table}");
        for (at, program) in [("host-0", 1), ("host-1", 2), ("host-2", 3)] {
            assert!(table.contains(&format!("@{at} ")), "{table}");
            assert!(table.contains(&format!("host-0-of-3/sleeper-{program} ")), "{table}");
        }
        let brief: Value = serde_json::from_str(
            &qcycle(sockets, ["ps", "--domains", "--hosts", "--json"].into_iter()).unwrap(),
        )
        .unwrap();
        assert_eq!(all_hosts(&brief[0]).len(), 3);
        assert!(all_hosts(&brief[0]).iter().all(|host| host["programs"] == serde_json::json!([])));
        let plain = qcycle(sockets, ["ps"].into_iter()).unwrap();
        assert_eq!(plain.lines().count(), 1 + 3 + 3, "{plain}");
        assert!(!plain.contains('@'), "{plain}");
        a_host_that_is_stopped_is_silent(sockets);
        ends(sockets);
    });
    let Some(came) = came else { return };
    assert_eq!(came.interventions.len(), 1);
}

/// Stops the agent of a host for a moment, and looks what is shown of it at another one.
fn a_host_that_is_stopped_is_silent(sockets: &Path) {
    let agent =
        u32::try_from(all_hosts(&all_stand(sockets, 3, 0))[2]["agent_pid"].as_u64().unwrap());
    let agent = agent.unwrap();
    signal(agent, libc::SIGSTOP);
    let begun = Instant::now();
    let shown = all_hosts(&stands(sockets, 3, 1));
    let took = begun.elapsed();
    let nobody = at_host(sockets, 3, 1, &["release"]);
    signal(agent, libc::SIGCONT);
    let why = shown[2]["silent"].as_str().unwrap();
    println!("{why}, after {took:?}");
    assert!(why.starts_with("nothing was heard of host `host-2` for "), "{why}");
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!(shown[0]["programs"].as_array().unwrap().len(), 1);
    let nobody = nobody.unwrap_err();
    assert!(
        nobody.contains("is not held at any of its hosts that answers; nothing was heard"),
        "{nobody}"
    );
    all_stand(sockets, 3, 1);
}

#[test]
fn at_any_host_the_time_of_all_is_dilated_and_a_program_wherever_it_is() {
    let came = sleepers(3).run_with(&[0, 1, 2], |sockets| {
        let dilates = |host: usize, tdf: &str| at_host(sockets, 3, host, &["dilate", "--tdf", tdf]);
        for (host, tdf, millionths) in
            [(0, "2", 2_000_000), (1, "0.5", 500_000), (2, "3", 3_000_000)]
        {
            let said = dilates(host, tdf).unwrap();
            let lines = said.matches(&format!(", tdf {tdf}\n")).count();
            let silent = said.matches("has not answered for 2s").count();
            assert_eq!((lines + silent, lines > 0), (3, true), "{said}");
            assert_eq!(factors(&all_stand(sockets, 3, (host + 1) % 3)), [millionths; 3]);
        }
        // All stand, and stand there still.
        at_host(sockets, 3, 1, &["hold"]).unwrap();
        let stood = virtual_ns(&all_stand(sockets, 3, 0));
        dilates(2, "1.5").unwrap();
        let held = all_hosts(&all_stand(sockets, 3, 2));
        for host in &held {
            assert_eq!(
                (virtual_ns(host), &host["state"]),
                (stood, &Value::from("held")),
                "{held:?}"
            );
        }
        assert_eq!(factors(&all_stand(sockets, 3, 0)), [1_500_000; 3]);
        at_host(sockets, 3, 0, &["release"]).unwrap();
        let nothing = at_host(sockets, 3, 0, &["release"]).unwrap_err();
        assert!(nothing.contains("`host-0-of-3` is not held at any of its hosts"), "{nothing}");
        within(patience(LOOK_LONGEST), "it does not go on", || {
            all_hosts(&all_stand(sockets, 3, 2)).iter().all(|host| virtual_ns(host) > stood)
        });
        // Two at once, again and again: one of them comes last, everywhere.
        for _ in 0..5 {
            thread::scope(|scope| {
                let other = scope.spawn(|| dilates(1, "4").unwrap());
                dilates(2, "5").unwrap();
                other.join().unwrap();
            });
            let all = factors(&all_stand(sockets, 3, 0));
            assert!(all == [4_000_000; 3] || all == [5_000_000; 3], "{all:?}");
        }
        for (host, program) in [(0, 3), (1, 1), (2, 2), (2, 3)] {
            let name = format!("/sleeper-{program}");
            let said = at_host(sockets, 3, host, &["dilate", "--tdf", "10", &name]).unwrap();
            let head = format!("host-{host}-of-3{name} (");
            assert!(said.starts_with(&head) && said.contains("tdf 10 within a domain"), "{said}");
        }
        let all = all_hosts(&all_stand(sockets, 3, 1));
        for host in &all {
            assert_eq!(host["programs"][0]["tdf_millionths"], 10_000_000, "{all:?}");
        }
        let unknown = at_host(sockets, 3, 0, &["dilate", "--tdf", "10", "/nobody"]).unwrap_err();
        assert!(unknown.contains("sleeper-1") && unknown.contains("sleeper-3"), "{unknown}");
        ends(sockets);
    });
    let Some(came) = came else { return };
    let of = |is_it: fn(&Action) -> bool| -> Vec<&(usize, Intervention)> {
        came.interventions.iter().filter(|(_, one)| is_it(&one.action)).collect()
    };
    let dilated = of(|action| matches!(action, Action::Dilate { .. }));
    assert_eq!(dilated.len(), 3 + 1 + 10 + 1, "each once");
    assert!(dilated.is_sorted_by_key(|(_, one)| one.at_ns));
    let by: Vec<_> = dilated.iter().map(|(_, one)| one.by.host.as_deref().unwrap()).collect();
    assert_eq!(by[..4], ["host-0", "host-1", "host-2", "host-2"]);
    let programs = of(|action| matches!(action, Action::DilatePrograms { .. }));
    let at: Vec<_> = programs.iter().map(|(agent, _)| *agent).collect();
    assert_eq!(at.iter().sum::<usize>(), 2 + 1 + 2, "where they are");
    let released = of(|action| *action == Action::Release);
    assert_eq!(released.iter().map(|(agent, _)| *agent).collect::<Vec<_>>(), [1]);
    assert_eq!(released[0].1.by.host.as_deref(), Some("host-0"));
}

/// Reads a point again and again, and prints when that was as it is told, which is the value.
const READ: &str = "
import sys, time
for n in range(30):
    time.sleep(float(sys.argv[1]))
    begun = time.monotonic_ns()
    with open('/plant/bus.680.v1') as point:
        float(point.read())
    print(time.monotonic_ns() - begun, flush=True)
";

#[test]
fn what_all_hosts_share_is_asked_in_the_order_of_virtual_time() {
    for pace in [Pace::Real, Pace::Skip, Pace::Events] {
        let mut nodes: Vec<_> = (1..=3)
            .map(|number| python(number, &format!("reader-{number}"), READ, &["bus.680.v1"], 1000))
            .collect();
        for ((node, _), pause) in nodes.iter_mut().zip(["0.011", "0.007", "0.013"]) {
            node.programs[0].command.push(pause.to_owned());
        }
        let case = Case { nodes, pace, duration: VirtualSpan::from_ms(3000) };
        let (Some(three), Some(one)) = (case.run(&[0, 1, 2]), case.run(&[0, 0, 0])) else { return };
        println!("{pace}: on three hosts {:?}, on one {:?}", three.wall, one.wall);
        assert!(three.asked.is_sorted_by_key(|(at, _)| at), "{pace} {:?}", three.asked);
        if pace == Pace::Events && one.is_to_be_judged() && three.is_to_be_judged() {
            assert_eq!(three.lines, one.lines);
            assert_eq!(three.asked, one.asked);
            assert_eq!(three.asked.len(), 90);
            let took = |program: &str| three.numbers(program);
            assert!(took("reader-1").iter().all(|ns| *ns == 0), "a read takes no virtual time");
        }
    }
}
