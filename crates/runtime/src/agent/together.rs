//! A domain that spans several hosts, each with an agent of its own: what somebody asks of one of them, and the others
//! have to answer or do.
//!
//! How it stands is asked of all others at the same time, and one that is silent costs nobody more than [`LOOK_LONGEST`]. A hold
//! is released by the host that has it, a program is dilated by the host that it is on. The factor of the clock is one
//! for all: the first host changes it, one change after the other, while it holds all clocks, so that each host
//! changes it at the same virtual time. It waits for all of them as long as that takes; a host that is lost ends the run, or
//! is none of it any more, and the first of those that are left is the first.
//!
//! What another host asks can be asked by whoever may open a socket of this domain, and an answer that cannot be
//! understood is none.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use vtime::{Tdf, VirtualTime};

use super::local::{Local, Together};
use super::protocol::{Detail, OtherHost, ProgramStatus, Selector};
use crate::intervention::{Action, Caller};

/// How long another host may take to say how it stands: less than whoever asks this one waits for that.
const LOOK_LONGEST: Duration = Duration::from_secs(2);
/// How long it may take to do what concerns it alone.
const DO_LONGEST: Duration = Duration::from_secs(20);

/// What one host asks another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
enum Question {
    /// How do you stand, with your programs?
    Query,
    /// Release a hold that a caller has asserted at you.
    Release { by: Caller },
    /// You are the first: change the factor of all.
    Dilate { tdf_millionths: u64, by: Caller },
    /// All stand here, held by the first: change your factor.
    Change { tdf_millionths: u64, at_ns: i64 },
    /// Dilate your programs of this name.
    DilateProgram { tdf_millionths: u64, name: String, by: Caller },
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    /// What was asked is done.
    Done,
    /// It is done, and this is how it stands, with the programs that were meant.
    Detail(Box<Detail>),
    /// It was not done, and why.
    Refused(String),
}

/// The other hosts, for the agent of one.
pub(super) struct AllHosts {
    together: Arc<dyn Together>,
    /// Whose turn it is to change the factor of all.
    changing: Mutex<()>,
}

impl AllHosts {
    pub(super) fn new(together: Arc<dyn Together>) -> Self {
        Self { together, changing: Mutex::default() }
    }

    /// How all hosts stand, with the programs that are meant, on whichever they are. `here` is this one.
    ///
    /// # Errors
    /// When none of those that answer has a program that is meant.
    pub(super) fn query(&self, here: &Local, meant: Option<&Selector>) -> Result<Detail, String> {
        let mut others = self.others();
        let names = of_others(&others);
        if let Some(meant) = meant {
            others.retain_mut(|other| match other {
                OtherHost::Detail(detail) => {
                    detail.programs.retain(|program| is_meant(program, meant));
                    !detail.programs.is_empty()
                }
                OtherHost::Silent { .. } => true,
            });
        }
        let is_elsewhere = others.iter().any(|other| matches!(other, OtherHost::Detail(_)));
        match (here.found(meant), meant) {
            (Some(found), _) => Ok(Detail { hosts: others, ..found }),
            (None, Some(meant)) if !is_elsewhere => {
                Err(here.unknown(meant, names) + &why_silent(&others))
            }
            (None, _) => Ok(Detail { hosts: others, ..here.clock() }),
        }
    }

    /// Dilates programs of this host, or else of the one that has some of that name. `here` is this one.
    ///
    /// # Errors
    /// When there are none, or that host does not do it.
    pub(super) fn dilate_programs(
        &self,
        here: &Local,
        tdf: Tdf,
        selector: &Selector,
        by: Caller,
    ) -> Result<Detail, String> {
        let name = match selector {
            Selector::Name(name) if here.found(Some(selector)).is_none() => name.clone(),
            _ => return here.dilate_programs(tdf, selector, by),
        };
        let others = self.others();
        let hosts = self.other_numbers();
        let has = |other: &OtherHost| match other {
            OtherHost::Detail(detail) => detail.programs.iter().any(|one| is_meant(one, selector)),
            OtherHost::Silent { .. } => false,
        };
        let Some(host) =
            others.iter().zip(hosts).find_map(|(other, host)| has(other).then_some(host))
        else {
            return Err(here.unknown(selector, of_others(&others)) + &why_silent(&others));
        };
        let question = Question::DilateProgram { tdf_millionths: tdf.millionths(), name, by };
        let dilated = self.detail(host, self.ask_one(host, &question, Some(DO_LONGEST))?)?;
        Ok(Detail { hosts: vec![OtherHost::Detail(dilated)], ..here.clock() })
    }

    /// Releases a hold that a caller has asserted, here or else at another host.
    ///
    /// # Errors
    /// Where it is not held, as far as hosts say so.
    pub(super) fn release(&self, here: &Local, by: Caller) -> Result<(), String> {
        if here.release(by.clone()) {
            return Ok(());
        }
        let mut silent = Vec::new();
        let question = Question::Release { by };
        for host in self.other_numbers() {
            match self.ask_one(host, &question, Some(LOOK_LONGEST)) {
                Ok(Answer::Done) => return Ok(()),
                Ok(_) => {}
                Err(why) => silent.push(why),
            }
        }
        let whole = format!("the domain `{}` is not held at any of its hosts", here.name);
        match silent.is_empty() {
            true => Err(whole),
            false => Err(format!("{whole} that answers; {}", silent.join("; "))),
        }
    }

    /// Changes the factor of all clocks. `here` is this one.
    ///
    /// # Errors
    /// When the run is over, or ends as a host is lost.
    pub(super) fn dilate(&self, here: &Local, tdf: Tdf, by: Caller) -> Result<(), String> {
        let tdf_millionths = tdf.millionths();
        let first = self.first();
        if self.together.me() != first {
            let question = Question::Dilate { tdf_millionths, by };
            return self.done(first, self.ask_one(first, &question, None));
        }
        let _turn = self.changing.lock();
        let at = self.together.hold().ok_or_else(|| self.together.why_over())?;
        let question = Question::Change { tdf_millionths, at_ns: at.as_ns() };
        let mut hosts = self.other_numbers();
        hosts.retain(|&host| self.together.is_there(host));
        let answers = self.ask(&hosts, &question, None);
        let mut outcomes = vec![here.dilate_at(tdf, at)];
        outcomes.extend(hosts.iter().zip(answers).map(|(&host, answer)| self.done(host, answer)));
        here.report(Action::Dilate { tdf_millionths }, by);
        self.together.release();
        let wrong: Vec<_> = outcomes.into_iter().filter_map(Result::err).collect();
        if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
    }

    /// Answers another host. `here` is this one.
    pub(super) fn answer(&self, here: &Local, from: usize, question: &[u8]) -> Vec<u8> {
        let question = match serde_json::from_slice(question) {
            Ok(question) => question,
            Err(error) => return octets(&Answer::Refused(format!("not understood: {error}"))),
        };
        let outcome = self.do_for(here, from, question);
        octets(&outcome.unwrap_or_else(Answer::Refused))
    }

    fn do_for(&self, here: &Local, from: usize, question: Question) -> Result<Answer, String> {
        // Which host it is this one knows better.
        let by = |by: Caller| Caller { host: self.together.names().get(from).cloned(), ..by.cut() };
        let factor =
            |millionths| Tdf::from_millionths(millionths).map_err(|error| error.to_string());
        match question {
            Question::Query => Ok(Answer::Detail(Box::new(here.detail(None)?))),
            Question::Release { by: caller } => match here.release(by(caller)) {
                true => Ok(Answer::Done),
                false => Err("no hold was asserted there".to_owned()),
            },
            Question::Dilate { tdf_millionths, by: caller }
                if self.together.me() == self.first() =>
            {
                self.dilate(here, factor(tdf_millionths)?, by(caller)).map(|()| Answer::Done)
            }
            Question::Change { tdf_millionths, at_ns } if from == self.first() => {
                let (tdf, at) = (factor(tdf_millionths)?, VirtualTime::from_ns(at_ns));
                here.dilate_at(tdf, at).map(|()| Answer::Done)
            }
            Question::Dilate { .. } | Question::Change { .. } => {
                Err("the first host alone changes the factor of all".to_owned())
            }
            Question::DilateProgram { tdf_millionths, name, by: caller } => {
                let (tdf, name) = (factor(tdf_millionths)?, Selector::Name(name));
                let dilated = here.dilate_programs(tdf, &name, by(caller))?;
                Ok(Answer::Detail(Box::new(dilated)))
            }
        }
    }

    /// The host that changes the factor of all clocks.
    fn first(&self) -> usize {
        let me = self.together.me();
        (0..me).find(|&host| self.together.is_there(host)).unwrap_or(me)
    }

    fn other_numbers(&self) -> Vec<usize> {
        (0..self.together.names().len()).filter(|host| *host != self.together.me()).collect()
    }

    /// How all others stand.
    fn others(&self) -> Vec<OtherHost> {
        let hosts = self.other_numbers();
        let answers = self.ask(&hosts, &Question::Query, Some(LOOK_LONGEST));
        let stand = hosts.into_iter().zip(answers).map(|(host, answer)| {
            match answer.and_then(|answer| self.detail(host, answer)) {
                Ok(detail) => OtherHost::Detail(detail),
                Err(silent) => {
                    OtherHost::Silent { host: self.together.names()[host].clone(), silent }
                }
            }
        });
        stand.collect()
    }

    fn ask_one(
        &self,
        host: usize,
        question: &Question,
        longest: Option<Duration>,
    ) -> Result<Answer, String> {
        self.ask(&[host], question, longest).pop().expect("a host that was asked has an answer")
    }

    fn ask(
        &self,
        hosts: &[usize],
        question: &Question,
        longest: Option<Duration>,
    ) -> Vec<Result<Answer, String>> {
        let answers = self.together.ask(hosts, &octets(question), longest);
        let read = |(answer, &host): (Result<Vec<u8>, String>, &usize)| {
            serde_json::from_slice(&answer?).map_err(|_| self.not_understood(host))
        };
        answers.into_iter().zip(hosts).map(read).collect()
    }

    fn done(&self, host: usize, answer: Result<Answer, String>) -> Result<(), String> {
        match answer? {
            Answer::Done => Ok(()),
            Answer::Refused(why) => Err(self.says(host, &why)),
            Answer::Detail(_) => Err(self.not_understood(host)),
        }
    }

    /// How a host stands, as it says, by the name that this one knows.
    fn detail(&self, host: usize, answer: Answer) -> Result<Box<Detail>, String> {
        match answer {
            Answer::Detail(mut detail) => {
                detail.status.host = Some(self.together.names()[host].clone());
                // It speaks for itself alone.
                detail.hosts.clear();
                Ok(detail)
            }
            Answer::Refused(why) => Err(self.says(host, &why)),
            Answer::Done => Err(self.not_understood(host)),
        }
    }

    fn says(&self, host: usize, what: &str) -> String {
        format!("host `{}`: {what}", self.together.names()[host])
    }

    fn not_understood(&self, host: usize) -> String {
        self.says(host, "its answer cannot be understood")
    }
}

/// Whether a program of another host is meant: numbers of processes are those of this machine.
fn is_meant(program: &ProgramStatus, meant: &Selector) -> bool {
    matches!(meant, Selector::Name(name) if program.name == *name)
}

/// The names of their programs.
fn of_others(others: &[OtherHost]) -> Vec<String> {
    let programs = others.iter().flat_map(|other| match other {
        OtherHost::Detail(detail) => detail.programs.as_slice(),
        OtherHost::Silent { .. } => &[],
    });
    programs.map(|program| program.name.clone()).collect()
}

/// Why some do not say how they stand, behind another sentence.
fn why_silent(others: &[OtherHost]) -> String {
    let silent = others.iter().filter_map(|other| match other {
        OtherHost::Silent { silent, .. } => Some(format!("; {silent}")),
        OtherHost::Detail(_) => None,
    });
    silent.collect()
}

fn octets<T: Serialize>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect("a message is plain data")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::OnceLock;
    use std::thread;

    use domain::{Domain, Freeze, Start};

    use super::*;
    use crate::launch::freeze::{FreezeConfig, Freezer};

    const HOSTS: usize = 3;

    /// Hosts whose clocks run, in one process: what they ask is answered at once, and a hold of all is as those of a run.
    struct World {
        names: Vec<String>,
        domains: Vec<Arc<Domain>>,
        hosts: OnceLock<Vec<(Local, AllHosts)>>,
        /// By host, how many holds are its own.
        holds: Mutex<[u32; HOSTS]>,
        /// By host, the factors that its clock was given, and when.
        changes: Mutex<[Vec<(VirtualTime, u64)>; HOSTS]>,
        lost: Mutex<BTreeSet<usize>>,
        /// Those of the lost hosts that are none of the run any more.
        out: Mutex<BTreeSet<usize>>,
    }

    struct Seen {
        world: Arc<World>,
        me: usize,
    }

    impl World {
        fn new() -> Arc<Self> {
            let domain = |_| Domain::new(Start::default()).unwrap();
            let world = Arc::new(Self {
                names: (0..HOSTS).map(|host| format!("h{host}")).collect(),
                domains: (0..HOSTS).map(domain).collect(),
                hosts: OnceLock::new(),
                holds: Mutex::default(),
                changes: Mutex::default(),
                lost: Mutex::default(),
                out: Mutex::default(),
            });
            let host = |me: usize| {
                let off = FreezeConfig { freeze: Freeze::Off, method: None };
                let (domain, freezer) =
                    (Arc::clone(&world.domains[me]), Freezer::start(off).unwrap());
                let local = Local::new("lab", "a test", domain, freezer, true);
                let seen: Arc<dyn Together> = Arc::new(Seen { world: Arc::clone(&world), me });
                local.span_hosts(Arc::clone(&seen));
                let reports = Arc::clone(&world);
                local.on_intervention(move |action, _| {
                    // The first host reports it where it stands.
                    if let Action::Dilate { tdf_millionths } = action {
                        reports.changed(me, tdf_millionths);
                    }
                });
                (local, AllHosts::new(seen))
            };
            let _ = world.hosts.set((0..HOSTS).map(host).collect());
            world
        }

        fn at(&self, host: usize) -> (&Local, &AllHosts) {
            let (local, all) = &self.hosts.get().unwrap()[host];
            (local, all)
        }

        fn answer(&self, host: usize, from: usize, question: &[u8]) -> Vec<u8> {
            let (local, all) = self.at(host);
            all.answer(local, from, question)
        }

        fn hold(&self, host: usize) {
            self.at(host).0.hold(Caller::default()).unwrap();
        }

        fn release(&self, host: usize) -> Result<(), String> {
            let (local, all) = self.at(host);
            all.release(local, Caller::default())
        }

        fn dilate(&self, host: usize, tdf: &str) -> Result<(), String> {
            let (local, all) = self.at(host);
            all.dilate(local, tdf.parse().unwrap(), Caller::default())
        }

        fn changed(&self, host: usize, tdf_millionths: u64) {
            self.changes.lock()[host].push((self.domains[host].now(), tdf_millionths));
        }

        fn factors(&self) -> Vec<u64> {
            self.domains.iter().map(|domain| domain.reading().tdf_millionths).collect()
        }
    }

    impl Together for Seen {
        fn me(&self) -> usize {
            self.me
        }

        fn names(&self) -> &[String] {
            &self.world.names
        }

        fn is_there(&self, host: usize) -> bool {
            !self.world.out.lock().contains(&host)
        }

        fn hold(&self) -> Option<VirtualTime> {
            let mut holds = self.world.holds.lock();
            let domains = &self.world.domains;
            if holds.iter().all(|count| *count == 0) {
                let at = domains.iter().map(|domain| domain.assert_hold()).max().unwrap();
                for domain in domains {
                    domain.let_run_to(at);
                    domain.release_hold();
                }
                while domains.iter().any(|domain| domain.now() < at) {
                    thread::yield_now();
                }
                domains.iter().for_each(|domain| _ = domain.assert_hold());
            }
            holds[self.me] += 1;
            Some(domains[self.me].now())
        }

        fn release(&self) -> bool {
            let mut holds = self.world.holds.lock();
            let Some(less) = holds[self.me].checked_sub(1) else { return false };
            holds[self.me] = less;
            if holds.iter().all(|count| *count == 0) {
                for domain in &self.world.domains {
                    domain.let_run_to(VirtualTime::MAX);
                    domain.release_hold();
                }
            }
            true
        }

        fn why_over(&self) -> String {
            "the run is over".to_owned()
        }

        fn holds(&self) -> Option<(u32, u32)> {
            let holds = self.world.holds.lock();
            let of_all = holds.iter().sum();
            Some((of_all, u32::from(of_all > 0)))
        }

        fn ask(
            &self,
            hosts: &[usize],
            question: &[u8],
            _: Option<Duration>,
        ) -> Vec<Result<Vec<u8>, String>> {
            let ask = |&host: &usize| {
                if self.world.lost.lock().contains(&host) {
                    return Err(format!("host `h{host}` has not answered for 3 ms"));
                }
                let answer = self.world.answer(host, self.me, question);
                if let (Ok(Question::Change { tdf_millionths, .. }), Ok(Answer::Done)) =
                    (serde_json::from_slice(question), serde_json::from_slice(&answer))
                {
                    self.world.changed(host, tdf_millionths);
                }
                Ok(answer)
            };
            hosts.iter().map(ask).collect()
        }
    }

    #[test]
    fn all_clocks_get_the_same_factors_at_the_same_times_whoever_asks_and_holds_meanwhile() {
        let world = World::new();
        thread::scope(|scope| {
            for host in 0..HOSTS {
                let world = &world;
                scope.spawn(move || {
                    for round in 0..60 {
                        let tdf = ["0.5", "1", "2", "7"][(round * 7 + host * 3) % 4];
                        let is_held = (round + host) % 3 == 0;
                        if is_held {
                            world.hold(host);
                        }
                        world.dilate(host, tdf).unwrap();
                        if is_held {
                            // Where it was asserted, or elsewhere: some hold of somebody.
                            let at = (host + round % 2) % HOSTS;
                            world.release(at).unwrap();
                        }
                        thread::sleep(Duration::from_micros(300));
                    }
                });
            }
        });
        let changes = world.changes.lock();
        assert_eq!(changes[0].len(), 60 * HOSTS);
        assert!(changes[0].is_sorted_by_key(|(at, _)| at));
        assert_eq!((&changes[1], &changes[2]), (&changes[0], &changes[0]));
        assert_eq!(world.factors(), [changes[0].last().unwrap().1; HOSTS]);
        assert_eq!(*world.holds.lock(), [0; HOSTS]);
    }

    #[test]
    fn a_hold_is_released_at_any_host_and_by_nobody_else() {
        let world = World::new();
        world.hold(2);
        world.hold(1);
        world.dilate(1, "3").unwrap();
        assert_eq!(*world.holds.lock(), [0, 1, 1]);
        world.release(0).unwrap();
        assert_eq!(*world.holds.lock(), [0, 0, 1]);
        world.release(0).unwrap();
        assert_eq!(
            world.release(0).unwrap_err(),
            "the domain `lab` is not held at any of its hosts"
        );
        world.lost.lock().insert(1);
        let unsure = "the domain `lab` is not held at any of its hosts that answers; host `h1` has not answered for 3 ms";
        assert_eq!(world.release(0).unwrap_err(), unsure);
    }

    #[test]
    fn each_host_shows_the_holds_of_all_and_a_release_those_that_are_left() {
        let world = World::new();
        let shown = || [0, 1, 2].map(|host| world.at(host).0.status().clock.holds);
        for host in [1, 1, 2, 1] {
            world.hold(host);
        }
        assert_eq!(shown(), [4; HOSTS]);
        // Of that host alone, as while one of its programs asks for the plant.
        world.domains[2].assert_hold();
        assert_eq!(shown(), [4, 4, 5]);
        world.domains[2].release_hold();
        for left in [3, 2, 1, 0] {
            world.release(0).unwrap();
            assert_eq!(shown(), [left; HOSTS]);
        }
    }

    #[test]
    fn where_a_host_is_lost_the_others_change_together_and_who_asked_is_told() {
        let world = World::new();
        world.lost.lock().insert(1);
        assert_eq!(
            world.dilate(2, "2").unwrap_err(),
            "host `h0`: host `h1` has not answered for 3 ms"
        );
        assert_eq!(world.factors(), [2_000_000, 1_000_000, 2_000_000]);
        let changes = world.changes.lock().clone();
        assert_eq!(changes[0], changes[2]);
        *world.lost.lock() = BTreeSet::from([0]);
        assert_eq!(world.dilate(2, "5").unwrap_err(), "host `h0` has not answered for 3 ms");
        assert_eq!(world.factors()[2], 2_000_000);
        assert_eq!(*world.holds.lock(), [0; HOSTS], "nobody is held for ever");
    }

    #[test]
    fn where_a_host_is_none_of_the_run_any_more_the_first_of_the_others_is_the_first() {
        let world = World::new();
        world.lost.lock().insert(0);
        world.out.lock().insert(0);
        world.dilate(2, "2").unwrap();
        world.dilate(1, "3").unwrap();
        assert_eq!(world.factors(), [1_000_000, 3_000_000, 3_000_000]);
        let changes = world.changes.lock().clone();
        assert_eq!((changes[0].len(), &changes[1]), (0, &changes[2]));
    }

    #[test]
    fn all_are_asked_how_they_stand_and_who_is_silent_is_told_of() {
        let world = World::new();
        world.lost.lock().insert(2);
        let (local, all) = world.at(1);
        let detail = all.query(local, None).unwrap();
        assert_eq!(detail.status.host.as_deref(), Some("h1"));
        let [OtherHost::Detail(first), OtherHost::Silent { host, silent }] = &detail.hosts[..]
        else {
            panic!("{detail:?}")
        };
        assert_eq!(first.status.host.as_deref(), Some("h0"));
        assert_eq!((&host[..], &silent[..]), ("h2", "host `h2` has not answered for 3 ms"));
        let nobody = Selector::Name("sensor".to_owned());
        let unknown = "no program runs in the domain `lab`; host `h2` has not answered for 3 ms";
        assert_eq!(all.query(local, Some(&nobody)).unwrap_err(), unknown);
        let dilated = all.dilate_programs(local, Tdf::ONE, &nobody, Caller::default());
        assert_eq!(dilated.unwrap_err(), unknown);
    }

    #[test]
    fn what_only_the_first_host_may_ask_or_nobody_can_is_refused() {
        let world = World::new();
        let ask = |host: usize, from: usize, question: &str| {
            let answer = world.answer(host, from, question.as_bytes());
            serde_json::from_slice::<Answer>(&answer).unwrap()
        };
        let by = r#""by":{"pid":1,"uid":0,"command":"qcycle","inside":false}"#;
        for (host, from, question) in [
            (1, 2, r#"{"ask":"change","tdf_millionths":2000000,"at_ns":0}"#.to_owned()),
            (1, 0, r#"{"ask":"change","tdf_millionths":2000000,"at_ns":0}"#.to_owned()),
            (1, 0, r#"{"ask":"change","tdf_millionths":0,"at_ns":0}"#.to_owned()),
            (1, 0, format!(r#"{{"ask":"dilate","tdf_millionths":2000000,{by}}}"#)),
            (0, 1, format!(r#"{{"ask":"dilate","tdf_millionths":18446744073709551615,{by}}}"#)),
            (0, 1, format!(r#"{{"ask":"release",{by}}}"#)),
            (0, 1, "{\"ask\":".repeat(9000)),
            (0, 1, String::new()),
        ] {
            let answer = ask(host, from, &question);
            assert!(matches!(answer, Answer::Refused(_)), "{question}: {answer:?}");
        }
        assert_eq!(world.factors(), [1_000_000; HOSTS]);
        let long = format!(r#"{{"ask":"dilate","tdf_millionths":3000000,{by}}}"#)
            .replace("qcycle", &"x".repeat(60_000));
        assert_eq!(ask(0, 1, &long), Answer::Done);
        assert_eq!(world.factors(), [3_000_000; HOSTS]);
    }

    #[test]
    fn a_host_speaks_for_itself_alone() {
        let world = World::new();
        let (_, all) = world.at(1);
        let mut says = world.at(2).0.detail(None).unwrap();
        says.status.host = Some("h0".to_owned());
        says.hosts = vec![OtherHost::Silent { host: "h1".to_owned(), silent: "a lie".to_owned() }];
        let understood = all.detail(2, Answer::Detail(Box::new(says))).unwrap();
        assert_eq!((understood.status.host.as_deref(), understood.hosts.len()), (Some("h2"), 0));
        let refused = all.detail(2, Answer::Refused("no".to_owned())).unwrap_err();
        assert_eq!(refused, "host `h2`: no");
    }
}
