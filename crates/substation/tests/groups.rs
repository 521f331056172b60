//! Setting groups: what may differ between them, and what a change does to elements.

use iec61850::SampleTime;
use substation::engine::{Change, Engine, WAIT_MAX};
use substation::settings::{self, Entry, Function};

use crate::engine::arrival_of;
use crate::samples::RATE;

const SETTINGS: &str = "
relay: bay
frequency: 50 Hz
streams:
  a: {sv_id: A, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}
elements:
  I>: {function: overcurrent, stream: a, pick_up: 500 A, delay: 100 ms}
  I>>: {function: overcurrent, stream: a, pick_up: 5 kA, delay: 0 ms}
  In: {function: overcurrent, stream: a, pick_up: 500 A, delay: 400 ms}
  BF: {function: breaker_failure, stream: a, breaker: Q0, pick_up: 20 A, retrip_delay: 50 ms, backup_delay: 150 ms}
  FF: {function: fuse_failure, stream: a, healthy: 50 kV, unbalance: 6 kV, current_min: 50 A}
trips: {pulse_min: 200 ms, breakers: {Q0: [I>, I>>, In]}}
groups:
  2:
    I>: {pick_up: 2 kA, delay: 30 ms}
    I>>: {pick_up: 500 A}
  3:
    I>: {delay: ~, curve: iec-normal-inverse, k: 1}
    I>>: off
    In: {delay: 400 ms}
subscriptions:
  station:
    reference: S
    destination: 01:0c:cd:01:00:01
    app_id: 1
    conf_rev: 1
    entries: [group 1, group 3]
";

/// What is said of the settings with one text replaced by another.
fn said(from: &str, to: &str) -> String {
    assert!(SETTINGS.contains(from), "{from}");
    settings::read("r", &SETTINGS.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn a_group_says_in_what_it_differs() {
    let relay = settings::read("r", SETTINGS).unwrap_or_else(|p| panic!("{p}"));
    let groups = &relay.protection.groups;
    assert_eq!((groups.count(), groups.active), (3, 1));
    let Some(Some(element)) = groups.others[0].get("I>") else { panic!("{groups:?}") };
    let Function::Overcurrent { settings, .. } = element.function else { panic!("{element:?}") };
    assert_eq!((settings.pick_up_a, element.streams[0].as_str()), (2000.0, "a"));
    assert_eq!(groups.others[1]["I>>"], None);
    // What is written and differs in nothing is the same.
    assert_eq!(groups.others[1].keys().collect::<Vec<_>>(), ["I>", "I>>"]);
    let entries = &relay.subscriptions["station"].entries;
    assert_eq!(entries[..], [Entry::Group(1), Entry::Group(3)]);
}

#[test]
fn each_group_is_checked_as_a_whole_and_wrong_places_are_told() {
    for (from, to, problem) in [
        (
            "{pick_up: 2 kA, delay",
            "{pick_up: 2, delay",
            "r:15:19: groups.2.`I>`.pick_up: `2` has no unit; write it as `2 A`",
        ),
        (
            "{pick_up: 2 kA, delay: 30 ms}",
            "{curve: iec-normal-inverse, k: 1}",
            "r:15:17: groups.2.`I>`.curve: there must be either `delay` or `curve`; keep one of them",
        ),
        (
            "{delay: ~, curve: iec-normal-inverse, k: 1}",
            "{delay: ~}",
            "r:18:9: groups.3.`I>`: there must be either `delay` or `curve`; keep one of them",
        ),
        (
            "{pick_up: 2 kA, delay",
            "{stream: a, delay",
            "r:15:10: groups.2.`I>`.stream: this is the same in all groups; leave it out, or add \
             another element",
        ),
        (
            "    In: {delay: 400 ms}",
            "    BF: {pick_up: 30 A}",
            "r:20:9: groups.3.BF: a breaker failure element keeps what settings of another group \
             would forget; leave it out: it is the same in all groups",
        ),
        (
            "    In: {delay: 400 ms}",
            "    FF: off",
            "r:20:9: groups.3.FF: a fuse failure element keeps what settings of another group would \
             forget; leave it out: it is the same in all groups",
        ),
        (
            "    In: {delay: 400 ms}",
            "    Im: {delay: 400 ms}",
            "r:20:5: groups.3.Im: there is no element `Im`; the elements are: I>, I>>, In, \
             BF, FF",
        ),
        ("  3:\n", "  4:\n", "r:17:3: groups.4: there is no group 3; number groups without a gap"),
        (
            "groups:\n",
            "active_group: 4\ngroups:\n",
            "r:13:15: active_group: there is no group 4; the groups are 1 to 3",
        ),
        (
            "group 3]",
            "group 4]",
            "r:27:24: subscriptions.station.entries[1]: there is no group `4`; the groups are 1 to 3",
        ),
        // What is wrong in group 1 is told once.
        (
            "pick_up: 500 A, delay: 100 ms",
            "pick_up: 500, delay: 100 ms",
            "r:7:51: elements.`I>`.pick_up: `500` has no unit; write it as `500 A`",
        ),
    ] {
        assert_eq!(said(from, to).trim_end(), problem);
    }
}

#[test]
fn a_group_takes_nothing_from_elements_that_look_at_others() {
    let said = |settings: &str, groups: &str| -> String {
        match settings::read("r", &format!("{settings}\ngroups:\n  2: {{{groups}}}\n")) {
            Ok(_) => String::new(),
            Err(problems) => {
                let what =
                    |p: &::settings::problems::Problem| format!("{}: {}", p.key, p.fault.what);
                problems.iter().map(what).collect::<Vec<_>>().join("\n")
            }
        }
    };
    let line = include_str!("data/line.yaml");
    for (groups, problems) in [
        (
            "Z2: {way: reverse}",
            "groups.2.Z2.way: it looks the other way than `P` takes it to (`forward`)",
        ),
        (
            "R: {way: forward}",
            "groups.2.R.way: it looks the other way than `P` takes it to (`reverse`)",
        ),
        ("R: off", "groups.2.R: it is off, but `P` needs it (`reverse`)"),
        (
            "Z2: off",
            "groups.2.Z2: it is off, but `P` needs it (`forward`)\n\
             groups.2.Z2: it is off, but `SOTF` needs it (`elements`)",
        ),
        ("Z2: {reach: 14 ohm}", ""),
        ("Z1: off", ""),
    ] {
        assert_eq!(said(line, groups), problems, "{groups}");
    }
    let released = crate::closing::GOOD;
    let problem = "groups.2.check: it is off, but `AR` needs it (`release`)";
    assert_eq!(said(released, "check: off"), problem);
    // What is off trips nothing after which a breaker would be closed.
    assert_eq!(said(released, "I>: off, I>>: off"), "");
}

/// A relay on a current that begins at a time, with everything that changed, in ms.
struct Bay {
    engine: Engine,
    ms: u32,
    amplitude: f64,
    changes: Vec<(u32, Change)>,
}

impl Bay {
    fn new(settings: &str) -> Self {
        let relay = settings::read("r", settings).unwrap_or_else(|p| panic!("{p}"));
        let engine = Engine::new(&relay.protection);
        let mut bay = Self { engine, ms: 0, amplitude: 0.1, changes: Vec::new() };
        bay.run(200);
        bay.changes.clear();
        bay
    }

    fn now(&self) -> SampleTime {
        SampleTime::from_ns(u64::from(self.ms) * 1_000_000)
    }

    /// Steps for so many ms.
    fn run(&mut self, ms: u32) {
        for _ in 0..ms {
            for number in self.ms * RATE / 1000..(self.ms + 1) * RATE / 1000 {
                self.engine.sample(&arrival_of(number, self.amplitude));
            }
            self.ms += 1;
            let (now, ms) = (self.now(), self.ms);
            self.changes.extend(self.engine.step(now).iter().map(|change| (ms, *change)));
        }
    }

    fn want(&mut self, group: u8) -> bool {
        let now = self.now();
        self.engine.want_group(now, group)
    }

    /// When this first changed.
    fn at(&self, change: Change) -> Option<u32> {
        self.changes.iter().find(|(_, seen)| *seen == change).map(|(ms, _)| *ms)
    }
}

const I: usize = 0;
const HIGH: usize = 1;

/// Places of elements in the order of names: BF, FF, I>, I>>, In.
fn place(element: usize) -> usize {
    2 + element
}

#[test]
fn without_a_fault_a_change_takes_one_step_and_new_settings_hold() {
    let mut bay = Bay::new(SETTINGS);
    assert!(
        !bay.want(1) && !bay.want(4) && !bay.want(0),
        "nothing new, and two that are not there"
    );
    assert!(bay.want(2) && !bay.want(2), "asked for once");
    bay.run(1);
    assert_eq!((bay.engine.group(), bay.changes[..].to_vec()), (2, vec![(201, Change::Group(2))]));
    bay.amplitude = 1.0;
    bay.run(60);
    // 1 kA: the high stage operates at once in group 2, the low one sees nothing.
    assert!(bay.at(Change::Operate(place(HIGH), true)).is_some_and(|at| at <= 201 + 25));
    assert_eq!(bay.at(Change::Start(place(I), true)), None);
}

#[test]
fn what_was_asked_for_is_taken_back_by_asking_for_the_active_group() {
    let mut bay = Bay::new(SETTINGS);
    assert!(bay.want(2) && bay.want(1));
    bay.run(5);
    assert_eq!(bay.engine.group(), 1);
}

#[test]
fn during_a_fault_a_change_waits_for_its_end() {
    let mut bay = Bay::new(SETTINGS);
    bay.amplitude = 1.0;
    bay.run(50);
    let start = bay.at(Change::Start(place(I), true)).expect("it starts");
    bay.want(2);
    bay.run(80);
    // Its delay is that of the group in which it began.
    assert_eq!(bay.at(Change::Operate(place(I), true)), Some(start + 100));
    assert_eq!(bay.engine.group(), 1);
    bay.amplitude = 0.1;
    bay.run(60);
    let ended = bay.at(Change::Start(place(I), false)).expect("the fault ends");
    assert_eq!(bay.at(Change::Group(2)), Some(ended + 1));
    // The pulse of the trip began with the old settings and goes on.
    let last = bay.at(Change::Operate(place(I), false)).expect("it dropped off");
    bay.run(300);
    assert_eq!(bay.at(Change::Trip(0, false)), Some(last + 199));
}

#[test]
fn a_start_that_lasts_holds_a_change_up_for_ten_seconds() {
    // In alone would trip, and its settings are the same in both groups.
    let text = SETTINGS.replace("delay: 100 ms", "delay: 300 s");
    let mut bay = Bay::new(&text);
    bay.amplitude = 1.0;
    bay.run(50);
    bay.want(2);
    let asked = bay.ms;
    bay.run(10_100);
    let at = bay.at(Change::Group(2)).expect("it does not wait for ever");
    assert_eq!(u128::from(at - asked), WAIT_MAX.as_millis());
    // The element that differs begins at rest, and the other one has not noticed.
    assert_eq!(bay.at(Change::Start(place(I), false)), Some(at));
    assert_eq!(bay.at(Change::Operate(place(2), false)), None);
    assert_eq!(bay.at(Change::Operate(place(HIGH), true)), Some(at + 1));
}

#[test]
fn elements_with_the_same_settings_do_not_notice_a_change() {
    let text = SETTINGS.replace("I>: {pick_up: 2 kA, delay: 30 ms}", "In: {pick_up: 500 A}");
    let mut bay = Bay::new(&text);
    bay.amplitude = 1.0;
    bay.run(50);
    let start = bay.at(Change::Start(place(I), true)).expect("it starts");
    bay.want(2);
    bay.run(100);
    assert_eq!(bay.engine.group(), 2);
    assert_eq!(bay.at(Change::Operate(place(I), true)), Some(start + 100));
}

#[test]
fn an_element_that_is_off_sees_nothing_and_begins_at_rest_when_it_is_on() {
    let text = SETTINGS.replace("groups:\n", "active_group: 3\ngroups:\n");
    let mut bay =
        Bay::new(&text.replace("I>: {delay: ~, curve: iec-normal-inverse, k: 1}", "I>: off"));
    assert!(!bay.engine.sees(place(HIGH)) && bay.engine.sees(place(2)));
    bay.amplitude = 10.0;
    bay.run(50);
    assert_eq!(bay.at(Change::Start(place(HIGH), true)), None);
    assert_eq!(bay.at(Change::Start(place(I), true)), None);
    bay.want(1);
    bay.run(1);
    let at = bay.at(Change::Group(1)).expect("what is off holds nothing up");
    bay.run(120);
    assert_eq!(bay.at(Change::Operate(place(HIGH), true)), Some(at + 1));
    assert_eq!(bay.at(Change::Start(place(I), true)), Some(at + 1));
    assert_eq!(bay.at(Change::Operate(place(I), true)), Some(at + 101));
}
