//! A station: keys, four relay nodes, a breaker node, and a merging unit that waits for the breaker
//! before it steps again, so that a slow machine loses no step.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use relay::quorum::status::{Status, ask};
use serde_json::Value;

use crate::support::running::{run, start};
use crate::support::{alone, cable, ip, not_measured};

const QCRELAY: &str = env!("CARGO_BIN_EXE_qcrelay");

/// The stream of the merging unit.
pub(crate) const STREAM: &str = "frequency: 60 Hz\nstreams:\n  MU01: {sv_id: MU01, destination: \
                                 01:0c:cd:04:00:01, app_id: 0x4000, rate: 4800 Hz, late_max: 20 ms}\n";
/// Where the breaker node tells how it stands.
const STATUS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7410);
/// What a machine under any load does within.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that runs, and is ended with the test.
pub(crate) struct Running(Option<Child>);

impl Running {
    /// Starts a program, with these arguments between blanks.
    pub(crate) fn start(program: &str, arguments: &str, folder: &Path) -> Self {
        Self(Some(start(program, folder, arguments.split(' '))))
    }

    fn child(&mut self) -> &mut Child {
        self.0.as_mut().expect("it has not ended yet")
    }

    /// The first line of its standard error.
    fn first_words(&mut self) -> String {
        let error = self.child().stderr.as_mut().expect("it is piped");
        let mut line = String::new();
        // Room for an octet: what comes after the line is read at the end of the program.
        BufReader::with_capacity(1, error).read_line(&mut line).expect("it says something");
        line.trim_end().to_owned()
    }

    pub(crate) fn kill(&mut self) {
        self.child().kill().expect("it is killed");
        self.child().wait().expect("it ends");
    }

    /// Ends it as Ctrl-C does, and answers what it printed.
    pub(crate) fn end(mut self) -> Output {
        let id = self.child().id() as i32;
        // SAFETY: takes numbers only; the child has not been waited for.
        assert_eq!(unsafe { libc::kill(id, libc::SIGINT) }, 0);
        self.finish()
    }

    pub(crate) fn finish(mut self) -> Output {
        self.0.take().expect("it has not ended yet").wait_with_output().expect("it ends")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ended = child.kill();
            let _status = child.wait();
        }
    }
}

pub(crate) struct Station {
    folder: tempfile::TempDir,
    nodes: BTreeMap<u8, Running>,
    breaker: Option<Running>,
    extras: Vec<Running>,
    /// What the host takes of each core is measured, and each party stays on one.
    meter: Option<Running>,
    protocol: String,
}

#[derive(Debug)]
pub(crate) struct Outcome {
    /// Steps of the current, in their order.
    pub(crate) steps: Vec<Value>,
    pub(crate) acted: Vec<Value>,
    /// Attempts of the correct nodes: node, action, gen, when.
    pub(crate) spoke: Vec<(u8, String, u64, u64)>,
    pub(crate) breaker: Value,
    /// All records of the breaker node.
    pub(crate) records: Vec<Value>,
    /// When a canary of some party was late: this machine was stopped, from and to.
    pub(crate) stalls: Vec<Range<u64>>,
    /// What the meter saw the host take of any core; only if it ran.
    pub(crate) taken: Vec<Range<u64>>,
    /// When a party was ready and others had its core; only if the meter ran.
    pub(crate) waited: Vec<Range<u64>>,
    /// Whom correct parties blamed for something.
    pub(crate) blamed: BTreeSet<u64>,
}

impl Station {
    /// A station for each protocol, one after the other, with the name of what is tried; none where
    /// that is not allowed.
    pub(crate) fn of_both(of_what: &str) -> impl Iterator<Item = (String, Self)> {
        ["arbiter", "peer"].into_iter().map_while(move |protocol| {
            let name = format!("{protocol}, {of_what}");
            let station = Self::new(&name, protocol)?;
            Some((name, station))
        })
    }

    /// A station in a network namespace of this thread; none where that is not allowed.
    pub(crate) fn new(of_what: &str, protocol: &str) -> Option<Self> {
        // The real-time threads of several would starve each other's on few cores.
        alone();
        if !cable(of_what) || !ip("link set dev lo up") {
            not_measured(of_what, "no loopback in a network namespace");
            return None;
        }
        // An intruder's frames say that they come from this host itself.
        for allowed in ["accept_local", "route_localnet"] {
            let path = format!("/proc/sys/net/ipv4/conf/lo/{allowed}");
            fs::write(path, "1").expect("a network namespace of its own");
        }
        let folder = tempfile::tempdir().expect("a folder");
        let station = Self {
            folder,
            nodes: BTreeMap::new(),
            breaker: None,
            extras: vec![],
            meter: None,
            protocol: protocol.to_owned(),
        };
        station.keys(".");
        station.write_settings();
        Some(station)
    }

    fn write_settings(&self) {
        let decides = "decides: {by: space_vector, stream: MU01, pick_up: 2 kA, drop_off: 1 kA}\n";
        self.decide(|_| format!("{decides}{STREAM}"));
        let head = "breaker: Q0\nstatus: 127.0.0.1:7410\ngoose: {reference: Q0/LLN0$GO$order, \
                    data_set: Q0/LLN0$order, go_id: order, destination: 01:0c:cd:01:00:01, app_id: \
                    1, conf_rev: 1, repeat_min: 2 ms, repeat_max: 100 ms}\n";
        self.settings("breaker", head);
    }

    /// From now on each party stays on a core, and what is taken of the cores is measured: before
    /// anything is started.
    pub(crate) fn measure(&mut self) {
        let cores: Vec<String> = (0..cores()).map(|core| core.to_string()).collect();
        let cores = cores.join(" ");
        self.meter =
            Some(self.relay(&format!("meter {cores} --end-with-parent --records meter.jsonl")));
        self.write_settings();
    }

    /// What the nodes decide by, instead of what they have.
    pub(crate) fn decide(&self, how: impl Fn(u8) -> String) {
        for node in 0..4 {
            let head = format!("node: N{node}\n{}", how(node));
            self.settings(&format!("node-{node}"), &head);
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `qcrelay keys` for the station.
    pub(crate) fn keys(&self, arguments: &str) {
        let arguments = format!("keys --station 7 {arguments}");
        let (code, _, said) = run(QCRELAY, self.folder(), arguments.split(' '));
        assert_eq!(code, Some(0), "{said}");
    }

    /// Starts `qcrelay`.
    pub(crate) fn relay(&self, arguments: &str) -> Running {
        Running::start(QCRELAY, arguments, self.folder())
    }

    fn settings(&self, name: &str, head: &str) {
        let number = name.bytes().last().filter(u8::is_ascii_digit).map_or(0, |digit| digit - b'0');
        let stays = self.meter.as_ref().map_or(String::new(), |_| {
            format!("core: {}, wait_min: 20 us, ", usize::from(number) % cores())
        });
        let text = format!(
            "{head}quorum:\n  protocol: {}\n  membership: membership\n  keys: \
             {name}.secret\n  memory: {name}.memory\n  addresses: [127.0.0.1:7400, 127.0.0.1:7401, \
             127.0.0.1:7402, 127.0.0.1:7403]\n  breaker_address: 127.0.0.1:7404\nhost: {{{stays}interface: \
             west, records: {name}.jsonl}}\n",
            self.protocol
        );
        fs::write(self.folder().join(format!("{name}.yaml")), text).expect("it writes");
    }

    pub(crate) fn start_breaker(&mut self) {
        self.breaker = Some(self.relay("breaker breaker.yaml --json --end-with-parent"));
    }

    /// Starts the breaker node and these relay nodes, and waits until it has heard them all.
    pub(crate) fn start(&mut self, nodes: &[u8]) {
        self.start_breaker();
        for &node in nodes {
            self.start_node(node);
        }
        self.wait_for("all are heard", |status| {
            nodes.iter().all(|&node| status.counters[usize::from(node)] > 0)
        });
    }

    pub(crate) fn start_node(&mut self, node: u8) {
        let running = self.relay(&format!("node node-{node}.yaml --json --end-with-parent"));
        self.nodes.insert(node, running);
    }

    pub(crate) fn kill_node(&mut self, node: u8) {
        self.nodes.remove(&node).expect("it runs").kill();
    }

    pub(crate) fn kill_breaker(&mut self) {
        self.breaker.take().expect("it runs").kill();
    }

    /// Starts `qchostile`, and waits until it begins.
    pub(crate) fn start_hostile(&mut self, arguments: &str) {
        let mut running = Running::start(env!("CARGO_BIN_EXE_qchostile"), arguments, self.folder());
        let said = running.first_words();
        assert_eq!(said, "qchostile: begins", "{arguments:?}");
        self.extras.push(running);
    }

    /// Ends the last `qchostile` and answers what it printed.
    pub(crate) fn end_hostile(&mut self) -> String {
        let output = self.extras.pop().expect("it runs").end();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {said}", output.status);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// How the breaker node stands; who answers is no real-time thread, and may take its time.
    pub(crate) fn status(&self) -> Status {
        let begin = Instant::now();
        loop {
            match ask(STATUS) {
                Ok(status) => return status,
                Err(error) => assert!(begin.elapsed() < PATIENCE, "no answer: {error}"),
            }
        }
    }

    /// Waits until the breaker node tells that this is so, as long as it goes on to tell of new
    /// keys.
    pub(crate) fn wait_for(&self, what: &str, is_so: impl Fn(&Status) -> bool) {
        let (mut changed, mut last) = (Instant::now(), None);
        while changed.elapsed() < PATIENCE {
            if let Ok(status) = ask(STATUS) {
                if is_so(&status) {
                    return;
                }
                if last.replace(status.counters) != Some(status.counters) {
                    changed = Instant::now();
                }
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{what}: {last:?}, and nothing new within {PATIENCE:?}");
    }

    /// Starts a merging unit that steps so often.
    pub(crate) fn start_steps(&self, actions: u64) -> Running {
        let arguments = format!(
            "alternate --interface east --actions {actions} --interval 25ms --settle 300ms \
             --records steps.jsonl --follow Q0/LLN0$GO$order --priority 85"
        );
        Running::start(env!("CARGO_BIN_EXE_qcmerge"), &arguments, self.folder())
    }

    /// Lets the current step so often, ends everything, and answers what became of it.
    pub(crate) fn run(self, actions: u64) -> Outcome {
        let steps = self.start_steps(actions);
        self.conclude(&steps.finish())
    }

    /// Ends everything after the merging unit, and answers what became of it.
    pub(crate) fn conclude(mut self, output: &Output) -> Outcome {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        drop(std::mem::take(&mut self.extras));
        let nodes: Vec<u8> = self.nodes.keys().copied().collect();
        for (_, node) in std::mem::take(&mut self.nodes) {
            good(&node.end());
        }
        let breaker = good(&self.breaker.take().expect("it runs").end());
        let records = self.lines("breaker.jsonl");
        let blamed_in = |line: &Value| (line["event"] == "blamed").then(|| number(line, "node"));
        let mut blamed: BTreeSet<u64> = records.iter().filter_map(blamed_in).collect();
        let mut stalls: Vec<Range<u64>> = records.iter().filter_map(stall_in).collect();
        let mut waited: Vec<Range<u64>> = records.iter().filter_map(waited_in).collect();
        let mut taken = Vec::new();
        if let Some(meter) = self.meter.take() {
            let output = meter.end();
            let said = String::from_utf8_lossy(&output.stdout);
            eprintln!("meter: {}", said.trim());
            taken.extend(self.lines("meter.jsonl").iter().map(taken_in));
        }
        let mut spoke = Vec::new();
        for node in nodes {
            for line in self.lines(&format!("node-{node}.jsonl")) {
                blamed.extend(blamed_in(&line));
                stalls.extend(stall_in(&line));
                waited.extend(waited_in(&line));
                if line["event"] == "spoke" {
                    let action = line["action"].as_str().expect("an action").to_owned();
                    spoke.push((node, action, number(&line, "gen"), number(&line, "realtime_ns")));
                }
            }
        }
        let acted = records.iter().filter(|line| line["event"] == "acted").cloned().collect();
        let steps = self.lines("steps.jsonl");
        Outcome { steps, acted, spoke, breaker, records, stalls, taken, waited, blamed }
    }

    /// Ends the breaker node, and answers what it did.
    pub(crate) fn acted(&mut self) -> Vec<Value> {
        let breaker = self.breaker.take().expect("it runs");
        good(&breaker.end());
        let records = self.lines("breaker.jsonl");
        records.into_iter().filter(|line| line["event"] == "acted").collect()
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<Value> {
        let text = fs::read_to_string(self.folder().join(name)).expect(name);
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

impl Outcome {
    /// When the host had a core: as the meter saw it, or, without one, a canary.
    pub(crate) fn stalls_of_host(&self) -> &[Range<u64>] {
        if self.taken.is_empty() { &self.stalls } else { &self.taken }
    }

    /// There were so many steps, and [`Self::check_each`].
    pub(crate) fn check(&self, actions: u64, backed_by: usize) {
        assert_eq!(self.steps.len() as u64, actions, "steps");
        assert_eq!(self.acted.len() as u64, actions, "none is lost or doubled: {:?}", self.breaker);
        self.check_each(backed_by);
    }

    /// Each step is one action, in its order, for one gen after the other, and backed by so many
    /// correct nodes that spoke for it before. A unit that was stopped may have stepped once more.
    pub(crate) fn check_each(&self, backed_by: usize) {
        let (steps, actions) = (self.steps.len(), self.acted.len());
        assert!((actions..=actions + 1).contains(&steps), "{steps} steps: {:?}", self.breaker);
        for (index, (step, acted)) in self.steps.iter().zip(&self.acted).enumerate() {
            assert_eq!(step["action"], acted["action"], "action {index}");
            assert!(number(acted, "operated_ns") > number(step, "before_send_ns"));
            let first = number(&self.acted[0], "gen");
            assert_eq!(number(acted, "gen"), first + index as u64);
            let (generation, at_ns) = (number(acted, "gen") - 1, number(acted, "operated_ns"));
            let who: BTreeSet<u8> = self
                .spoke
                .iter()
                .filter(|(_, action, gen_, _)| *action == acted["action"] && *gen_ == generation)
                // A node records that it spoke after it has spoken, and may be stopped between.
                .map(|(node, ..)| *node)
                .collect();
            assert!(who.len() >= backed_by, "action {index} at {at_ns}: {who:?}");
        }
    }
}

/// From when to when a party's canary was late.
fn stall_in(line: &Value) -> Option<Range<u64>> {
    let ended_ns = (line["event"] == "stall").then(|| number(line, "realtime_ns"))?;
    Some(ended_ns - number(line, "late_ns")..ended_ns)
}

/// From when to when a party was ready and did not run.
fn waited_in(line: &Value) -> Option<Range<u64>> {
    let ended_ns = (line["event"] == "waited").then(|| number(line, "realtime_ns"))?;
    Some(ended_ns - number(line, "waited_ns")..ended_ns)
}

/// From when to when the host had a core.
fn taken_in(line: &Value) -> Range<u64> {
    let begin_ns = number(line, "realtime_ns") - number(line, "late_ns");
    begin_ns..begin_ns + number(line, "taken_ns")
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn number(line: &Value, key: &str) -> u64 {
    line[key].as_u64().unwrap_or_else(|| panic!("{key}: {line}"))
}

/// The summary of a program that ended well.
fn good(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    serde_json::from_slice(&output.stdout).expect("a summary")
}
