//! Runs over several hosts: agents on this machine, and on machines that ssh reaches.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use hosts::Sync;
use results::{RunFolder, RunRecord};
use runtime::agent::protocol::Status;

use crate::common::lab::Lab;
use crate::common::patience::{LONGEST, patience, within};
use crate::common::processes::{processes, signal};
use crate::run::harness::{Place, Running, are_alike, eventually, repeats};

/// What a run may end with, whatever the machine does meanwhile.
const JUDGED: [i32; 4] = [0, 10, 11, 13];
const EVENTS: [&str; 2] = ["--pace", "events"];

/// A scenario of the project with each node on the host that is named for it.
fn spread(place: &Place, hosts: &str, of_nodes: &[(&str, &str)]) {
    let file = place.scenario().join("scenario.yaml");
    let mut text = fs::read_to_string(&file).unwrap();
    for (node, host) in of_nodes {
        let line = format!("\n  {node}:\n");
        assert!(text.contains(&line), "{node} in {text}");
        text = text.replace(&line, &format!("{line}    host: {host}\n"));
    }
    text = text.replace("\nnodes:\n", &format!("\nhosts:\n{hosts}\nnodes:\n"));
    fs::write(&file, text).unwrap();
}

/// Whether a kernel took a long instant of this machine for a loss, so that the run is another one.
fn was_too_slow(record: &RunRecord) -> bool {
    let slow = repeats(record).iter().any(|repeats| *repeats > 0)
        || !record.wall.as_ref().unwrap().pace.overran.is_empty();
    if slow {
        println!("not judged: this machine was too slow for it");
    }
    slow
}

/// Makes sure that a scenario does the same in `events` on one host and spread over these. Returns the record of the latter.
fn on_one_and_spread(
    case: &str,
    options: &[&str],
    of_nodes: &[(&str, &str)],
    lab: Option<&Lab>,
) -> Option<RunRecord> {
    let options: Vec<&str> = options.iter().chain(&EVENTS).copied().collect();
    let place = Place::of_case(case)?;
    let one = place.run(&options).expect_one_of(&JUDGED);
    let mut names: Vec<&str> = of_nodes.iter().map(|(_, host)| *host).collect();
    names.sort_unstable();
    names.dedup();
    let hosts: String = match lab {
        None => names.iter().map(|name| format!("  {name}: {{}}\n")).collect(),
        Some(lab) => (1..=names.len()).map(|host| lab.yaml(host)).collect(),
    };
    spread(&place, &hosts, of_nodes);
    let spread = match lab {
        None => place.run(&options),
        Some(lab) => start_at(lab, &place, &options).finish(),
    };
    let spread = spread.expect_one_of(&JUDGED);
    let records = [one.record(), spread.record()];
    assert_eq!(records[1].hosts.len(), names.len());
    let folders = [&one, &spread].map(|run| run.folder().path().to_owned());
    if !records.iter().any(was_too_slow) {
        are_alike(&folders, &["--any-scenario"]);
        for program in &records[0].programs {
            assert_eq!(one.log(&program.name), spread.log(&program.name));
        }
    }
    println!("one host {:?}, {} hosts {:?}", one.wall, names.len(), spread.wall);
    let [_, record] = records;
    Some(record)
}

/// A run that is started at the desk of a lab.
fn start_at<'p>(lab: &Lab, place: &'p Place, options: &[&str]) -> Running<'p> {
    let mut command = place.qcycle(&["run", "scenario", "--runs", "runs"]);
    command.args(options);
    place.start_command(lab.at_desk(&command))
}

#[test]
fn nodes_on_two_agents_of_this_machine_do_what_they_do_on_one() {
    let of_nodes = [("server", "a"), ("poller", "b")];
    for variant in ["fine", "outage"] {
        let options = ["--variant", variant];
        let Some(_) = on_one_and_spread("minimal", &options, &of_nodes, None) else { return };
    }
}

#[test]
fn nodes_on_machines_that_ssh_reaches_do_what_they_do_on_one() {
    let Some(lab) = Lab::new(2) else { return };
    let of_nodes = [("sensor", "h1"), ("controller", "h2")];
    let options = ["--variant", "normal", "--duration", "24 s"];
    let record = on_one_and_spread("voltage-stability", &options, &of_nodes, Some(&lab)).unwrap();
    let reached: Vec<_> = record.hosts.iter().map(|host| host.ssh.clone().unwrap()).collect();
    assert_eq!(reached, ["h1", "h2"]);
    assert_eq!(record.hosts[1].address.unwrap().to_string(), "10.1.0.12");
    assert_eq!(record.hosts[0].nodes, ["sensor"]);
    assert_eq!(record.losses, []);
    for host in 1..=2 {
        assert_eq!(lab.left_on(host), Vec::<PathBuf>::new());
    }
}

/// A poller and its server, each on a machine of its own.
pub(super) struct Far {
    pub(super) lab: Lab,
    pub(super) place: Place,
}

impl Far {
    fn new() -> Option<Self> {
        let lab = Lab::new(2)?;
        let place = Place::of_case("minimal")?;
        let hosts: String = (1..=2).map(|host| lab.yaml(host)).collect();
        spread(&place, &hosts, &[("server", "h1"), ("poller", "h2")]);
        Some(Self { lab, place })
    }

    fn start(&self, options: &[&str]) -> Running<'_> {
        start_at(&self.lab, &self.place, options)
    }

    /// Starts a run that would take minutes, and waits until its programs run.
    fn begun(&self) -> Running<'_> {
        self.begun_with(&["--variant", "fine", "--duration", "3 min"])
    }

    /// Starts a run, and waits until its programs run.
    pub(super) fn begun_with(&self, options: &[&str]) -> Running<'_> {
        let before = self.place.runs().len();
        let run = self.start(options);
        let all_run = || {
            let folder = RunFolder::open(self.place.runs().get(before)?).ok()?;
            let programs = folder.record().ok()?.programs;
            Some(programs.iter().all(|program| program.started_ns.is_some()))
        };
        within(patience(LONGEST), "it does not begin", || all_run() == Some(true));
        run
    }

    /// The processes of a part, by how they are called, of which a word is in the command line.
    pub(super) fn processes(&self, host: usize, name: &str) -> Vec<u32> {
        let mark = self.lab.folder_of(host).into_os_string().into_encoded_bytes();
        let has_mark = |text: &[u8]| text.windows(mark.len()).any(|part| part == mark);
        let is_one = |(process, text): (u32, Vec<u8>)| {
            let called = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
            (has_mark(&text) && called.trim() == name).then_some(process)
        };
        processes(&["environ", "cmdline"]).into_iter().filter_map(is_one).collect()
    }

    fn nothing_is_left(&self) {
        self.nothing_is_left_on(2);
    }

    /// Nothing is left on any of so many hosts.
    pub(super) fn nothing_is_left_on(&self, hosts: usize) {
        for host in 1..=hosts {
            let is_clean = || self.lab.left_on(host).is_empty();
            if !is_clean() {
                println!("still there: {:?}", self.lab.left_on(host));
            }
            eventually("files are left on a host", is_clean);
            for name in ["qcycle-relay", "qcycle-agent", "python3", "sh"] {
                eventually("processes are left on a host", || {
                    self.processes(host, name).is_empty()
                });
            }
        }
    }
}

/// How long a run may take to end when a part is gone, beside how long that may be silent.
pub(super) const GONE_LONGEST: Duration = Duration::from_secs(5);

#[test]
fn whatever_dies_on_a_host_ends_the_run_with_the_reason_and_leaves_nothing() {
    let Some(far) = Far::new() else { return };
    for (name, what, said) in [
        ("qcycle-relay", libc::SIGKILL, "host `h1`: the session ended unexpectedly"),
        ("qcycle-agent", libc::SIGKILL, "host `h1`: the agent was ended by signal 9"),
        ("sh", libc::SIGKILL, "host `h1`"),
        ("python3", libc::SIGKILL, "program `server` ended by signal 9"),
        ("qcycle-agent", libc::SIGSTOP, "host `h1` has not answered for 4000 ms"),
    ] {
        let run = far.begun();
        let victims = far.processes(1, name);
        assert!(!victims.is_empty(), "{name}");
        victims.iter().for_each(|victim| signal(victim.cast_signed(), what));
        let ended = run.finish_within(GONE_LONGEST).expect(12);
        assert!(ended.out.contains(said), "{name}: {}", ended.out);
        far.nothing_is_left();
    }
}

#[test]
fn a_session_that_stands_still_ends_the_run() {
    let Some(far) = Far::new() else { return };
    for name in ["qcycle-relay", "ssh"] {
        let run = far.begun();
        let victim = match name {
            "ssh" => children_called(run.process(), "ssh")[0],
            _ => far.processes(1, name)[0],
        };
        signal(victim.cast_signed(), libc::SIGSTOP);
        let ended = run.finish_within(2 * GONE_LONGEST).expect(12);
        assert!(ended.out.contains("nothing was heard of it for 4s"), "{name}: {}", ended.out);
        if name == "qcycle-relay" {
            // It cannot tidy up before it goes on.
            signal(victim.cast_signed(), libc::SIGCONT);
        }
        far.nothing_is_left();
    }
}

/// Children of a process that are called so.
pub(super) fn children_called(parent: u32, name: &str) -> Vec<u32> {
    let field = |process: u32, name: &str| -> Option<String> {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().to_owned())
    };
    let all = processes(&["cmdline"]).into_iter().map(|(process, _)| process);
    let is_one = |process: &u32| {
        field(*process, "PPid:") == Some(parent.to_string())
            && field(*process, "Name:").as_deref() == Some(name)
    };
    all.filter(is_one).collect()
}

/// A host that waits for its turn at the plant, while a kernel of another one waits for an answer.
#[test]
fn a_kernel_that_waits_keeps_nobody_from_the_plant() {
    const READ: &str = "import time\nwhile True:\n    time.sleep(0.005)\n    float(open('/plant/storage.es.kW').read())\n";
    const ASK: &str = "import socket, time\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nwhile True:\n    \
                       s.sendto(b'x', ('10.0.0.77', 5000))\n    time.sleep(0.05)\n";
    let Some(place) = Place::of_case("voltage-stability") else { return };
    place.file("read.py", READ);
    place.file("ask.py", ASK);
    place.file(
        "scenario.yaml",
        "scenario: turns\nduration: 500 ms\nsettle: 200 ms\npace: events\n\
         plant: {engine: opendss, circuit: vt13.dss}\nhosts: {a: {}, b: {}}\nnodes:\n  \
         one:\n    host: a\n    address: 10.0.0.1/24\n    files: [{point: storage.es.kW}]\n    \
         programs: [{name: read, run: python3 read.py}]\n  \
         two:\n    host: b\n    address: 10.0.0.2/24\n    programs: [{name: ask, run: python3 ask.py}]\n\
         links:\n  - {from: one, to: two, delay: 1 ms}\n",
    );
    let run = place.run(&[]).expect(0);
    let record = run.record();
    assert_eq!(record.covered_ns, 500_000_000);
    let reads = record.wall.unwrap().reads.unwrap().count;
    assert!(reads > 50, "{reads} reads");
}

#[test]
fn a_machine_that_is_cut_off_ends_the_run_and_is_left_clean() {
    let Some(far) = Far::new() else { return };
    let run = far.begun();
    far.lab.cut(2, true);
    let ended = run.finish_within(GONE_LONGEST).expect(12);
    let said = ["has not answered for 4000 ms", "nothing was heard of it for 4s"];
    assert!(said.iter().any(|said| ended.out.contains(said)), "{}", ended.out);
    // Its relay hears nothing, too; what sshd keeps of the session ends when it learns that.
    eventually("its agent goes on", || far.processes(2, "qcycle-agent").is_empty());
    eventually("files are left", || far.lab.left_on(2).is_empty());
    far.lab.cut(2, false);
    far.nothing_is_left();
}

/// More than fits into all that is between it and the runner.
const MANY_OCTETS: u64 = 24 << 20;

#[test]
fn captures_that_nobody_takes_keep_nothing_on_a_machine_that_is_cut_off() {
    const FLOOD: &str = "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\nwhile True:\n    \
                         s.sendto(bytes(1400), ('10.0.0.1', 5000))\n";
    let Some(lab) = Lab::new(2) else { return };
    let Some(place) = Place::of_case("minimal") else { return };
    place.file("flood.py", FLOOD);
    let hosts: String = (1..=2).map(|host| lab.yaml(host)).collect();
    let scenario = format!(
        "scenario: flood\nduration: 3 min\nsettle: 100 ms\nhosts:\n{hosts}nodes:\n  \
         one: {{host: h1, address: 10.0.0.1/24, programs: [{{name: sleep, run: sleep 1000}}]}}\n  \
         two: {{host: h2, address: 10.0.0.2/24, programs: [{{name: flood, run: python3 flood.py}}]}}\n\
         links: [{{from: one, to: two, delay: 1 ms}}]\n"
    );
    place.file("scenario.yaml", &scenario);
    let far = Far { lab, place };
    let run = far.start(&[]);
    let octets = || -> u64 {
        let below = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
        let copies = below(far.lab.folder_of(2).join("tmp"));
        let files = copies.flat_map(|copy| below(copy.path())).flat_map(|one| below(one.path()));
        files.filter_map(|file| Some(file.metadata().ok()?.len())).sum()
    };
    within(patience(LONGEST), "it captures too little", || octets() > MANY_OCTETS);
    far.lab.cut(2, true);
    let cut = Instant::now();
    run.finish_within(2 * GONE_LONGEST).expect(12);
    eventually("files are left", || far.lab.left_on(2).is_empty());
    println!("it was left clean {:?} after it was cut off", cut.elapsed());
    far.lab.cut(2, false);
    far.nothing_is_left();
}

#[test]
fn an_interrupted_run_and_one_whose_runner_is_killed_leave_nothing_on_hosts() {
    let Some(far) = Far::new() else { return };
    let run = far.begun();
    run.signal_group(libc::SIGINT);
    run.finish_within(GONE_LONGEST).expect(130);
    far.nothing_is_left();
    let run = far.begun();
    signal(run.process().cast_signed(), libc::SIGKILL);
    far.nothing_is_left();
    drop(run);
}

impl Far {
    /// Runs a command at a host.
    fn ask(&self, host: usize, arguments: &[&str]) -> String {
        let mut command = self.place.qcycle(arguments);
        command.env("XDG_RUNTIME_DIR", self.lab.folder_of(host).join("sockets"));
        let output = self.lab.inside(host, &command).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn domain(&self, host: usize) -> Status {
        let all: Vec<Status> = serde_json::from_str(&self.ask(host, &["ps", "--json"])).unwrap();
        all.into_iter().next().unwrap()
    }

    /// Begins a run, and holds all from each host in turn. Returns the name of its domain, too.
    fn held_from_each(&self) -> (Running<'_>, String) {
        let run = self.begun();
        let name = self.domain(1).name;
        for (holder, other) in [(1, 2), (2, 1)] {
            self.ask(holder, &["hold", &name]);
            let [one, two] = [holder, other].map(|host| self.domain(host).clock.virtual_ns);
            assert_eq!(one, two);
            std::thread::sleep(Duration::from_millis(50));
            assert_eq!(self.domain(other).clock.virtual_ns, one);
            // Those of all hosts, at each.
            let said = self.ask(other, &["hold", &name]);
            assert!(said.contains("is held (2 holds)"), "{said}");
            eventually("holds are missing", || {
                [1, 2].iter().all(|host| self.domain(*host).clock.holds == 2)
            });
            let said = self.ask(1, &["release", &name]);
            assert!(said.contains("is held (1 hold)"), "{said}");
            assert_eq!(self.domain(other).clock.virtual_ns, one);
            let said = self.ask(1, &["release", &name]);
            assert!(said.contains(" runs at "), "{said}");
            eventually("it stands", || self.domain(other).clock.virtual_ns > one);
        }
        (run, name)
    }
}

#[test]
fn what_is_asked_at_one_host_is_done_at_all() {
    let Some(far) = Far::new() else { return };
    let (run, name) = far.held_from_each();
    for (at, tdf, millionths) in [(1, "2", 2_000_000), (2, "1.5", 1_500_000)] {
        far.ask(at, &["dilate", "--tdf", tdf, &name]);
        assert_eq!([1, 2].map(|host| far.domain(host).clock.tdf_millionths), [millionths; 2]);
        for program in ["server", "poller"] {
            let said = far.ask(at, &["dilate", "--tdf", tdf, &format!("{name}/{program}")]);
            assert!(said.contains(&format!("tdf {tdf} within a domain at tdf {tdf}")), "{said}");
        }
        let table = far.ask(at, &["ps", "--hosts"]);
        for part in ["@h1 ", "@h2 ", "/server ", "/poller "] {
            assert!(table.contains(&format!("{name}{part}")), "{part} in {table}");
        }
    }
    // Its agent stands still, and whoever asks another one soon knows.
    let agent = far.processes(2, "qcycle-agent")[0];
    signal(agent.cast_signed(), libc::SIGSTOP);
    let begun = Instant::now();
    let silent = far.ask(1, &["query", &name]);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert!(silent.contains("host `h2`"), "{silent}");
    let lost = run.finish_within(GONE_LONGEST).expect(12);
    // Of several agents, so not quite in order.
    let mut interventions = lost.record().interventions;
    interventions.sort_by_key(|one| one.at_ns);
    let by = interventions.iter().map(|one| one.by.host.as_deref().unwrap());
    assert_eq!(by.collect::<String>(), "h1h2h1h1h2h1h1h1h1h1h1h2h2h2");
    far.nothing_is_left();
}

/// Who holds one of clocks that run by themselves holds all; and what they differed by is in the record.
#[test]
fn clocks_that_run_by_themselves_are_held_together_and_told_of() {
    let Some(far) = Far::new() else { return };
    run_by_themselves(&far.place);
    let (run, _) = far.held_from_each();
    run.signal_group(libc::SIGINT);
    let record = run.finish_within(GONE_LONGEST).expect(130).record();
    assert_eq!((record.interventions.len(), record.scenario.sync), (8, Sync::Free));
    let clocks = record.network["free_clocks"].as_array().unwrap();
    let compared = |host: usize| clocks[host]["differed"]["frames"].as_u64().unwrap();
    assert_eq!((clocks.len(), compared(0)), (2, 0), "{clocks:?}");
    assert!(compared(1) > 0, "{clocks:?}");
}

fn run_by_themselves(place: &Place) {
    let file = place.scenario().join("scenario.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\nhosts:\n", "\nsync: free\nhosts:\n")).unwrap();
}

/// As published: each clock runs by itself, and each access to the plant holds all.
#[test]
fn clocks_that_run_by_themselves_stand_while_the_plant_is_asked() {
    let of_nodes = [("sensor", "a"), ("controller", "b")];
    let Some(place) = Place::of_case("voltage-stability") else { return };
    spread(&place, "  a: {}\n  b: {}\n", &of_nodes);
    run_by_themselves(&place);
    let options = ["--variant", "normal", "--duration", "8 s"];
    let run = place.run(&options).expect_one_of(&JUDGED);
    let record = run.record();
    let wall = record.wall.as_ref().unwrap();
    assert!(wall.holds > 40, "{wall:?}");
    let clocks = record.network["free_clocks"].as_array().unwrap();
    println!("{} stops; {}", wall.holds, clocks[1]);
    assert!(clocks[1]["differed"]["frames"].as_u64().unwrap() > 0);
    for pace in ["skip", "events"] {
        let refused = place.run(&["--variant", "normal", "--pace", pace]).expect(65);
        assert!(
            refused.err.contains("a clock that runs by itself does not jump"),
            "{}",
            refused.err
        );
    }
}

#[test]
fn machines_that_cannot_do_it_are_refused_before_anything_starts() {
    let Some(far) = Far::new() else { return };
    let file = far.place.scenario().join("scenario.yaml");
    let good = fs::read_to_string(&file).unwrap();
    for (before, after, said) in [
        ("ssh: h2,", "ssh: nowhere.invalid,", "host `h2`"),
        (
            "run: python3 poller.py",
            "run: no-such-program poller.py",
            "there is no program `no-such-program`",
        ),
        ("ssh: h2,", "ssh: h2, directory: /no/such/folder,", "there is no folder /no/such/folder"),
        ("ssh: h2,", "ssh: h2, address: 192.0.2.1,", "cannot wait for other hosts at 192.0.2.1"),
        (
            "ssh: h1,",
            "ssh: h1, address: 127.0.0.1,",
            "within 4000 ms: set the `address` of host `h1`",
        ),
    ] {
        assert!(good.contains(before));
        fs::write(&file, good.replace(before, after)).unwrap();
        let refused = far.start(&["--variant", "fine"]).finish().expect(69);
        assert!(refused.err.contains(said), "{said}: {}", refused.err);
        far.nothing_is_left();
    }
}

/// A name that somebody has on a host, as the agent of another run has it.
fn taken(lab: &Lab, host: usize, name: &str) -> (fs::File, UnixListener) {
    let folder = lab.folder_of(host).join("sockets/quartercycle");
    fs::create_dir_all(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    let lock = fs::File::create(folder.join(format!("{name}.lock"))).unwrap();
    lock.lock().unwrap();
    let listener = UnixListener::bind(folder.join(format!("{name}.sock"))).unwrap();
    (lock, listener)
}

#[test]
fn a_run_has_the_name_that_is_said_on_all_its_hosts_or_does_not_begin() {
    let Some(far) = Far::new() else { return };
    let other = taken(&far.lab, 2, "minimal-1");
    let refused = far.start(&["--variant", "fine"]).finish().expect(69);
    let said = "host `h2`: another run has the name `minimal-1` here";
    assert!(refused.err.contains(said), "{}", refused.err);
    let folder = far.lab.folder_of(2).join("sockets/quartercycle");
    for ending in ["lock", "sock"] {
        assert!(folder.join(format!("minimal-1.{ending}")).exists(), "{ending}");
        fs::remove_file(folder.join(format!("minimal-1.{ending}"))).unwrap();
    }
    drop(other);
    far.nothing_is_left();
    // Two hosts of the run on one machine have names of their own there, and that is nobody else's.
    let file = far.place.scenario().join("scenario.yaml");
    let text = fs::read_to_string(&file).unwrap();
    let one = far.lab.yaml(1);
    let text = text.replace(&far.lab.yaml(2), &one.replace("  h1: ", "  h2: "));
    fs::write(&file, text).unwrap();
    let run = far.begun();
    let all: Vec<Status> = serde_json::from_str(&far.ask(1, &["ps", "--json"])).unwrap();
    let names: Vec<_> = all.into_iter().map(|one| one.name).collect();
    assert_eq!(names, ["minimal-2", "minimal-2.2"]);
    run.signal_group(libc::SIGINT);
    let ended = run.finish_within(GONE_LONGEST).expect(130);
    assert!(ended.err.contains("time domain minimal-2 on each of 2 hosts"), "{}", ended.err);
    far.nothing_is_left();
}

#[test]
fn whatever_a_login_prints_is_passed_over_and_one_that_ends_or_asks_is_told_of() {
    let Some(far) = Far::new() else { return };
    let login = |commands: &str| {
        far.lab.at_login(2, commands);
        far.start(&["--variant", "fine", "--duration", "1 s"])
    };
    for prints in ["echo -n no end of line", "head -c 3000000 /dev/zero | tr '\\0' x"] {
        login(prints).finish().expect_one_of(&JUDGED);
    }
    for (ends, said) in [
        ("exit 3", "its login ended and printed nothing"),
        ("echo not today; exec /bin/false", "its login ended and printed `not today`"),
    ] {
        let refused = login(ends).finish().expect(69);
        let status = if ends.contains('3') { "3" } else { "1" };
        let status = format!("(ssh: exit status: {status}; it said: ");
        for said in ["host `h2`: ", said, &status, "For members of the lab."] {
            assert!(refused.err.contains(said), "{said}: {}", refused.err);
        }
    }
    let begun = Instant::now();
    let refused = login("echo -n 'Your name? '; read x").finish().expect(69);
    assert!(begun.elapsed() < Duration::from_secs(40), "{:?}", begun.elapsed());
    let said = "no shell was reached within 20s: its login printed `Your name?`";
    assert!(refused.err.contains(said), "{}", refused.err);
    far.nothing_is_left();
}
