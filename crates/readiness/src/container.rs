//! Limits of the control group that this process runs in: a container is one.
//!
//! On control groups of version 1 with real-time group scheduling, a group gets no SCHED_FIFO
//! until it is given a share of it (`Documentation/scheduler/sched-rt-group.rst`); a quota stops
//! even a real-time task's siblings in the middle of a period.

use super::host::Host;
use super::{Cores, Finding, Item};

pub(super) fn items(host: &Host, cores: &Cores) -> Vec<Item> {
    let findings = [
        ("container", inside(host)),
        ("real-time share", real_time(host)),
        ("quota", quota(host)),
        ("cores of the group", cpuset(host, cores)),
    ];
    Item::of_group("container", findings)
}

fn inside(host: &Host) -> Finding {
    let marked = [("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")];
    let engine = marked.iter().find(|(file, _)| host.exists(file)).map(|(_, engine)| *engine);
    match engine {
        Some(engine) => Finding::ok(format!("yes ({engine})")),
        None => Finding::ok("none detected"),
    }
}

fn real_time(host: &Host) -> Finding {
    let group = host.control_group("cpu");
    let runtime =
        group.as_ref().and_then(|folder| host.number(&format!("{folder}/cpu.rt_runtime_us")));
    match (group, runtime) {
        (Some(folder), Some(0)) => Finding::fail(
            "none: the kernel rejects SCHED_FIFO (EPERM)",
            format!("echo 500000 > {folder}/cpu.rt_runtime_us (runc: linux.resources.cpu)"),
        ),
        (_, Some(us)) => Finding::ok(format!("{us} µs of each period")),
        _ => Finding::ok("not divided among groups"),
    }
}

fn quota(host: &Host) -> Finding {
    let fix = "give the container its own cores (cpuset) instead of a quota";
    let found = |quota: i64, period: i64| {
        format!("{quota} of {period} µs: tasks stop for the rest of each period")
    };
    if let Some(max) = host.control_group("").and_then(|at| host.text(&format!("{at}/cpu.max")))
        && let Some((quota, period)) = max.split_once(' ')
        && let (Ok(quota), Ok(period)) = (quota.parse(), period.parse())
    {
        return Finding::fail(found(quota, period), fix);
    }
    if let Some(folder) = host.control_group("cpu")
        && let Some(quota @ 0..) = host.number(&format!("{folder}/cpu.cfs_quota_us"))
    {
        let period = host.number(&format!("{folder}/cpu.cfs_period_us")).unwrap_or(0);
        return Finding::fail(found(quota, period), fix);
    }
    Finding::ok("none")
}

fn cpuset(host: &Host, cores: &Cores) -> Finding {
    let of = |controller, file: &str| {
        let folder = host.control_group(controller)?;
        host.text(&format!("{folder}/{file}"))?.parse::<Cores>().ok()
    };
    let set = of("", "cpuset.cpus.effective").or_else(|| of("cpuset", "cpuset.effective_cpus"));
    match set.filter(|set| !set.is_empty()) {
        None => Finding::ok("no set of its own"),
        Some(set) if cores.without(&set).is_empty() => Finding::ok(set.to_string()),
        Some(set) => Finding::fail(
            format!("{set}, not core {}", cores.without(&set)),
            format!("give the group the cores {cores}, or select others with --cores"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Grade, host};
    use super::*;

    #[test]
    fn a_group_without_real_time_share_is_no_place_for_a_relay() {
        let (_root, host) = host::with(&[
            ("/proc/self/cgroup", "4:cpuset:/box\n1:cpu,cpuacct:/box\n0::/\n"),
            ("/sys/fs/cgroup/cpu/box/cgroup.procs", ""),
            ("/sys/fs/cgroup/cpu/box/cpu.rt_runtime_us", "0\n"),
            ("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000\n"),
            ("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n"),
            ("/sys/fs/cgroup/cpuset/box/cgroup.procs", ""),
            ("/sys/fs/cgroup/cpuset/box/cpuset.effective_cpus", "0\n"),
            ("/.dockerenv", ""),
        ]);
        let items = items(&host, &"0-1".parse().unwrap());
        let findings: Vec<&Finding> = items.iter().map(|item| &item.finding).collect();
        assert_eq!(findings[0].found, "yes (Docker)");
        let failed = &findings[1..];
        assert!(failed.iter().all(|finding| finding.grade == Grade::Fail), "{failed:?}");
        assert!(failed[0].fix.as_ref().unwrap().contains("/sys/fs/cgroup/cpu/box/cpu.rt_"));
        assert!(failed[1].found.starts_with("50000 of 100000 µs"));
        assert_eq!(failed[2].found, "0, not core 1");
    }

    #[test]
    fn version_2_has_a_quota_in_one_file() {
        let (_root, host) = host::with(&[
            ("/proc/self/cgroup", "0::/system.slice/relay.service\n"),
            ("/sys/fs/cgroup/system.slice/relay.service/cgroup.procs", ""),
            ("/sys/fs/cgroup/system.slice/relay.service/cpu.max", "20000 100000\n"),
            ("/sys/fs/cgroup/system.slice/relay.service/cpuset.cpus.effective", "0-7\n"),
        ]);
        let cores = "2".parse().unwrap();
        assert_eq!(quota(&host).grade, Grade::Fail);
        assert_eq!(cpuset(&host, &cores).grade, Grade::Ok);
        assert_eq!(real_time(&host).found, "not divided among groups");
        let (_root, host) = host::with(&[
            ("/proc/self/cgroup", "0::/\n"),
            ("/sys/fs/cgroup/cgroup.procs", ""),
            ("/sys/fs/cgroup/cpu.max", "max 100000\n"),
        ]);
        assert!(items(&host, &cores).iter().all(|item| item.finding.grade == Grade::Ok));
    }
}
