//! A clock that jumps over idle time: no wait is early, none is lost, no timeout passes while an answer is
//! on its way, and no wake-up of one wait is noticed by another call. Waits last days, so a test ends at
//! all only if the clock jumps; how long it takes, no test asks.

use std::path::Path;
use std::process::{Command, Stdio};

use runtime::agent::protocol::Call;

use crate::common::guests::{In, Link, Running, c, qcycle, run, sleep_ms};
use crate::common::machine::{Busy, alone};

/// What a guest says in which nothing was wrong.
const DONE: &str = "done\n";

/// Those in which the clock jumps. In each, all that is tested here holds.
const PACES: [&str; 2] = ["skip", "events"];

fn skipping(pace: &str, options: &[&str], link: Link, arguments: &[&str]) -> Command {
    let mut command = qcycle(&["exec", "--pace", pace]);
    command.args(options).arg("--").arg(c("skip", link)).args(arguments);
    command
}

#[track_caller]
fn goes_well(command: &mut Command, expected: &str) {
    let printed = run(command);
    assert_eq!((printed.out.as_str(), printed.end), (expected, 0), "{}", printed.err);
}

#[test]
fn a_day_passes_at_once_in_each_call_that_waits() {
    for pace in PACES {
        for link in [Link::Dynamic, Link::Static] {
            goes_well(&mut skipping(pace, &[], link, &["all"]), DONE);
        }
        goes_well(&mut skipping(pace, &["--tdf", "0.5"], Link::Dynamic, &["all"]), DONE);
    }
}

/// Each waits for a time that the host reckoned with before the clock has jumped.
#[test]
fn no_wait_is_late_that_ends_while_another_program_computes() {
    for pace in PACES {
        for link in [Link::Dynamic, Link::Static] {
            goes_well(&mut skipping(pace, &[], link, &["beside"]), DONE);
        }
    }
}

/// Another sleeper whose time is years off: a clock that loses sight of who sleeps for a day jumps there.
/// Each command is an exec, in which a program is between its old memory and its new one for a moment.
#[test]
fn nobody_is_lost_sight_of_in_an_exec() {
    for pace in PACES {
        const DAY_S: i64 = 86_400;
        let script = "sleep 200000000 & turn=0; while [ $turn -lt 25 ]; do date +%s; sleep 1d; \
                      turn=$((turn + 1)); done; date +%s; kill $!";
        let mut command = qcycle(&["exec", "--pace", pace, "--", "sh", "-c", script]);
        let printed = run(&mut command);
        let times: Vec<i64> = printed.out.lines().map(|line| line.parse().unwrap()).collect();
        assert_eq!(times.len(), 26, "{} {}", printed.out, printed.err);
        for day in times.windows(2) {
            let passed_s = day[1] - day[0];
            // An hour is more than any host needs to start two commands.
            assert!((DAY_S..DAY_S + 3600).contains(&passed_s), "{passed_s} s in {times:?}");
        }
    }
}

/// Its memory and files are not to be seen under its number. Beside a sleeper whose time is a hundred years off.
#[test]
fn a_program_whose_first_thread_has_ended_is_waited_for() {
    for pace in PACES {
        for link in [Link::Dynamic, Link::Static] {
            let script = "sleep 3153600000 & \"$1\" 86400; kill $!";
            let guest = c("headless", link);
            let mut command = qcycle(&["exec", "--pace", pace, "--", "sh", "-c", script, "sh"]);
            goes_well(command.arg(guest), "ready\nslept\ntimer\n");
        }
    }
}

/// A clock that went to where such a sleep is over would be at the end of all time.
#[test]
fn who_sleeps_for_ever_is_not_waited_for() {
    for pace in PACES {
        let script = "sleep infinity & sleep 1d; kill $!; wait; date +%s";
        let mut command =
            qcycle(&["exec", "--pace", pace, "--start", "2001-01-01T00:00:00Z", "--"]);
        let printed = run(command.args(["sh", "-c", script]));
        let day_s = printed.out.trim().parse::<i64>().unwrap() - 978_307_200;
        assert!((86_400..86_400 + 3600).contains(&day_s), "{} {}", printed.out, printed.err);
        // Alone, it keeps the clock at host rate.
        let alone = "sleep infinity & read line; kill $!; date +%s";
        let mut command =
            qcycle(&["exec", "--pace", pace, "--start", "2001-01-01T00:00:00Z", "--"]);
        let mut shell = command.args(["sh", "-c", alone]);
        shell = shell.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = shell.spawn().unwrap();
        sleep_ms(300);
        drop(child.stdin.take());
        let printed = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let passed_s = printed.trim().parse::<i64>().unwrap() - 978_307_200;
        assert!((0..3600).contains(&passed_s), "{passed_s} s");
    }
}

#[test]
fn threads_and_children_wake_up_when_it_is_their_turn() {
    for pace in PACES {
        goes_well(&mut skipping(pace, &[], Link::Dynamic, &["threads"]), DONE);
        goes_well(&mut skipping(pace, &[], Link::Dynamic, &["children"]), "done\ndone\n");
    }
}

#[test]
fn who_ends_in_a_wait_or_jumps_out_of_one_leaves_nothing_behind() {
    for pace in PACES {
        for link in [Link::Dynamic, Link::Static] {
            goes_well(&mut skipping(pace, &[], link, &["ends"]), DONE);
            goes_well(&mut skipping(pace, &[], link, &["jumps-out"]), DONE);
        }
    }
}

#[test]
fn waits_that_end_by_themselves_meet_no_signal_that_wakes() {
    for pace in PACES {
        for link in [Link::Dynamic, Link::Static] {
            goes_well(&mut skipping(pace, &[], link, &["short"]), DONE);
        }
    }
}

/// Only where each wait ends at its nanosecond.
#[test]
fn a_timer_comes_before_a_wait_that_is_over_at_the_same_moment() {
    for link in [Link::Dynamic, Link::Static] {
        goes_well(&mut skipping("events", &[], link, &["ties"]), DONE);
        let _busy = Busy::start();
        goes_well(&mut skipping("events", &[], link, &["ties"]), DONE);
    }
}

/// Where the clock stands, however many compute at the same instant, and beside others.
#[test]
fn computing_takes_no_time_and_looking_at_the_clock_ends() {
    for link in [Link::Dynamic, Link::Static] {
        let _busy = Busy::start();
        goes_well(&mut skipping("events", &[], link, &["compute"]), DONE);
        goes_well(&mut skipping("events", &[], link, &["spin"]), DONE);
    }
}

#[test]
fn a_program_that_may_queue_no_signals_is_woken_too() {
    for pace in PACES {
        goes_well(&mut skipping(pace, &[], Link::Dynamic, &["no-signals"]), DONE);
    }
}

#[test]
fn a_program_may_have_had_any_number_of_threads() {
    for pace in PACES {
        goes_well(&mut skipping(pace, &[], Link::Dynamic, &["many"]), DONE);
    }
}

/// Beside busy loops whoever is to answer waits for a processor most of the time.
#[test]
fn no_timeout_passes_while_an_answer_is_on_its_way() {
    for pace in PACES {
        alone();
        let ways = [("pipe", "3000"), ("unix", "3000"), ("eventfd", "3000"), ("terminal", "2000")];
        for (way, rounds) in ways.into_iter().chain([("tcp", "30")]) {
            goes_well(&mut skipping(pace, &[], Link::Dynamic, &["ask", way, rounds]), DONE);
            let _busy = Busy::start();
            let fewer = (rounds.parse::<u32>().unwrap() / 10).max(10).to_string();
            goes_well(&mut skipping(pace, &[], Link::Dynamic, &["ask", way, &fewer]), DONE);
        }
    }
}

fn start(pace: &str, name: &str, tdf: &'static str, what: &str) -> Running {
    let options = ["--freeze", "off", "--pace", pace];
    Running::frozen(&options, In::Virtual(tdf), name, &c("skip", Link::Dynamic), &[what]).ready()
}

#[test]
fn holds_and_other_rates_in_between_make_no_wait_early_or_long() {
    for pace in PACES {
        let guest = start(pace, &format!("{pace}-held"), "1", "minutes");
        for tdf in ["4", "0.5", "100", "1"] {
            guest.ask(Call::Hold);
            guest.ask(Call::Dilate { tdf: tdf.into() });
            sleep_ms(10);
            guest.ask(Call::Release);
        }
        let printed = guest.finish();
        assert_eq!((printed.out.as_str(), printed.end), (DONE, 0));
    }
}

fn shell(pace: &str, name: &str, tdf: &'static str, script: &str) -> Running {
    let options = ["--freeze", "off", "--pace", pace];
    Running::frozen(&options, In::Virtual(tdf), name, Path::new("/bin/sh"), &["-c", script])
}

/// A stopped program is not idle: its time goes on as the host's does, and it jumps again afterwards.
#[test]
fn a_program_that_is_stopped_keeps_the_clock() {
    for pace in PACES {
        let script = "echo $$; sleep 86400 & kill -STOP $$; wait; echo done";
        let mut guest = shell(pace, &format!("{pace}-stopped"), "1", script);
        let process: i32 = guest.line().parse().unwrap();
        while os::process::state_of(process) != Some('T') {
            sleep_ms(5);
        }
        let now_s =
            |guest: &Running| guest.ask(Call::Status).unwrap().clock.virtual_ns / 1_000_000_000;
        sleep_ms(100);
        let before = now_s(&guest);
        sleep_ms(300);
        assert!(now_s(&guest) - before < 3600, "it has jumped");
        os::signals::send(process.cast_unsigned(), libc::SIGCONT);
        let printed = guest.finish();
        assert_eq!((printed.out.as_str(), printed.end), (DONE, 0));
    }
}

#[test]
fn who_is_detached_goes_on_with_the_host() {
    for pace in PACES {
        for held in [true, false] {
            let name = format!("{pace}-detached-{held}");
            let mut guest =
                shell(pace, &name, "100", "echo ready; read line; sleep 1; echo done").ready();
            if held {
                guest.ask(Call::Hold);
                guest.say("go");
                sleep_ms(50);
            }
            guest.ask(Call::Detach);
            if !held {
                guest.say("go");
            }
            let printed = guest.finish();
            assert_eq!((printed.out.as_str(), printed.end), (DONE, 0));
        }
    }
}
