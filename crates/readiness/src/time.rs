//! Whether this host knows what time it is: sampled values are compared by their stamps.
//!
//! What ptp4l has reached is asked of it with `pmc`, over its socket on this host (pmc(8), IEEE 1588
//! management messages PORT_DATA_SET and TIME_STATUS_NP).

use std::process::{Command, Stdio};

use super::host::Host;
use super::{Finding, Item};

/// Of the class of accuracy that IEC 61850-5 asks of sampled values (T4), ns.
const OFFSET_NS_GOOD: f64 = 4_000.0;
/// Beyond this, samples of two merging units are no longer of one moment (T3), ns.
const OFFSET_NS_MAX: f64 = 25_000.0;

pub(super) fn items(host: &Host) -> Vec<Item> {
    let running = host.processes();
    let follows = running.iter().any(|process| process == "ptp4l");
    let ptp4l = daemon(
        &running,
        "ptp4l",
        "the clock of the network card follows a grandmaster",
        "start ptp4l on the interface of the process bus (package linuxptp)",
    );
    let phc2sys = daemon(
        &running,
        "phc2sys",
        "the system clock follows the network card's",
        "start phc2sys -a -r (package linuxptp)",
    );
    let mut findings =
        vec![("ptp4l", ptp4l), ("phc2sys", phc2sys), ("hardware clocks", hardware_clock(host))];
    if follows {
        findings.push(("offset from the grandmaster", offset(ask_ptp4l().as_deref())));
    }
    Item::of_group("time", findings)
}

/// What ptp4l answers, if pmc is there and it does.
fn ask_ptp4l() -> Option<String> {
    let mut pmc = Command::new("pmc");
    pmc.args(["-u", "-b", "0", "GET PORT_DATA_SET", "GET TIME_STATUS_NP"]);
    let answer = pmc.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// How far the clock of the network card is from the grandmaster's.
fn offset(answer: Option<&str>) -> Finding {
    let Some(answer) = answer else {
        return Finding::unknown("pmc is not installed (package linuxptp)");
    };
    let value = |key: &str| {
        let mut lines = answer.lines().map(str::split_whitespace);
        lines.find_map(|mut words| (words.next()? == key).then(|| words.next()).flatten())
    };
    let state = value("portState").unwrap_or("unknown");
    let Some(ns) = value("master_offset").and_then(|ns| ns.parse::<f64>().ok()) else {
        let why = "ptp4l did not answer pmc; only root and its own user may query it";
        return Finding::unknown(why);
    };
    let found = format!("{:.3} µs, port {state}", ns / 1000.0);
    let fix =
        "see the log of ptp4l: path delay, a switch without transparent clock, a lost grandmaster";
    // The grandmaster itself has nobody to be away from.
    let is_settled = matches!(state, "SLAVE" | "MASTER" | "GRAND_MASTER");
    match ns.abs() {
        away if is_settled && away <= OFFSET_NS_GOOD => Finding::ok(found),
        away if is_settled && away <= OFFSET_NS_MAX => Finding::warn(found, fix),
        _ => Finding::fail(found, fix),
    }
}

fn daemon(running: &[String], name: &str, effect: &str, fix: &str) -> Finding {
    if running.iter().any(|process| process == name) {
        return Finding::ok(format!("runs: {effect}"));
    }
    let found = "does not run: streams of several merging units cannot be compared by time";
    Finding::warn(found, fix)
}

fn hardware_clock(host: &Host) -> Finding {
    let clocks = host.names("/sys/class/ptp");
    let named: Vec<String> = clocks
        .iter()
        .filter_map(|clock| host.text(&format!("/sys/class/ptp/{clock}/clock_name")))
        .collect();
    if named.is_empty() {
        let found = "none: frames are timestamped in software, some 10 µs late";
        return Finding::warn(found, "use a network card with IEEE 1588 timestamps (ethtool -T)");
    }
    Finding::ok(named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::{Grade, host};
    use super::*;

    #[test]
    fn a_host_without_ptp_is_warned_and_one_with_it_is_not() {
        let (_root, bare) = host::with(&[("/proc/1/comm", "init\n")]);
        assert!(items(&bare).iter().all(|item| item.finding.grade == Grade::Warn));
        let (_root, host) = host::with(&[
            ("/proc/1/comm", "ptp4l\n"),
            ("/proc/2/comm", "phc2sys\n"),
            ("/sys/class/ptp/ptp0/clock_name", "igb\n"),
        ]);
        let items = items(&host);
        assert!(items[..3].iter().all(|item| item.finding.grade == Grade::Ok));
        assert_eq!(items[3].name, "offset from the grandmaster");
        assert_eq!(items[2].finding.found, "igb");
    }

    #[test]
    fn the_offset_and_the_state_of_the_port_decide() {
        let of = |state: &str, ns: &str| {
            offset(Some(&format!(
                "sending: GET PORT_DATA_SET\n\t001122.fffe.334455-1 seq 0 RESPONSE MANAGEMENT \
                 PORT_DATA_SET\n\t\tportState               {state}\n\
                 \t\tmaster_offset              {ns}\n\t\tgmPresent   true\n"
            )))
        };
        assert_eq!(of("SLAVE", "-312").grade, Grade::Ok);
        assert_eq!(of("SLAVE", "-312").found, "-0.312 µs, port SLAVE");
        assert_eq!(of("SLAVE", "9000").grade, Grade::Warn);
        assert_eq!(of("SLAVE", "-90000").grade, Grade::Fail);
        assert_eq!(of("UNCALIBRATED", "12").grade, Grade::Fail);
        assert_eq!(offset(Some("")).grade, Grade::NotMeasured);
        assert_eq!(offset(None).grade, Grade::NotMeasured);
    }
}
