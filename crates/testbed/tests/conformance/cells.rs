//! One cell: all calls of one language in one condition, all at once in one domain.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock, mpsc};

use runtime::agent::protocol::Call;

use crate::common::guests::{self, In, Link, Running, c, sleep_ms};
use crate::common::patience::LONGEST;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Language {
    C,
    StaticC,
    Go,
    Python,
}

impl Language {
    /// Those for which this machine has what it takes.
    pub(crate) fn there() -> Vec<Self> {
        let mut there = vec![Self::C, Self::StaticC];
        there.extend(guests::is_there("go").then_some(Self::Go));
        there.extend(guests::is_there("python3").then_some(Self::Python));
        there
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::C => "C",
            Self::StaticC => "C, linked statically",
            Self::Go => "Go",
            Self::Python => "CPython",
        }
    }

    /// The guest, without arguments; built once.
    pub(crate) fn command(self) -> &'static [String] {
        type Built = Mutex<BTreeMap<Language, &'static OnceLock<Vec<String>>>>;
        static BUILT: Built = Mutex::new(BTreeMap::new());
        let once = *BUILT.lock().unwrap().entry(self).or_insert_with(|| Box::leak(Box::default()));
        let path = |path: PathBuf| path.to_str().unwrap().to_owned();
        once.get_or_init(|| match self {
            Self::C => vec![path(c("conformance", Link::Dynamic))],
            Self::StaticC => vec![path(c("conformance", Link::Static))],
            // Else the runtime's own signals (SIGURG, to take a thread back) end a call now and
            // then that no SA_RESTART restarts, natively too.
            Self::Go => ["/usr/bin/env".into(), "GODEBUG=asyncpreemptoff=1".into()]
                .into_iter()
                .chain([path(guests::go("conformance").unwrap())])
                .collect(),
            Self::Python => vec![python(), path(guests::source("conformance.py"))],
        })
    }

    /// Whether a program in it can be in that condition: a runtime with threads of its own does
    /// not survive a fork without an exec.
    fn can(self, condition: Condition) -> bool {
        self != Self::Go || condition != Condition::Fork
    }

    /// The calls that the language can make, each with the phases that are looked at.
    pub(crate) fn calls(self) -> Vec<(String, String)> {
        let command = self.command();
        let mut list = std::process::Command::new(&command[0]);
        let printed = guests::run(list.args(&command[1..]).arg("list"));
        assert_eq!(printed.end, 0, "{}", printed.err);
        printed.out.lines().map(pair).collect()
    }
}

/// In which a call is made.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Condition {
    Plain,
    HeldOnce,
    HeldOften,
    RateChanged,
    Exec,
    Fork,
    Vfork,
    Thread,
}

impl Condition {
    /// Each with its title in the table, and the word by which the guest knows it.
    pub(crate) const ALL: [(Self, &str, &str); 8] = [
        (Self::Plain, "plain", "plain"),
        (Self::HeldOnce, "held 300 ms", "plain"),
        (Self::HeldOften, "held 50 × 5 ms", "plain"),
        (Self::RateChanged, "rate changed", "plain"),
        (Self::Exec, "exec", "exec"),
        (Self::Fork, "fork", "fork"),
        (Self::Vfork, "vfork", "vfork"),
        (Self::Thread, "thread", "thread"),
    ];

    /// Whether there is nothing like it natively.
    pub(crate) fn changes_the_clock(self) -> bool {
        matches!(self, Self::HeldOnce | Self::HeldOften | Self::RateChanged)
    }

    fn word(self) -> &'static str {
        Self::ALL.into_iter().find(|(one, ..)| *one == self).expect("all are there").2
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Place {
    Native,
    Virtual,
}

/// Calls that are made at once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Cell {
    pub(crate) language: Language,
    pub(crate) condition: Condition,
    pub(crate) place: Place,
}

impl Cell {
    /// The cell whose outcomes these must be.
    pub(crate) fn like(self) -> Self {
        let Self { language, condition, .. } = self;
        let changes = condition.changes_the_clock();
        let condition = if changes { Condition::Plain } else { condition };
        Self { language, condition, place: Place::Native }
    }
}

/// What came of each call in each phase, in words.
pub(crate) type Outcomes = BTreeMap<(String, String), String>;
pub(crate) type Findings = BTreeMap<Cell, Outcomes>;

/// All that is to be run in one place.
pub(crate) fn all(languages: &[Language], place: Place) -> Vec<Cell> {
    let conditions = Condition::ALL.into_iter().map(|(condition, ..)| condition);
    let conditions =
        conditions.filter(|condition| place == Place::Virtual || !condition.changes_the_clock());
    let cells = conditions.flat_map(|condition| {
        let languages = languages.iter().copied().filter(move |language| language.can(condition));
        languages.map(move |language| Cell { language, condition, place })
    });
    cells.collect()
}

pub(crate) fn natively(cell: Cell) -> Outcomes {
    made(cell, &cell.language.calls()).expect("nothing is held natively")
}

/// Runs a cell in virtual time. What differs from the native outcomes is looked at twice more: a
/// difference that does not come up each time is printed, and is no property of the call.
pub(crate) fn virtually(cell: Cell, native: &Outcomes) -> Outcomes {
    const MORE: usize = 2;
    let Some(mut outcomes) = made(cell, &cell.language.calls()) else {
        println!("not measured: {cell:?}: the clock jumped over all waits before it could be held");
        return native.clone();
    };
    for _ in 0..MORE {
        let differ = |key: &&(String, String)| outcomes[*key] != native[*key];
        let again: Vec<_> = outcomes.keys().filter(differ).cloned().collect();
        if again.is_empty() {
            break;
        }
        for (key, outcome) in made(cell, &again).into_iter().flatten() {
            if outcome == native[&key] {
                println!("seldom: {cell:?}: {}, {}: {}", key.0, key.1, outcomes[&key]);
                outcomes.insert(key, outcome);
            }
        }
    }
    outcomes
}

/// Makes calls in a cell. A run whose hold came so late that waits may have been over by then says
/// nothing about holds, and is made again. `None` if that is so each time where the clock jumps: then all wait
/// for something to happen, and it comes late on a busy machine.
fn made(cell: Cell, calls: &[(String, String)]) -> Option<Outcomes> {
    const TRIES: usize = 10;
    for _ in 0..TRIES {
        if let Some(outcomes) = attempt(cell, calls) {
            let missing = calls.iter().find(|call| !outcomes.contains_key(call));
            assert!(missing.is_none(), "{cell:?}: nothing came of {missing:?}");
            return Some(outcomes);
        }
    }
    assert!(
        guests::pace().is_some(),
        "{cell:?}: the machine is too busy to hold a clock within {SPAN_NS} ns"
    );
    None
}

/// The shortest wait of the guests.
const SPAN_NS: i64 = 240_000_000;

fn attempt(cell: Cell, calls: &[(String, String)]) -> Option<Outcomes> {
    let driver = c("conformance", Link::Dynamic);
    let mut arguments = vec!["drive".to_owned()];
    arguments.extend_from_slice(cell.language.command());
    arguments.extend(["call", cell.condition.word()].map(str::to_owned));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let place = match cell.place {
        Place::Native => In::Native,
        Place::Virtual => In::Virtual("1"),
    };
    let name = format!("cell-{:?}-{:?}", cell.language, cell.condition);
    let mut guest = Running::start(place, &name, &driver, &arguments);
    for (call, phase) in calls {
        guest.say(&format!("{call}\t{phase}"));
    }
    let ((says, lines), printed) = (mpsc::channel(), guest.take_lines());
    std::thread::spawn(move || printed.map_while(Result::ok).try_for_each(|line| says.send(line)));
    let mut outcomes = Outcomes::new();
    let mut note = |line: String| {
        let (call, said) = line.rsplit_once('\t').unwrap();
        (said != "ready").then(|| outcomes.insert(pair(call), said.to_owned()))
    };
    let mut ready = 0;
    while ready < calls.len() {
        let line = lines.recv_timeout(LONGEST);
        let line = line.unwrap_or_else(|_| panic!("{cell:?}: not all ready"));
        ready += usize::from(note(line).is_none());
    }
    let in_time = conduct(cell, &mut guest);
    guest.say_no_more();
    loop {
        match lines.recv_timeout(LONGEST) {
            Ok(line) => drop(note(line)),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{cell:?}: does not end"),
        }
    }
    let end = guest.finish().end;
    assert_eq!(end, 0, "{cell:?}: a guest has failed; it says why on standard error");
    in_time.then_some(outcomes)
}

/// Lets the waits begin, does to the clock what the condition says, and in the middle of that
/// has signals sent and waits ended. Returns whether that came while all were waiting.
fn conduct(cell: Cell, guest: &mut Running) -> bool {
    let virtual_ns = |guest: &Running, call| guest.ask(call).map(|status| status.clock.virtual_ns);
    let begun = virtual_ns(guest, Call::Status);
    guest.say("go");
    sleep_ms(40);
    let changed;
    match cell.condition {
        Condition::HeldOnce => {
            changed = virtual_ns(guest, Call::Hold);
            sleep_ms(150);
            guest.say("now");
            sleep_ms(150);
            guest.ask(Call::Release);
        }
        Condition::HeldOften => {
            changed = virtual_ns(guest, Call::Hold);
            guest.ask(Call::Release);
            for round in 0..50 {
                guest.ask(Call::Hold);
                sleep_ms(5);
                guest.ask(Call::Release);
                if round == 12 {
                    guest.say("now");
                }
                sleep_ms(3);
            }
        }
        Condition::RateChanged => {
            changed = virtual_ns(guest, Call::Dilate { tdf: "3".into() });
            sleep_ms(60);
            guest.say("now");
            guest.ask(Call::Dilate { tdf: "0.5".into() });
            sleep_ms(60);
            guest.ask(Call::Dilate { tdf: "1".into() });
        }
        _ => {
            changed = begun;
            guest.say("now");
        }
    }
    begun.zip(changed).is_none_or(|(begun, changed)| changed - begun < SPAN_NS)
}

/// The file of the interpreter.
fn python() -> String {
    let own = ["-c", "import sys; print(sys.executable, end='')"];
    guests::run(std::process::Command::new("python3").args(own)).out
}

fn pair(line: &str) -> (String, String) {
    let (call, phase) = line.split_once('\t').unwrap();
    (call.to_owned(), phase.to_owned())
}
