//! What `qcycle ps`, `query`, `hold`, `release` and `dilate` print for people.

use std::collections::BTreeMap;

use terminal::shown;
use vtime::{Tdf, VirtualSpan, VirtualTime};

use super::client::DomainInfo;
use super::protocol::{Detail, OtherHost, ProgramStatus, State, Status};
use crate::launch::freeze::FreezeStatus;
use domain::{Freeze, Pace, PaceStatus};

/// One line about a domain.
pub fn line(status: &Status) -> String {
    let clock = &status.clock;
    let at = VirtualTime::from_ns(clock.virtual_ns);
    let state = match clock.holds {
        _ if status.detached => "is detached, and runs".to_owned(),
        0 => "runs".to_owned(),
        1 => "is held (1 hold)".to_owned(),
        holds => format!("is held ({holds} holds)"),
    };
    format!("{} {state} at {at}, tdf {}", shown(&at_host(status)), tdf(clock.tdf_millionths))
}

/// The name of a domain, with that of the host where there are several.
fn at_host(status: &Status) -> String {
    let host = status.host.as_ref().map_or_else(String::new, |host| format!("@{host}"));
    format!("{}{host}", status.name)
}

/// One line about each program that was meant, or about the domain if all of it was, at each of its hosts.
pub fn lines(detail: &Detail, whole: bool) -> String {
    let mut lines = if whole { line(&detail.status) + "\n" } else { program_lines(detail, detail) };
    for other in &detail.hosts {
        lines += &match other {
            OtherHost::Silent { silent, .. } => format!("{}\n", shown(silent)),
            OtherHost::Detail(other) if whole => line(&other.status) + "\n",
            OtherHost::Detail(other) => program_lines(detail, other),
        };
    }
    lines
}

/// One line about each program of a host, which are named as in the domain that was asked.
fn program_lines(domain: &Detail, detail: &Detail) -> String {
    let mut lines = String::new();
    for program in &detail.programs {
        let at = VirtualTime::from_ns(program.virtual_ns);
        let state = match program.state {
            State::Running | State::AtHorizon => "runs",
            State::Held => "is held",
            State::Detached => "is detached",
        };
        let own = tdf(program.tdf_millionths);
        let whole = tdf(detail.status.clock.tdf_millionths);
        lines += &format!(
            "{} ({}) {state} at {at}, tdf {own} within a domain at tdf {whole}\n",
            shown(&full_name(domain, program)),
            program.pid,
        );
    }
    lines
}

/// The table of `qcycle ps`: each domain, and its programs below it.
pub fn table(domains: &[DomainInfo]) -> String {
    let wide = width(domains);
    let [time, paused] = ["VIRTUAL (s)", "PAUSED (s)"];
    let mut table = row(
        wide,
        ["NAME", "PID", "STATE", "TDF", time, paused, "HOLDS", "CALLS", "FREEZE", "PROGRAM"],
    );
    for info in domains {
        match info {
            DomainInfo::Detail(detail) => {
                table += &rows(wide, detail, detail);
                for other in &detail.hosts {
                    table += &match other {
                        OtherHost::Detail(other) => rows(wide, detail, other),
                        OtherHost::Silent { host, silent } => {
                            let name = format!("{}@{host}", detail.status.name);
                            silent_row(wide, &name, None, silent)
                        }
                    };
                }
            }
            DomainInfo::Silent(other) => {
                table += &silent_row(wide, &other.name, other.agent_pid, &other.silent);
            }
        }
    }
    table
}

fn silent_row(wide: usize, name: &str, pid: Option<u32>, why: &str) -> String {
    let pid = pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
    let (name, why) = (shown(name), shown(why));
    format!("{name:<wide$} {pid:>8} {:<8}  {why}\n", "silent")
}

/// A domain at one host, and its programs there, which are named as in the domain that was asked.
fn rows(wide: usize, domain: &Detail, detail: &Detail) -> String {
    let (status, clock) = (&detail.status, &detail.status.clock);
    let name = if domain.hosts.is_empty() { status.name.clone() } else { at_host(status) };
    let mut rows = row(
        wide,
        [
            &shown(&name).to_string(),
            &status.agent_pid.to_string(),
            word(detail.state),
            &tdf(clock.tdf_millionths),
            &seconds(clock.virtual_ns),
            &seconds(clock.paused_ns),
            &clock.holds.to_string(),
            &sum(&status.calls),
            freezing(&status.freeze),
            &shown(&status.title).to_string(),
        ],
    );
    for warning in &status.warnings {
        rows += &format!("    warning: {}\n", shown(warning));
    }
    for program in &detail.programs {
        rows += &row(
            wide,
            [
                &shown(&full_name(domain, program)).to_string(),
                &program.pid.to_string(),
                word(program.state),
                &format!("x{}", tdf(program.tdf_millionths)),
                &seconds(program.virtual_ns),
                &seconds(program.paused_ns),
                "",
                &sum(&program.calls),
                "",
                &shown(&program.command).to_string(),
            ],
        );
    }
    rows
}

/// Width of the column of names: what the names take, within bounds.
fn width(domains: &[DomainInfo]) -> usize {
    let names = domains.iter().flat_map(|info| match info {
        DomainInfo::Detail(detail) => {
            let of = |at: &Detail| {
                let programs = at.programs.iter().map(|program| full_name(detail, program));
                programs.chain([at_host(&at.status)]).collect::<Vec<_>>()
            };
            let others = detail.hosts.iter().flat_map(|other| match other {
                OtherHost::Detail(other) => of(other),
                OtherHost::Silent { host, .. } => vec![format!("{}@{host}", detail.status.name)],
            });
            others.chain(of(detail)).collect()
        }
        DomainInfo::Silent(silent) => vec![silent.name.clone()],
    });
    let longest = names.map(|name| shown(&name).to_string().chars().count()).max();
    longest.unwrap_or(0).clamp(24, 64)
}

fn row(
    wide: usize,
    [name, pid, state, tdf, time, paused, holds, calls, freeze, title]: [&str; 10],
) -> String {
    format!(
        "{name:<wide$} {pid:>8} {state:<8} {tdf:>6} {time:>16} {paused:>14} {holds:>6} {calls:>8} \
         {freeze:<9}  {title}\n"
    )
}

fn seconds(ns: i64) -> String {
    format!("{:.6}", ns as f64 / 1e9)
}

fn sum(calls: &BTreeMap<String, u64>) -> String {
    calls.values().fold(0, |sum: u64, count| sum.saturating_add(*count)).to_string()
}

/// All there is to say about a domain, or about programs of it, at each of its hosts.
pub fn full(detail: &Detail, whole: bool) -> String {
    let mut parts = full_at(detail, detail, whole);
    for other in &detail.hosts {
        parts.extend(match other {
            OtherHost::Detail(other) => full_at(detail, other, whole),
            OtherHost::Silent { host, silent } => {
                let name = format!("{}@{host}", detail.status.name);
                vec![format!(
                    "domain {}: silent\n  {:<13} {}\n",
                    shown(&name),
                    "reason",
                    shown(silent)
                )]
            }
        });
    }
    parts.join("\n")
}

/// A domain at one host if all of it was meant, and programs there, which are named as in the domain that was asked.
fn full_at(asked: &Detail, detail: &Detail, whole: bool) -> Vec<String> {
    let own = whole.then(|| {
        let mut text = String::new();
        domain(&mut text, detail);
        text
    });
    let programs = detail.programs.iter().map(|one| {
        let mut text = String::new();
        program(&mut text, (asked, detail), one);
        text
    });
    own.into_iter().chain(programs).collect()
}

fn domain(text: &mut String, detail: &Detail) {
    let (status, clock) = (&detail.status, &detail.status.clock);
    *text += &format!("domain {}: {}\n", shown(&at_host(status)), shown(&status.title));
    let mut line = |what: &str, value: String| *text += &format!("  {what:<13} {value}\n");
    let state = match clock.holds {
        0 => word(detail.state).to_owned(),
        holds => format!("{}, holds {holds}", word(detail.state)),
    };
    line("state", state);
    line("virtual time", VirtualTime::from_ns(clock.virtual_ns).to_string());
    line("offset", offset(clock.offset_ns));
    line("tdf", tdf(clock.tdf_millionths));
    line("paused", format!("{}, stops {}", span(clock.paused_ns), clock.stops));
    line("pace", pace(&status.pace));
    if !status.pace.method.is_empty() {
        line("idleness by", status.pace.method.clone());
    }
    line("freeze", format!("{}, method {}", status.freeze.mode, freezing(&status.freeze)));
    line("agent", status.agent_pid.to_string());
    line("programs", detail.programs.len().to_string());
    line("calls", calls(&status.calls));
    warnings(text, &status.warnings);
}

fn program(text: &mut String, (asked, detail): (&Detail, &Detail), program: &ProgramStatus) {
    let name = full_name(asked, program);
    let name = shown(&name);
    *text += &format!("program {name}: {}\n", shown(&program.command));
    let mut line = |what: &str, value: String| *text += &format!("  {what:<13} {value}\n");
    let domain = tdf(detail.status.clock.tdf_millionths);
    let own = tdf(program.tdf_millionths);
    detail.status.host.iter().for_each(|host| line("host", shown(host).to_string()));
    line("state", word(program.state).to_owned());
    line("virtual time", VirtualTime::from_ns(program.virtual_ns).to_string());
    line("offset", offset(program.offset_ns));
    match program.state {
        State::Detached => line("tdf", "1, at host rate".to_owned()),
        _ => line("tdf", format!("{own} within a domain at tdf {domain}")),
    }
    line("paused", span(program.paused_ns));
    line("processes", program.pids.iter().map(i32::to_string).collect::<Vec<_>>().join(" "));
    line("calls", calls(&program.calls));
    warnings(text, &program.warnings);
}

fn pace(status: &PaceStatus) -> String {
    if status.pace == Pace::Real {
        return status.pace.to_string();
    }
    status.words(span)
}

fn warnings(text: &mut String, warnings: &[String]) {
    for warning in warnings {
        *text += &format!("  {:<13} {}\n", "warning", shown(warning));
    }
}

fn calls(calls: &BTreeMap<String, u64>) -> String {
    if calls.is_empty() {
        return "none".to_owned();
    }
    let calls = calls.iter().map(|(kind, count)| format!("{} {count}", shown(kind)));
    calls.collect::<Vec<_>>().join(", ")
}

fn freezing(status: &FreezeStatus) -> &str {
    match status.method {
        Some(method) => method.name(),
        None if status.mode == Freeze::Off.to_string() => "off",
        None => "-",
    }
}

fn offset(ns: i64) -> String {
    let sign = if ns >= 0 { "+" } else { "" };
    format!("{sign}{} (CLOCK_REALTIME there minus that of the host)", span(ns))
}

fn full_name(detail: &Detail, program: &ProgramStatus) -> String {
    format!("{}/{}", detail.status.name, program.name)
}

fn word(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Held => "held",
        State::AtHorizon => "waiting",
        State::Detached => "detached",
    }
}

fn span(ns: i64) -> String {
    VirtualSpan::from_ns(ns).to_string()
}

fn tdf(millionths: u64) -> String {
    Tdf::from_millionths(millionths).map_or_else(|_| "?".to_owned(), |tdf| tdf.to_string())
}
