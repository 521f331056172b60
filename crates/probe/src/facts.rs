//! What the measured machine says about itself, at the head of each stream.
//!
//! A figure of latency means nothing without the kernel, the clock and the settings behind it.
//! Facts are as found, without judgement; a file that cannot be read is `None`, never a guess.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cores::Cores;
use crate::host::Host;

/// One machine at one time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    pub host: String,
    /// Release of the kernel, as `uname -r`.
    pub kernel_release: String,
    /// Version of the kernel, as `uname -v`: PREEMPT_RT stands there.
    pub kernel_version: String,
    /// Architecture, as `uname -m`.
    pub machine: String,
    /// `/sys/kernel/realtime`: 1 on kernels with PREEMPT_RT; `None` where there is no such file.
    pub realtime: Option<i64>,
    /// The line that the kernel was booted with.
    pub kernel_line: Option<String>,
    pub processor: Option<String>,
    /// Cores that are online, as a list (`0-3`).
    pub cores_online: Option<String>,
    /// What the kernel reads its clock from (`tsc`, `kvm-clock`, `hpet`).
    pub clock_source: Option<String>,
    /// Frequency governor of each core that has one.
    pub governors: BTreeMap<usize, String>,
    /// Whether cores may go faster for a while (boost, turbo).
    pub boost: Option<bool>,
    /// Whether several threads of processors share a core.
    pub smt: Option<bool>,
    /// Share of each period that SCHED_FIFO may take: runtime and period, µs; a runtime of -1 is
    /// all of it.
    pub rt_throttling_us: Option<(i64, i64)>,
    /// The same of the probe's own control group (cgroup v1 with real-time group scheduling).
    pub cgroup_rt_us: Option<(i64, i64)>,
    /// Whether it says that it is a virtual machine, and of whom.
    pub virtualised: Option<String>,
    /// Whether there is a battery and no other supply.
    pub on_battery: Option<bool>,
}

impl Facts {
    /// Those of this machine, now.
    pub fn of_this_machine() -> Self {
        Self::of(&Host::this())
    }

    /// The cores that are online, if that is known.
    pub(crate) fn online(&self) -> Option<Cores> {
        self.cores_online.as_ref()?.parse().ok()
    }

    /// Those of a host, by its files.
    pub fn of(host: &Host) -> Self {
        let kernel = |file: &str| host.text(&format!("/proc/sys/kernel/{file}"));
        let processors = host.text("/proc/cpuinfo").unwrap_or_default();
        Self {
            host: kernel("hostname").unwrap_or_default(),
            kernel_release: kernel("osrelease").unwrap_or_default(),
            kernel_version: kernel("version").unwrap_or_default(),
            machine: kernel("arch").unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
            realtime: host.number("/sys/kernel/realtime"),
            kernel_line: host.text("/proc/cmdline"),
            processor: value(&processors, &["model name", "Model", "cpu model", "Hardware"]),
            cores_online: host.text(&format!("{CORES}/online")),
            clock_source: host
                .text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            governors: governors(host),
            boost: boost(host),
            smt: host.number(&format!("{CORES}/smt/active")).map(|active| active != 0),
            rt_throttling_us: host
                .number("/proc/sys/kernel/sched_rt_runtime_us")
                .zip(host.number("/proc/sys/kernel/sched_rt_period_us")),
            cgroup_rt_us: host.control_group("cpu").and_then(|folder| {
                let number = |file: &str| host.number(&format!("{folder}/cpu.rt_{file}_us"));
                number("runtime").zip(number("period"))
            }),
            virtualised: virtualised(host, &processors),
            on_battery: on_battery(host),
        }
    }
}

const CORES: &str = "/sys/devices/system/cpu";

/// The first value of one of these keys in lines of `key : value`.
fn value(text: &str, keys: &[&str]) -> Option<String> {
    let of = |key: &&str| {
        text.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == *key).then(|| value.trim().to_owned())
        })
    };
    keys.iter().find_map(of)
}

fn governors(host: &Host) -> BTreeMap<usize, String> {
    let of = |name: String| {
        let core = name.strip_prefix("cpu")?.parse().ok()?;
        Some((core, host.text(&format!("{CORES}/{name}/cpufreq/scaling_governor"))?))
    };
    host.names(CORES).into_iter().filter_map(of).collect()
}

/// Drivers differ in the file and in its sense.
fn boost(host: &Host) -> Option<bool> {
    let no_turbo = || host.number(&format!("{CORES}/intel_pstate/no_turbo")).map(|no| no == 0);
    host.number(&format!("{CORES}/cpufreq/boost")).map(|boost| boost != 0).or_else(no_turbo)
}

/// Whose virtual machine it is: Xen says so itself, x86 processors have a flag for it, and boards of
/// virtual machines name themselves.
fn virtualised(host: &Host, processors: &str) -> Option<String> {
    let vendor = || host.text("/sys/class/dmi/id/sys_vendor");
    if let Some(hypervisor) = host.text("/sys/hypervisor/type") {
        return Some(hypervisor);
    }
    let flags = value(processors, &["flags"]).unwrap_or_default();
    if flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return Some(vendor().unwrap_or_else(|| "unknown".to_owned()));
    }
    let board = host.text("/proc/device-tree/compatible")?;
    board.contains("linux,dummy-virt").then(|| "linux,dummy-virt".to_owned())
}

/// A supply of the kind `Mains` or `USB` that is online means: not on battery.
fn on_battery(host: &Host) -> Option<bool> {
    const FOLDER: &str = "/sys/class/power_supply";
    let of = |name: &String, file: &str| host.text(&format!("{FOLDER}/{name}/{file}"));
    let supplies = host.names(FOLDER);
    let is_battery = |name: &&String| {
        // Batteries of mice and pens have the scope `Device`.
        of(name, "type").as_deref() == Some("Battery")
            && of(name, "scope").as_deref() != Some("Device")
    };
    supplies.iter().find(is_battery)?;
    let supplied = supplies.iter().any(|name| of(name, "online").as_deref() == Some("1"));
    Some(!supplied)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host;

    #[test]
    fn a_machine_is_told_by_its_files() {
        let (_root, host) = host::with(&[
            ("/proc/sys/kernel/hostname", "bay3\n"),
            ("/proc/sys/kernel/osrelease", "6.1.0-rt\n"),
            ("/proc/sys/kernel/version", "#1 SMP PREEMPT_RT Debian\n"),
            ("/proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("/proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ("/sys/kernel/realtime", "1\n"),
            ("/proc/cpuinfo", "processor\t: 0\nmodel name\t: CPU @ 2 GHz: x\nflags\t: fpu sse\n"),
            ("/sys/devices/system/cpu/online", "0-3\n"),
            ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ("/sys/devices/system/cpu/smt/active", "1\n"),
            ("/proc/self/cgroup", "2:cpu,cpuacct:/a\n"),
            ("/sys/fs/cgroup/cpu/a/cgroup.procs", ""),
            ("/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "500000"),
            ("/sys/fs/cgroup/cpu/a/cpu.rt_period_us", "1000000"),
            ("/sys/class/power_supply/BAT0/type", "Battery\n"),
            ("/sys/class/power_supply/AC/type", "Mains\n"),
            ("/sys/class/power_supply/AC/online", "0\n"),
        ]);
        let facts = Facts::of(&host);
        assert_eq!((facts.host.as_str(), facts.realtime), ("bay3", Some(1)));
        assert_eq!(facts.processor.as_deref(), Some("CPU @ 2 GHz: x"));
        assert_eq!(facts.governors, BTreeMap::from([(3, "powersave".to_owned())]));
        assert_eq!((facts.boost, facts.smt), (Some(false), Some(true)));
        assert_eq!(facts.rt_throttling_us, Some((-1, 1_000_000)));
        assert_eq!(facts.cgroup_rt_us, Some((500_000, 1_000_000)));
        assert_eq!((facts.virtualised, facts.on_battery), (None, Some(true)));
    }

    #[test]
    fn virtual_machines_say_so_in_three_ways_and_what_is_unknown_is_none() {
        let flags = ("/proc/cpuinfo", "flags : fpu hypervisor\n");
        for (files, whose) in [
            (vec![flags, ("/sys/class/dmi/id/sys_vendor", "QEMU\n")], "QEMU"),
            (vec![flags], "unknown"),
            (vec![("/sys/hypervisor/type", "xen\n")], "xen"),
            (vec![("/proc/device-tree/compatible", "linux,dummy-virt\0")], "linux,dummy-virt"),
        ] {
            let (_root, host) = host::with(&files);
            assert_eq!(Facts::of(&host).virtualised.as_deref(), Some(whose));
        }
        let (_root, nothing) = host::with(&[]);
        let facts = Facts::of(&nothing);
        assert_eq!((facts.smt, facts.on_battery, facts.rt_throttling_us), (None, None, None));
    }
}
