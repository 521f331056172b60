//! What shares a core with the tasks: its other thread, its frequency, other tasks, the host of a
//! virtual machine.

use super::host::{Host, Process, processes};
use super::{Cores, Finding, Item};

pub(super) const GROUP: &str = "processor";

pub(super) fn items(host: &Host, cores: &Cores) -> Vec<Item> {
    let findings = [
        ("tasks on the cores", neighbours(host, cores)),
        ("irqbalance", balancer(host)),
        ("virtual machine", hypervisor(host)),
        ("halt polling of guests", halt_polling(host)),
    ];
    Item::of_group(GROUP, power(host, cores).into_iter().chain(findings))
}

/// What decides how fast the cores are.
pub(super) fn power(host: &Host, cores: &Cores) -> [(&'static str, Finding); 3] {
    [
        ("simultaneous threads", siblings(host, cores)),
        ("frequency governor", governor(host, cores)),
        ("power supply", supply(host)),
    ]
}

fn supply(host: &Host) -> Finding {
    let folder = "/sys/class/power_supply";
    let of = |supply: &str, file: &str| host.text(&format!("{folder}/{supply}/{file}"));
    let supplies = host.names(folder);
    let discharging = supplies.iter().find(|supply| {
        of(supply, "type").as_deref() == Some("Battery")
            && of(supply, "status").as_deref() == Some("Discharging")
    });
    match discharging {
        None => Finding::ok("not on battery"),
        Some(battery) => {
            let found = format!("on battery ({battery}): processors are slowed down to save power");
            Finding::warn(found, "connect the power supply")
        }
    }
}

fn siblings(host: &Host, cores: &Cores) -> Finding {
    let siblings = |core: usize| {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        let siblings: Cores = host.text(&file)?.parse().ok()?;
        (siblings.len() > 1).then(|| siblings.to_string())
    };
    let mut shared: Vec<String> = cores.iter().filter_map(siblings).collect();
    shared.dedup();
    if shared.is_empty() {
        return Finding::ok("each core has one");
    }
    let found = format!("{} share a core: each delays the other", shared.join(" and "));
    let fix =
        "`nosmt` on the kernel command line, or echo off > /sys/devices/system/cpu/smt/control";
    Finding::warn(found, fix)
}

fn governor(host: &Host, cores: &Cores) -> Finding {
    let of = |core: usize| {
        host.text(&format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor"))
    };
    let mut found: Vec<String> = cores.iter().filter_map(of).collect();
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Finding::ok("none: this kernel does not control the frequency");
    }
    if found == ["performance"] {
        return Finding::ok("performance");
    }
    let found = format!("{}: a core is slow at first after idling", found.join(", "));
    Finding::warn(found, "cpupower frequency-set -g performance")
}

/// Tasks that last ran on one of the cores and may run there again, apart from the kernel's own
/// for each core and from this program.
fn neighbours(host: &Host, cores: &Cores) -> Finding {
    /// `PF_KTHREAD` and `PF_NO_SETAFFINITY` of the kernel's `sched.h`.
    const KERNEL_THREAD: u64 = 0x0020_0000;
    const NO_SETAFFINITY: u64 = 0x0400_0000;
    let (mut kernel, mut user) = (0, 0);
    let flags_and_core = |task: Process| Some((task.field::<u64>(9)?, task.field(39)?));
    let others = processes(host).filter(|task| task.number != std::process::id());
    for (flags, core) in others.filter_map(flags_and_core) {
        let is_kernel = flags & KERNEL_THREAD != 0;
        if !cores.contains(core) || is_kernel && flags & NO_SETAFFINITY != 0 {
            continue;
        }
        if is_kernel { kernel += 1 } else { user += 1 }
    }
    if kernel + user == 0 {
        return Finding::ok("only the kernel's own per-core threads");
    }
    let found = format!("{user} programs and {kernel} movable kernel threads last ran there");
    Finding::warn(found, "isolate the cores (`isolcpus=`), or move them by a cpuset")
}

fn balancer(host: &Host) -> Finding {
    if !host.processes().iter().any(|process| process == "irqbalance") {
        return Finding::ok("does not run");
    }
    let found = "runs, and moves interrupts to the cores";
    Finding::warn(found, "IRQBALANCE_BANNED_CPULIST in /etc/default/irqbalance")
}

fn hypervisor(host: &Host) -> Finding {
    let cpuinfo = host.text("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    if !flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor")) {
        return Finding::ok("none detected");
    }
    let vendor = host.text("/sys/class/dmi/id/sys_vendor").unwrap_or_else(|| "unknown".to_owned());
    let found = format!("yes ({vendor}): the host may stop a core at any time");
    let fix = "pin each virtual processor to a core of its own, with SCHED_FIFO and huge pages";
    Finding::warn(found, fix)
}

/// Matters on a host of virtual machines: an idle virtual processor is polled for, not put to
/// sleep.
fn halt_polling(host: &Host) -> Finding {
    match host.number("/sys/module/kvm/parameters/halt_poll_ns") {
        None => Finding::ok("this is not a host of virtual machines (no KVM)"),
        Some(0) => Finding::warn(
            "off: an idle guest processor wakes up late",
            "echo 200000 > /sys/module/kvm/parameters/halt_poll_ns",
        ),
        Some(ns) => Finding::ok(format!("for {} µs", ns / 1000)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::named;
    use super::super::{Grade, host};
    use super::*;

    /// Fields 3 to 52 of a task with flags and core in their places.
    fn stat(name: &str, flags: u64, core: usize) -> String {
        let mut fields = vec!["0".to_owned(); 50];
        fields[0] = "S".to_owned();
        fields[6] = flags.to_string();
        fields[36] = core.to_string();
        format!("9 ({name}) {}", fields.join(" "))
    }

    #[test]
    fn tasks_that_may_disturb_are_counted_and_bound_ones_are_not() {
        let (program, movable) = (stat("a) (b", 0x400, 1), stat("kworker/u4", 0x0020_0000, 1));
        let (bound, elsewhere) = (stat("ksoftirqd/1", 0x0420_0000, 1), stat("sh", 0, 0));
        let (_root, host) = host::with(&[
            ("/proc/4000001/stat", &program),
            ("/proc/4000002/stat", &movable),
            ("/proc/4000003/stat", &bound),
            ("/proc/4000004/stat", &elsewhere),
            ("/proc/4000005/stat", "rubbish"),
        ]);
        let item = neighbours(&host, &"1".parse().unwrap());
        assert_eq!(item.grade, Grade::Warn);
        assert_eq!(item.found, "1 programs and 1 movable kernel threads last ran there");
        assert_eq!(neighbours(&host, &"2".parse().unwrap()).grade, Grade::Ok);
    }

    #[test]
    fn threads_of_one_core_and_slow_governors_are_named() {
        let (_root, host) = host::with(&[
            ("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2,6\n"),
            ("/sys/devices/system/cpu/cpu3/topology/thread_siblings_list", "3\n"),
            ("/sys/devices/system/cpu/cpu2/cpufreq/scaling_governor", "powersave\n"),
            ("/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n"),
            ("/proc/cpuinfo", "processor: 0\nflags : fpu hypervisor sse\n"),
            ("/sys/class/dmi/id/sys_vendor", "QEMU\n"),
            ("/sys/module/kvm/parameters/halt_poll_ns", "0"),
            ("/proc/5/comm", "irqbalance\n"),
        ]);
        let items = items(&host, &"2-3".parse().unwrap());
        let of = |name| named(&items, name);
        assert!(of("simultaneous threads").found.starts_with("2,6 share a core"));
        assert!(of("frequency governor").found.starts_with("performance, powersave"));
        assert!(of("virtual machine").found.contains("QEMU"));
        for name in ["halt polling of guests", "irqbalance", "virtual machine"] {
            assert_eq!(of(name).grade, Grade::Warn, "{name}");
        }
        assert_eq!(governor(&host, &"3".parse().unwrap()).grade, Grade::Ok);
    }
}
