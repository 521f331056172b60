//! Runs over machines that ssh reaches of which one is lost, where the scenario lets the others go on.

use std::time::{Duration, Instant};

use report_kit::outcome::Outcome;
use results::record::{EndedHow, ProgramEnd};
use results::{RunFolder, RunRecord};

use crate::common::lab::Lab;
use crate::common::patience::{LONGEST, patience, within};
use crate::common::processes::signal;
use crate::run::far::{Far, GONE_LONGEST, children_called};
use crate::run::harness::{Finished, Place, Running, eventually};

/// The host that is lost: the first one, which lets the others go on after holds and which their clocks follow.
const LOST: usize = 1;
/// How long runs are that take as long as that: so that the lost host may come back while they go on.
const DURATION_S: i64 = 8;
/// And those that jump.
const DURATION_OF_JUMPS_S: i64 = 60;

/// Two pollers and their server, each on a machine of its own; the meter is on the one that may be lost.
fn three(sync: &str, on_loss: &str) -> Option<Far> {
    let lab = Lab::new(3)?;
    let place = Place::of_case("minimal")?;
    let hosts: String = (1..=3)
        .map(|host| match host == LOST {
            true => lab.yaml(host).replace('}', &format!(", on_loss: {on_loss}}}")),
            false => lab.yaml(host),
        })
        .collect();
    write_scenario(&place, sync, &hosts);
    Some(Far { lab, place })
}

fn write_scenario(place: &Place, sync: &str, hosts: &str) {
    let node = |name: &str, host: usize, last: u8, program: &str| {
        format!(
            "  {name}:\n    host: h{host}\n    address: 10.0.0.{last}/24\n    programs: [{{name: {name}, run: python3 \
             {program}}}]\n"
        )
    };
    let nodes = node("meter", LOST, 3, "poller.py 10.0.0.1")
        + &node("server", 2, 1, "server.py")
        + &node("poller", 3, 2, "poller.py 10.0.0.1");
    let text = format!(
        "scenario: lost\nduration: {DURATION_S} s\nsettle: 100 ms\nsync: {sync}\nhosts:\n{hosts}nodes:\n{nodes}switches: [s]\nlinks:\n  \
         - {{from: server, to: s, delay: 1 ms}}\n  - {{from: poller, to: s, delay: 3 ms}}\n  \
         - {{from: meter, to: s, delay: 3 ms}}\nrequirements:\n  \
         - name: the poller keeps asking\n    \
           measure: {{longest_gap: {{from: poller, to: server, port: 7007}}}}\n    at_most: 1 s\n  \
         - name: the meter asks no more than it may\n    \
           measure: {{received: {{from: meter, to: server}}}}\n    at_most: 100000\n  \
         - name: the meter keeps asking\n    \
           measure: {{longest_gap: {{from: meter, to: server, port: 7007, at: receiver}}}}\n    at_most: 1 s\n"
    );
    place.file("scenario.yaml", &text);
}

/// The record of the last run, as it stands.
fn record_so_far(place: &Place) -> Option<RunRecord> {
    let runs = place.runs();
    RunFolder::open(runs.last()?).ok()?.record().ok()
}

/// Waits until the last run is some way behind its begin.
fn wait_until_under_way(place: &Place) {
    let is_under_way = || record_so_far(place).is_some_and(|record| record.covered_ns > 0);
    within(patience(LONGEST), "it does not go on", is_under_way);
}

/// Whether the record of the last run, which goes on, names a lost host.
fn has_gone_on(place: &Place) -> bool {
    record_so_far(place).is_some_and(|record| !record.lost_hosts.is_empty())
}

impl Far {
    /// Starts a run, and waits until it is some way behind its begin.
    fn under_way(&self, options: &[&str]) -> Running<'_> {
        let run = self.begun_with(options);
        wait_until_under_way(&self.place);
        run
    }

    fn agents_of_lost(&self) -> Vec<u32> {
        self.processes(LOST, "qcycle-agent")
    }
}

/// The run came to its end, with what is known of the others, and nothing is met by who was not there.
fn went_on(ended: &Finished, said: &str, duration_s: i64) {
    let record = ended.record();
    assert_eq!(record.ended.how, EndedHow::Complete, "{}", ended.out);
    let [lost] = &record.lost_hosts[..] else { panic!("{:?}", record.lost_hosts) };
    assert_eq!((&lost.host[..], &lost.nodes[..]), ("h1", &["meter".to_owned()][..]));
    assert!(lost.reason.contains(said), "{}", lost.reason);
    let duration_ns = duration_s * 1_000_000_000;
    assert!((1..duration_ns).contains(&lost.at_ns), "{}", lost.at_ns);
    assert_eq!(record.covered_ns, duration_ns);
    let warned = "without host `h1` and its nodes (meter)";
    assert!(ended.out.contains(warned) && ended.err.contains(warned), "{}", ended.out);
    let end = |name: &str| &record.programs.iter().find(|one| one.name == name).unwrap().end;
    assert_eq!((end("meter"), end("poller")), (&ProgramEnd::HostLost, &ProgramEnd::Stopped));
    let outcomes: Vec<_> = record.verdicts.iter().map(|verdict| verdict.outcome).collect();
    assert!([Outcome::Met, Outcome::Disturbed].contains(&outcomes[0]), "{}", ended.out);
    for verdict in &record.verdicts[1..] {
        // What was disturbed before the loss is no more met than what is not known.
        let is_unmet = [Outcome::NotMeasured, Outcome::Disturbed].contains(&verdict.outcome);
        assert!(is_unmet, "{}", ended.out);
    }
    let [_, asks, _] = &record.verdicts[..] else { panic!("{}", ended.out) };
    let says_why = asks.reason.contains("host `h1` was lost");
    assert!(says_why || asks.outcome == Outcome::Disturbed, "{}", ended.out);
    assert!(record.verdicts[0].reason.contains("without host `h1` after"), "{}", ended.out);
    // The server went on answering the poller to the end.
    let capture = ended.folder().capture("poller").unwrap().unwrap();
    let last_ns = capture.frames.last().unwrap().realtime_ns - record.realtime_zero_ns;
    assert!(last_ns > duration_ns - 1_000_000_000, "{last_ns}");
    let dropped = &record.network["links"][2]["backward"]["dropped_host_lost"];
    println!("{} after {} ns, {dropped} frames dropped", lost.reason, lost.at_ns);
}

#[test]
fn where_an_agent_is_killed_the_others_go_on_at_each_pace() {
    for (sync, pace) in
        [("granted", "real"), ("free", "real"), ("granted", "skip"), ("granted", "events")]
    {
        let Some(far) = three(sync, "go-on") else { return };
        let duration_s = if pace == "real" { DURATION_S } else { DURATION_OF_JUMPS_S };
        let run = far.under_way(&["--pace", pace, "--duration", &format!("{duration_s} s")]);
        let agent = far.agents_of_lost()[0];
        signal(agent.cast_signed(), libc::SIGKILL);
        let ended = run.finish_within(LONGEST).expect_one_of(&[11, 13]);
        went_on(&ended, "the agent was ended by signal 9", duration_s);
        // What its relay found there has come home.
        let capture = ended.folder().capture("meter").unwrap().unwrap();
        assert!(!capture.frames.is_empty() && !ended.record().losses.is_empty());
        far.nothing_is_left_on(3);
    }
}

#[test]
fn a_machine_that_stands_still_is_not_let_in_again() {
    for sync in ["granted", "free"] {
        let Some(far) = three(sync, "go-on") else { return };
        let run = far.under_way(&[]);
        let stopped = [far.processes(LOST, "qcycle-relay"), far.agents_of_lost()].concat();
        stopped.iter().for_each(|process| signal(process.cast_signed(), libc::SIGSTOP));
        within(patience(GONE_LONGEST), "the others do not go on", || has_gone_on(&far.place));
        stopped.iter().for_each(|process| signal(process.cast_signed(), libc::SIGCONT));
        eventually("its agent goes on", || far.agents_of_lost().is_empty());
        eventually("files are left", || far.lab.left_on(LOST).is_empty());
        let ended = run.finish_within(LONGEST).expect_one_of(&[11, 13]);
        went_on(&ended, "4", DURATION_S);
        far.nothing_is_left_on(3);
    }
}

#[test]
fn a_machine_that_was_cut_off_is_not_let_in_again() {
    let Some(far) = three("granted", "go-on") else { return };
    let run = far.under_way(&[]);
    far.lab.cut(LOST, true);
    let begun = Instant::now();
    within(patience(GONE_LONGEST), "the others do not go on", || has_gone_on(&far.place));
    println!("they went on after {:?}", begun.elapsed());
    // As soon as anything could be let in again, and before it has ended by itself.
    far.lab.cut(LOST, false);
    eventually("its agent goes on", || far.agents_of_lost().is_empty());
    let ended = run.finish_within(LONGEST).expect_one_of(&[11, 13]);
    went_on(&ended, "4", DURATION_S);
    far.nothing_is_left_on(3);
}

#[test]
fn the_loss_of_another_host_or_one_that_may_not_be_lost_ends_the_run() {
    for (on_loss, host) in [("end", LOST), ("go-on", 2)] {
        let Some(far) = three("granted", on_loss) else { return };
        let run = far.under_way(&[]);
        signal(far.processes(host, "qcycle-agent")[0].cast_signed(), libc::SIGKILL);
        let ended = run.finish_within(GONE_LONGEST).expect(12);
        let said = format!("host `h{host}`: the agent was ended by signal 9");
        assert!(ended.out.contains(&said), "{}", ended.out);
        assert_eq!(ended.record().lost_hosts, []);
        far.nothing_is_left_on(3);
    }
}

/// Its relay stands still and so ends nothing: the agent finds out by itself that nobody listens to it any more.
#[test]
fn an_agent_that_is_not_told_that_it_is_lost_ends_by_itself() {
    const ALONE_LONGEST: Duration = Duration::from_secs(20);
    let Some(far) = three("granted", "go-on") else { return };
    let run = far.under_way(&[]);
    let relay = far.processes(LOST, "qcycle-relay")[0];
    signal(relay.cast_signed(), libc::SIGSTOP);
    within(patience(GONE_LONGEST), "the others do not go on", || has_gone_on(&far.place));
    let ended = run.finish_within(LONGEST).expect_one_of(&[11, 13]);
    went_on(&ended, "nothing was heard of it for 4s", DURATION_S);
    within(patience(ALONE_LONGEST), "its agent goes on", || far.agents_of_lost().is_empty());
    signal(relay.cast_signed(), libc::SIGCONT);
    far.nothing_is_left_on(3);
}

/// The desk is lost: nobody is left who would go on.
#[test]
fn without_the_runner_no_host_goes_on() {
    let Some(far) = three("granted", "go-on") else { return };
    let run = far.under_way(&[]);
    signal(run.process().cast_signed(), libc::SIGKILL);
    far.nothing_is_left_on(3);
    drop(run);
}

/// Agents of this machine, of which all but one may be lost; and when that one stands still, no other one tells of it.
#[test]
fn the_last_host_ends_the_run_when_it_is_silent() {
    let Some(place) = Place::of_case("minimal") else { return };
    let hosts = "  h1: {on_loss: go-on}\n  h2: {}\n  h3: {on_loss: go-on}\n";
    write_scenario(&place, "granted", hosts);
    let run = place.start(&["--duration", "3 min"]);
    wait_until_under_way(&place);
    let mut agents = children_called(run.process(), "qcycle-agent");
    agents.sort_unstable();
    for (number, lost) in [(0, 1), (2, 2)] {
        signal(agents[number].cast_signed(), libc::SIGKILL);
        within(patience(GONE_LONGEST), "the others do not go on", || {
            record_so_far(&place).is_some_and(|record| record.lost_hosts.len() == lost)
        });
    }
    signal(agents[1].cast_signed(), libc::SIGSTOP);
    let ended = run.finish_within(2 * GONE_LONGEST).expect(12);
    assert!(ended.out.contains("host `h2`: its agent has not answered for 4s"), "{}", ended.out);
    let record = ended.record();
    let lost: Vec<_> = record.lost_hosts.iter().map(|lost| lost.host.as_str()).collect();
    assert_eq!(lost, ["h1", "h3"]);
}
