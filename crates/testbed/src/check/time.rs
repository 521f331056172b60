//! Whether this host knows what time it is: sampled values are compared by their stamps.

use super::Item;
use super::host::Host;

const GROUP: &str = "time";

pub(super) fn items(host: &Host) -> Vec<Item> {
    let running = host.processes();
    vec![
        daemon(
            &running,
            "ptp4l",
            "the network card's clock follows a grandmaster",
            "start ptp4l on the interface of the process bus (package linuxptp)",
        ),
        daemon(
            &running,
            "phc2sys",
            "the system clock follows the network card's",
            "start phc2sys -a -r (package linuxptp)",
        ),
        hardware_clock(host),
    ]
}

fn daemon(running: &[String], name: &str, effect: &str, remedy: &str) -> Item {
    if running.iter().any(|process| process == name) {
        return Item::ok(GROUP, name, format!("runs: {effect}"));
    }
    let found = "does not run: streams of several merging units cannot be compared by time";
    Item::warn(GROUP, name, found, remedy)
}

fn hardware_clock(host: &Host) -> Item {
    let name = "hardware clocks";
    let clocks = host.names("/sys/class/ptp");
    let named: Vec<String> = clocks
        .iter()
        .filter_map(|clock| host.text(&format!("/sys/class/ptp/{clock}/clock_name")))
        .collect();
    if named.is_empty() {
        let found = "none: frames are stamped by software, some 10 µs late";
        return Item::warn(GROUP, name, found, "a network card with IEEE 1588 stamps (ethtool -T)");
    }
    Item::ok(GROUP, name, named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::{Grade, host};
    use super::*;

    #[test]
    fn a_host_without_ptp_is_warned_and_one_with_it_is_not() {
        let (_root, bare) = host::with(&[("/proc/1/comm", "init\n")]);
        assert!(items(&bare).iter().all(|item| item.grade == Grade::Warn));
        let (_root, host) = host::with(&[
            ("/proc/1/comm", "ptp4l\n"),
            ("/proc/2/comm", "phc2sys\n"),
            ("/sys/class/ptp/ptp0/clock_name", "igb\n"),
        ]);
        let items = items(&host);
        assert!(items.iter().all(|item| item.grade == Grade::Ok));
        assert_eq!(items[2].found, "igb");
    }
}
