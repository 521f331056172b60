//! A hostile program in one node, and one that does no harm in another: the latter must not notice.
//!
//! Each way is one that a program can go without any privilege but that of the user who runs it.
//! Its neighbour sets timers and runs other programs all the time, and says so in the end if none of
//! that failed. Nobody measures how late it was: what else this machine does is unknown.

use results::disturbance::Cause;
use results::record::ProgramEnd;

use crate::common::guests::{Link, c};
use crate::common::machine::alone;
use crate::run::harness::{self, Finished, Place};

/// A scenario with a hostile program that goes this way, of the guest with most ways if no other.
fn scenario(way: &'static str, duration_s: u32) -> String {
    let (guest, way) = way.split_once(": ").unwrap_or(("hostile", way));
    let [hostile, neighbour] = [guest, "neighbour"].map(|guest| c(guest, Link::Static));
    let (hostile, neighbour) = (hostile.display(), neighbour.display());
    format!(
        "scenario: hostile
duration: {duration_s} s
settle: 0 s
nodes:
  bad:
    programs:
      - {{name: hostile, run: {hostile} {way}, on_exit: ignore}}
  good:
    programs:
      - {{name: neighbour, run: {neighbour} 60, on_exit: ignore}}
"
    )
}

/// Runs it, and looks whether its neighbour was well.
fn neighbour_is_well(way: &'static str) {
    neighbour_is_well_and(way, |_| true);
}

/// The same, and that all is as it should be in what else the run left.
fn neighbour_is_well_and(way: &'static str, is_right: impl Fn(&Finished) -> bool) {
    if !harness::is_root() {
        return;
    }
    // They would notice.
    alone();
    // Enough by far on a machine that has nothing else to do, and on one that has.
    if !is_well_within(way, 2, &is_right) {
        assert!(is_well_within(way, 30, &is_right), "its neighbour got nowhere beside {way}");
    }
}

fn is_well_within(
    way: &'static str,
    duration_s: u32,
    is_right: &impl Fn(&Finished) -> bool,
) -> bool {
    let place = Place::new(&scenario(way, duration_s));
    let mut running = place.start(&[]);
    // What anybody may ask of a domain is answered, and does what it shall.
    let domain = running.begun().name;
    std::thread::sleep(std::time::Duration::from_millis(500));
    let program = format!("{domain}/hostile");
    let mut are_answered = true;
    for call in [&["hold", &domain][..], &["release", &domain], &["dilate", "--tdf", "1", &program]]
    {
        let said = place.qcycle(call).output().unwrap();
        println!("{way}: {call:?}: {said:?}");
        are_answered &= said.status.success();
        // Long enough for programs to be frozen.
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let run = running.finish().expect(0);
    are_answered && run.lines("neighbour") == ["all done"] && is_right(&run)
}

#[test]
fn a_program_that_writes_anything_into_its_own_page() {
    neighbour_is_well("page");
}

#[test]
fn four_hundred_execs_that_never_get_on() {
    neighbour_is_well("execs");
}

/// The processes that hang in an exec cannot be attached to, and the freezer, which attaches to
/// others, must not wait for that: nobody could release the domain.
#[test]
fn execs_from_a_file_system_that_hangs() {
    neighbour_is_well("hang");
}

#[test]
fn pages_that_answer_nobody_where_programs_are_told_apart() {
    neighbour_is_well("maps");
}

#[test]
fn execs_without_end() {
    neighbour_is_well("storm");
}

#[test]
fn lines_without_end() {
    neighbour_is_well("flood");
}

#[test]
#[ignore = "long: a run of half a minute"]
fn timers_without_number() {
    neighbour_is_well_and("timer_storm: many 60 300000", |run| {
        let parties = run.record().disturbances.unwrap().parties;
        let is_refused =
            |name| parties.iter().any(|one| one.who == name && one.cause == Cause::Refused);
        assert!(!is_refused("neighbour"), "{}", run.err);
        is_refused("hostile")
    });
}

#[test]
fn timers_that_are_always_due() {
    neighbour_is_well("timer_storm: fast 60");
}

#[test]
fn timers_set_from_memory_that_answers_nobody() {
    neighbour_is_well("timer_storm: faults 60");
}

/// It finds the first process of its node, and nothing in it that leads to the agent.
#[test]
fn sockets_that_lead_to_the_agent_are_out_of_reach() {
    neighbour_is_well_and("steal neighbour", |run| {
        run.lines("hostile") == ["looked at 1 up to number 1, stole 0"]
    });
}

/// Programs that come after a hostile one in its own node.
const OTHERS: u32 = 60;

/// A scenario with those, and a hostile program that goes this way.
fn among_others(way: &str, duration_s: u32) -> String {
    let hostile = c("hostile", Link::Static);
    let mut text = format!(
        "scenario: among-others
duration: {duration_s} s
settle: 0 s
nodes:
  bad:
    programs:
      - {{name: hostile, run: {} {way}, on_exit: ignore}}
",
        hostile.display()
    );
    for other in 0..OTHERS {
        text += &format!("      - {{name: other{other}, run: sleep 60}}\n");
    }
    text
}

/// It looks at all that come after it, from the moment on at which they are there.
#[test]
fn a_program_that_begins_has_nothing_that_leads_to_the_agent() {
    let Some(place) = Place::for_root(&among_others("steal other7 1000", 3)) else { return };
    let run = place.run(&[]).expect(0);
    let [said] = &run.lines("hostile")[..] else { panic!("{:?}", run.lines("hostile")) };
    let words: Vec<&str> = said.split([' ', ',']).collect();
    // They came while it looked.
    assert!(words[6].parse::<u32>().unwrap() > OTHERS / 4, "{said}");
    assert!(said.ends_with(" stole 0"), "{said}");
    assert_eq!(run.record().programs.len(), 61);
}

/// Whether there is a program is known from the kernel, not from what others may write.
#[test]
fn a_program_that_begins_is_there_whatever_others_write_into_its_memory() {
    let Some(place) = Place::for_root(&among_others("forge 1000", 3)) else { return };
    let run = place.run(&[]).expect(0);
    let [said] = &run.lines("hostile")[..] else { panic!("{:?}", run.lines("hostile")) };
    let forged: u32 = said.strip_prefix("forged ").unwrap().parse().unwrap();
    assert!(forged > 0);
    let programs = run.record().programs;
    assert!(programs.iter().all(|program| program.end == ProgramEnd::Stopped), "{programs:?}");
}

/// Files that it covers are not looked at any more, so programs begin and end as ever.
#[test]
fn what_a_program_mounts_in_its_node_keeps_no_other_one_there_from_its_beginning_or_end() {
    let mut text = among_others("cover", 60);
    text += "      - {name: killed, run: [sh, -c, 'sleep 0.5; kill -9 $$'], on_exit: ignore}\n";
    text += "      - {name: last, run: [sh, -c, 'sleep 1; exit 3']}\n";
    let Some(place) = Place::for_root(&text) else { return };
    let run = place.run(&[]).expect(12);
    assert_eq!(run.lines("hostile"), ["cover"]);
    let ended = run.record().ended.reason;
    assert!(ended.starts_with("program `last` exited with 3"), "{ended}");
}
