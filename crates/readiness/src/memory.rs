//! What a real-time program needs to be allowed: memory that stays, priorities, raw sockets.

use os::process;

use super::host::Host;
use super::{Finding, Item};

/// capability.h: what a relay uses, and what for.
const CAPABILITIES: [(u32, &str, &str); 3] = [
    (23, "CAP_SYS_NICE", "SCHED_FIFO without RLIMIT_RTPRIO"),
    (14, "CAP_IPC_LOCK", "locked memory without RLIMIT_MEMLOCK"),
    (13, "CAP_NET_RAW", "sampled values and GOOSE on raw sockets"),
];
/// What a relay locks: its buffers and its stacks.
const LOCKED_OCTETS_MIN: u64 = 64 << 20;
/// Priority of the receive thread.
const PRIORITY_MIN: u64 = 80;

pub(super) fn items(host: &Host) -> Vec<Item> {
    let held = capabilities(host);
    let mut findings =
        vec![("locked memory", locked(host, held)), ("real-time priority", priority(host, held))];
    findings.extend(CAPABILITIES.map(|capability| (capability.1, allowed(held, capability))));
    findings.push(("huge pages", huge_pages(host)));
    findings.push(("cache partitions", cache_partitions(host)));
    Item::of_group("memory and rights", findings)
}

fn capabilities(host: &Host) -> u64 {
    let status = host.text("/proc/self/status").unwrap_or_default();
    let mask = process::field(&status, "CapEff");
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).unwrap_or(0)
}

/// The soft limit of a line of `/proc/self/limits`.
fn limit(host: &Host, name: &str) -> Option<u64> {
    let limits = host.text("/proc/self/limits")?;
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    let soft = line.split_whitespace().next()?;
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

fn locked(host: &Host, held: u64) -> Finding {
    if held & (1 << 14) != 0 {
        return Finding::ok("unlimited (CAP_IPC_LOCK)");
    }
    match limit(host, "Max locked memory") {
        Some(octets) if octets >= LOCKED_OCTETS_MIN => Finding::ok(format!("{} MiB", octets >> 20)),
        Some(octets) => Finding::fail(
            format!("{} KiB: a page fault in a task takes milliseconds", octets >> 10),
            "`memlock unlimited` in /etc/security/limits.conf, or LimitMEMLOCK=infinity",
        ),
        None => Finding::unknown("not available in /proc/self/limits"),
    }
}

fn priority(host: &Host, held: u64) -> Finding {
    if held & (1 << 23) != 0 {
        return Finding::ok("any (CAP_SYS_NICE)");
    }
    match limit(host, "Max realtime priority") {
        Some(highest) if highest >= PRIORITY_MIN => Finding::ok(format!("up to {highest}")),
        Some(highest) => Finding::fail(
            format!("up to {highest}: tasks share their cores with everything else"),
            "`rtprio 99` in /etc/security/limits.conf, or LimitRTPRIO=99",
        ),
        None => Finding::unknown("not available in /proc/self/limits"),
    }
}

fn allowed(held: u64, (bit, name, what): (u32, &str, &str)) -> Finding {
    if held & (1 << bit) != 0 {
        return Finding::ok(format!("held: {what}"));
    }
    let fix = format!("setcap {}+ep on the program", name.to_lowercase());
    Finding::warn(format!("not held: {what}"), fix)
}

fn huge_pages(host: &Host) -> Finding {
    let meminfo = host.text("/proc/meminfo").unwrap_or_default();
    let pages = process::field(&meminfo, "HugePages_Total");
    let pages: u64 = pages.and_then(|number| number.parse().ok()).unwrap_or(0);
    // Only virtual machines for guests with deadlines need them.
    let found = if pages == 0 { "none reserved".to_owned() } else { format!("{pages} reserved") };
    Finding::ok(found)
}

fn cache_partitions(host: &Host) -> Finding {
    let cpuinfo = host.text("/proc/cpuinfo").unwrap_or_default();
    if host.exists("/sys/fs/resctrl/schemata") {
        return Finding::ok("resctrl is mounted");
    }
    if !cpuinfo.split_whitespace().any(|flag| flag == "cat_l3" || flag == "cat_l2") {
        return Finding::ok("not supported by this processor");
    }
    let found = "not in use: other cores evict data of the tasks from the shared cache";
    Finding::warn(found, "mount -t resctrl resctrl /sys/fs/resctrl")
}

#[cfg(test)]
mod tests {
    use super::super::item::named;
    use super::super::{Grade, host};
    use super::*;

    const LIMITS: &str = "Limit                     Soft Limit           Hard Limit  Units\n\
        Max locked memory         8388608              8388608     bytes\n\
        Max realtime priority     0                    0\n";

    #[test]
    fn an_ordinary_user_may_not_do_what_a_relay_needs() {
        let (_root, host) = host::with(&[
            ("/proc/self/status", "Name:\tx\nCapEff:\t0000000000000000\n"),
            ("/proc/self/limits", LIMITS),
            ("/proc/meminfo", "HugePages_Total:       4\n"),
            ("/proc/cpuinfo", "flags : fpu cat_l3\n"),
        ]);
        let items = items(&host);
        let of = |name| named(&items, name);
        assert_eq!(of("locked memory").grade, Grade::Fail);
        assert!(of("locked memory").found.starts_with("8192 KiB"));
        assert_eq!(of("real-time priority").grade, Grade::Fail);
        assert_eq!(of("CAP_NET_RAW").grade, Grade::Warn);
        assert_eq!(of("huge pages").found, "4 reserved");
        assert_eq!(of("cache partitions").grade, Grade::Warn);
    }

    #[test]
    fn limits_or_capabilities_are_enough() {
        let generous = LIMITS.replace("8388608 ", "unlimited").replace(" 0 ", "99 ");
        let (_root, host) = host::with(&[
            ("/proc/self/status", "CapEff:\t0000000000000000\n"),
            ("/proc/self/limits", &generous),
        ]);
        assert_eq!(locked(&host, 0).grade, Grade::Ok);
        assert_eq!(priority(&host, 0).found, "up to 99");
        let (_root, host) = host::with(&[("/proc/self/status", "CapEff:\t000001ffffffffff\n")]);
        assert!(items(&host).iter().all(|item| item.finding.grade == Grade::Ok));
    }
}
