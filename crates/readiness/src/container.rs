//! Limits of the control group that this process runs in: a container is one.
//!
//! On control groups of version 1 with real-time group scheduling, a group gets no SCHED_FIFO
//! until it is given a share of it (`Documentation/scheduler/sched-rt-group.rst`); a quota stops
//! even a real-time task's siblings in the middle of a period.

use super::host::Host;
use super::{Cores, Item};

const GROUP: &str = "container";

pub(super) fn items(host: &Host, cores: &Cores) -> Vec<Item> {
    vec![inside(host), real_time(host), quota(host), cpuset(host, cores)]
}

fn inside(host: &Host) -> Item {
    let name = "container";
    let marked = [("/.dockerenv", "Docker"), ("/run/.containerenv", "Podman")];
    let engine = marked.iter().find(|(file, _)| host.exists(file)).map(|(_, engine)| *engine);
    match engine {
        Some(engine) => Item::ok(GROUP, name, format!("yes ({engine})")),
        None => Item::ok(GROUP, name, "none detected"),
    }
}

fn real_time(host: &Host) -> Item {
    let name = "real-time share";
    let group = host.control_group("cpu");
    let runtime =
        group.as_ref().and_then(|folder| host.number(&format!("{folder}/cpu.rt_runtime_us")));
    match (group, runtime) {
        (Some(folder), Some(0)) => Item::fail(
            GROUP,
            name,
            "none: the kernel rejects SCHED_FIFO (EPERM)",
            format!("echo 500000 > {folder}/cpu.rt_runtime_us (runc: linux.resources.cpu)"),
        ),
        (_, Some(us)) => Item::ok(GROUP, name, format!("{us} µs of each period")),
        _ => Item::ok(GROUP, name, "not divided among groups"),
    }
}

fn quota(host: &Host) -> Item {
    let name = "quota";
    let fix = "give the container its own cores (cpuset) instead of a quota";
    let found = |quota: i64, period: i64| {
        format!("{quota} of {period} µs: tasks stop for the rest of each period")
    };
    if let Some(max) = host.control_group("").and_then(|at| host.text(&format!("{at}/cpu.max")))
        && let Some((quota, period)) = max.split_once(' ')
        && let (Ok(quota), Ok(period)) = (quota.parse(), period.parse())
    {
        return Item::fail(GROUP, name, found(quota, period), fix);
    }
    if let Some(folder) = host.control_group("cpu")
        && let Some(quota @ 0..) = host.number(&format!("{folder}/cpu.cfs_quota_us"))
    {
        let period = host.number(&format!("{folder}/cpu.cfs_period_us")).unwrap_or(0);
        return Item::fail(GROUP, name, found(quota, period), fix);
    }
    Item::ok(GROUP, name, "none")
}

fn cpuset(host: &Host, cores: &Cores) -> Item {
    let name = "cores of the group";
    let of = |controller, file: &str| {
        let folder = host.control_group(controller)?;
        host.text(&format!("{folder}/{file}"))?.parse::<Cores>().ok()
    };
    let set = of("", "cpuset.cpus.effective").or_else(|| of("cpuset", "cpuset.effective_cpus"));
    match set.filter(|set| !set.is_empty()) {
        None => Item::ok(GROUP, name, "no set of its own"),
        Some(set) if cores.without(&set).is_empty() => Item::ok(GROUP, name, set.to_string()),
        Some(set) => Item::fail(
            GROUP,
            name,
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
        assert_eq!(items[0].found, "yes (Docker)");
        let failed: Vec<&str> = items[1..].iter().map(|item| item.found.as_str()).collect();
        assert!(items[1..].iter().all(|item| item.grade == Grade::Fail), "{failed:?}");
        assert!(items[1].fix.as_ref().unwrap().contains("/sys/fs/cgroup/cpu/box/cpu.rt_"));
        assert!(failed[1].starts_with("50000 of 100000 µs"));
        assert_eq!(failed[2], "0, not core 1");
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
        assert!(items(&host, &cores).iter().all(|item| item.grade == Grade::Ok));
    }
}
