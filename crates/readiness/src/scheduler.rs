//! Settings of a running kernel that take time away from real-time tasks.
//!
//! `Documentation/scheduler/sched-rt-group.rst` and `admin-guide/sysctl/kernel.rst`.

use super::host::Host;
use super::{Finding, Item};

pub(super) const GROUP: &str = "scheduler";
/// What a receive thread asks for: 30 streams for half a second.
const RECEIVE_BUFFER_OCTETS: i64 = 16 << 20;
/// Settings that should be 0: their names, files, and what they do otherwise.
const SWITCHES: [(&str, &str, &str); 4] = [
    ("timer migration", "/proc/sys/kernel/timer_migration", "timers move between cores"),
    ("NMI watchdog", "/proc/sys/kernel/nmi_watchdog", "it interrupts every core"),
    ("NUMA balancing", "/proc/sys/kernel/numa_balancing", "pages of tasks are unmapped and moved"),
    ("same-page merging", "/sys/kernel/mm/ksm/run", "pages are merged, and copied when written"),
];

pub(super) fn items(host: &Host) -> Vec<Item> {
    let mut findings = time_taken(host).to_vec();
    findings.extend(SWITCHES.map(|(name, file, effect)| (name, switch(host, file, effect))));
    findings.extend([
        ("transparent huge pages", huge_pages(host)),
        ("receive buffer", receive_buffer(host)),
        ("busy polling", busy_poll(host)),
    ]);
    Item::of_group(GROUP, findings)
}

/// What the kernel takes from real-time tasks for the sake of others.
pub(super) fn time_taken(host: &Host) -> [(&'static str, Finding); 2] {
    [("real-time throttling", throttling(host)), ("reserve for ordinary tasks", reserve(host))]
}

fn throttling(host: &Host) -> Finding {
    let of = |file: &str| host.number(&format!("/proc/sys/kernel/{file}"));
    let (Some(runtime), Some(period)) = (of("sched_rt_runtime_us"), of("sched_rt_period_us"))
    else {
        return Finding::unknown("not available in /proc/sys/kernel");
    };
    if runtime < 0 || runtime >= period {
        return Finding::ok("off");
    }
    let stopped_ms = (period - runtime) / 1000;
    let found =
        format!("a busy SCHED_FIFO task is stopped for {stopped_ms} of {} ms", period / 1000);
    Finding::warn(found, "sysctl -w kernel.sched_rt_runtime_us=-1")
}

/// Since 6.12 the kernel runs ordinary tasks that starve before real-time ones, each core for a share
/// of each period ("fair server", `kernel/sched/debug.c`).
fn reserve(host: &Host) -> Finding {
    let folder = "/sys/kernel/debug/sched/fair_server";
    let of = |core: &String| {
        let ns = |file| host.number(&format!("{folder}/{core}/{file}"));
        Some((ns("runtime")?, ns("period")?))
    };
    let cores = host.names(folder);
    let Some((runtime, period)) = cores.iter().filter_map(of).max() else {
        if release(host).is_some_and(|release| release < (6, 12)) {
            return Finding::ok("this kernel has none");
        }
        let why = if cores.is_empty() {
            "not available without debugfs (mount -t debugfs none /sys/kernel/debug)"
        } else {
            "the kernel does not allow reading it (locked down?)"
        };
        let usual = "since Linux 6.12 it is 50 of 1000 ms by default";
        return Finding::unknown(format!("{why}; {usual}"));
    };
    if runtime == 0 {
        return Finding::ok("off");
    }
    let (runtime_ms, period_ms) = (runtime / 1_000_000, period / 1_000_000);
    let found = format!(
        "starving ordinary tasks take a core from SCHED_FIFO for {runtime_ms} of {period_ms} ms"
    );
    let fix = format!("for core in {folder}/cpu*; do echo 0 > $core/runtime; done");
    Finding::warn(found, fix)
}

/// The first two numbers of the release of the kernel.
fn release(host: &Host) -> Option<(u32, u32)> {
    let text = host.text("/proc/sys/kernel/osrelease")?;
    let mut numbers = text.split(|octet: char| !octet.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn switch(host: &Host, file: &str, effect: &str) -> Finding {
    match host.number(file) {
        None => Finding::ok("this kernel has none"),
        Some(0) => Finding::ok("off"),
        Some(_) => {
            let fix = match file.strip_prefix("/proc/sys/") {
                Some(key) => format!("sysctl -w {}=0", key.replace('/', ".")),
                None => format!("echo 0 > {file}"),
            };
            Finding::warn(format!("on: {effect}"), fix)
        }
    }
}

fn huge_pages(host: &Host) -> Finding {
    let file = "/sys/kernel/mm/transparent_hugepage/enabled";
    let Some(modes) = host.text(file) else {
        return Finding::ok("this kernel has none");
    };
    if modes.contains("[always]") {
        let found = "always: memory is compacted in the background and under faults";
        return Finding::warn(found, format!("echo madvise > {file}"));
    }
    Finding::ok(modes)
}

fn receive_buffer(host: &Host) -> Finding {
    let Some(octets) = host.number("/proc/sys/net/core/rmem_max") else {
        return Finding::unknown("not available in /proc/sys/net/core");
    };
    let found = format!("at most {} KiB without CAP_NET_ADMIN", octets >> 10);
    if octets >= RECEIVE_BUFFER_OCTETS {
        return Finding::ok(found);
    }
    let fix = format!("sysctl -w net.core.rmem_max={RECEIVE_BUFFER_OCTETS}");
    Finding::warn(found, fix)
}

fn busy_poll(host: &Host) -> Finding {
    match host.number("/proc/sys/net/core/busy_read") {
        None => Finding::unknown("not available in /proc/sys/net/core"),
        Some(0) => Finding::ok("off: receivers sleep until an interrupt"),
        Some(us) => Finding::ok(format!("receivers spin for {us} µs")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::named;
    use super::super::{Grade, host};
    use super::*;

    #[test]
    fn what_takes_time_away_is_warned_of_with_how_much() {
        let (_root, host) = host::with(&[
            ("/proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("/proc/sys/kernel/timer_migration", "1\n"),
            ("/proc/sys/kernel/nmi_watchdog", "0\n"),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n"),
            ("/proc/sys/net/core/rmem_max", "212992\n"),
        ]);
        let items = items(&host);
        let of = |name| named(&items, name);
        assert_eq!(of("real-time throttling").grade, Grade::Warn);
        assert!(of("real-time throttling").found.contains("stopped for 50 of 1000 ms"));
        assert_eq!(of("timer migration").grade, Grade::Warn);
        assert_eq!(of("NMI watchdog").grade, Grade::Ok);
        assert_eq!(of("NUMA balancing").grade, Grade::Ok);
        assert_eq!(of("transparent huge pages").grade, Grade::Warn);
        assert!(of("receive buffer").found.starts_with("at most 208 KiB"));
        assert_eq!(of("busy polling").grade, Grade::NotMeasured);
    }

    #[test]
    fn a_reserve_for_ordinary_tasks_is_warned_of_where_the_kernel_tells_it() {
        let cores = |second: &'static str| {
            let folder = "/sys/kernel/debug/sched/fair_server";
            let files: Vec<(String, &str)> = vec![
                (format!("{folder}/cpu0/runtime"), "0\n"),
                (format!("{folder}/cpu0/period"), "1000000000\n"),
                (format!("{folder}/cpu1/runtime"), second),
                (format!("{folder}/cpu1/period"), "1000000000\n"),
            ];
            let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
            let (_root, host) = host::with(&files);
            reserve(&host)
        };
        let warned = cores("50000000\n");
        assert_eq!(warned.grade, Grade::Warn);
        assert!(warned.found.contains("for 50 of 1000 ms"), "{}", warned.found);
        assert_eq!(cores("0\n").grade, Grade::Ok);
        let (_root, host) = host::with(&[("/sys/kernel/debug/sched/fair_server/cpu0/runtime", "")]);
        assert!(reserve(&host).found.contains("locked down"), "{}", reserve(&host).found);
        let of_release = |release| {
            let (_root, host) = host::with(&[("/proc/sys/kernel/osrelease", release)]);
            reserve(&host).grade
        };
        assert_eq!(of_release("6.1.0-40-amd64\n"), Grade::Ok);
        assert_eq!(of_release("5.15.0\n"), Grade::Ok);
        assert_eq!(of_release("6.12.3\n"), Grade::NotMeasured);
        assert_eq!(of_release("7.0-rc1\n"), Grade::NotMeasured);
    }

    #[test]
    fn throttling_that_never_happens_is_in_order() {
        let file = "/proc/sys/kernel/sched_rt_period_us";
        for runtime in ["-1", "1000000"] {
            let runtime = ("/proc/sys/kernel/sched_rt_runtime_us", runtime);
            let (_root, host) = host::with(&[runtime, (file, "1000000")]);
            assert_eq!(throttling(&host).grade, Grade::Ok);
        }
    }
}
