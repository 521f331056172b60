//! What shares a core with the tasks: its other thread, its frequency, other tasks, the host of a
//! virtual machine.

use super::host::Host;
use super::{Cores, Item};

const GROUP: &str = "processor";

pub(super) fn items(host: &Host, cores: &Cores) -> Vec<Item> {
    let mut items = power(host, cores);
    items.extend([neighbours(host, cores), balancer(host), hypervisor(host), halt_polling(host)]);
    items
}

/// What decides how fast the cores are.
pub(super) fn power(host: &Host, cores: &Cores) -> Vec<Item> {
    vec![siblings(host, cores), governor(host, cores), supply(host)]
}

fn supply(host: &Host) -> Item {
    let name = "power supply";
    let folder = "/sys/class/power_supply";
    let of = |supply: &str, file: &str| host.text(&format!("{folder}/{supply}/{file}"));
    let supplies = host.names(folder);
    let discharging = supplies.iter().find(|supply| {
        of(supply, "type").as_deref() == Some("Battery")
            && of(supply, "status").as_deref() == Some("Discharging")
    });
    match discharging {
        None => Item::ok(GROUP, name, "not on battery"),
        Some(battery) => {
            let found = format!("on battery ({battery}): processors are slowed down to save power");
            Item::warn(GROUP, name, found, "connect the power supply")
        }
    }
}

fn siblings(host: &Host, cores: &Cores) -> Item {
    let name = "simultaneous threads";
    let mut shared = Vec::new();
    for core in cores.iter() {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        let siblings: Cores =
            host.text(&file).and_then(|list| list.parse().ok()).unwrap_or_default();
        if siblings.len() > 1 {
            shared.push(siblings.to_string());
        }
    }
    shared.dedup();
    if shared.is_empty() {
        return Item::ok(GROUP, name, "each core has one");
    }
    let found = format!("{} share a core: each delays the other", shared.join(" and "));
    let fix =
        "`nosmt` on the kernel command line, or echo off > /sys/devices/system/cpu/smt/control";
    Item::warn(GROUP, name, found, fix)
}

fn governor(host: &Host, cores: &Cores) -> Item {
    let name = "frequency governor";
    let of = |core: usize| {
        host.text(&format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor"))
    };
    let mut found: Vec<String> = cores.iter().filter_map(of).collect();
    found.sort();
    found.dedup();
    if found.is_empty() {
        return Item::ok(GROUP, name, "none: this kernel does not control the frequency");
    }
    if found == ["performance"] {
        return Item::ok(GROUP, name, "performance");
    }
    let found = format!("{}: a core is slow at first after idling", found.join(", "));
    Item::warn(GROUP, name, found, "cpupower frequency-set -g performance")
}

/// Tasks that last ran on one of the cores and may run there again, apart from the kernel's own
/// for each core and from this program.
fn neighbours(host: &Host, cores: &Cores) -> Item {
    let name = "tasks on the cores";
    let own = std::process::id().to_string();
    let is_task = |name: &String| name.bytes().all(|octet| octet.is_ascii_digit()) && *name != own;
    let (mut kernel, mut user) = (0, 0);
    for pid in host.names("/proc").into_iter().filter(is_task) {
        let Some(stat) = host.text(&format!("/proc/{pid}/stat")) else { continue };
        let Some(task) = Task::parse(&stat) else { continue };
        if !cores.contains(task.core) || task.bound {
            continue;
        }
        if task.kernel { kernel += 1 } else { user += 1 }
    }
    if kernel + user == 0 {
        return Item::ok(GROUP, name, "only the kernel's own per-core threads");
    }
    let found = format!("{user} programs and {kernel} movable kernel threads last ran there");
    Item::warn(GROUP, name, found, "isolate the cores (`isolcpus=`), or move them by a cpuset")
}

/// What `/proc/PID/stat` says of a task (proc_pid_stat(5)).
struct Task {
    kernel: bool,
    core: usize,
    bound: bool,
}

impl Task {
    /// `PF_KTHREAD` and `PF_NO_SETAFFINITY` of the kernel's `sched.h`.
    const KERNEL_THREAD: u64 = 0x0020_0000;
    const NO_SETAFFINITY: u64 = 0x0400_0000;

    fn parse(stat: &str) -> Option<Self> {
        // The name stands in brackets and may hold anything; field 3 comes after the last one.
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let flags: u64 = fields.get(6)?.parse().ok()?;
        let core = fields.get(36)?.parse().ok()?;
        let kernel = flags & Self::KERNEL_THREAD != 0;
        Some(Self { kernel, core, bound: kernel && flags & Self::NO_SETAFFINITY != 0 })
    }
}

fn balancer(host: &Host) -> Item {
    let name = "irqbalance";
    if !host.processes().iter().any(|process| process == "irqbalance") {
        return Item::ok(GROUP, name, "does not run");
    }
    let found = "runs, and moves interrupts to the cores";
    Item::warn(GROUP, name, found, "IRQBALANCE_BANNED_CPULIST in /etc/default/irqbalance")
}

fn hypervisor(host: &Host) -> Item {
    let name = "virtual machine";
    let cpuinfo = host.text("/proc/cpuinfo").unwrap_or_default();
    let flags = cpuinfo.lines().find(|line| line.starts_with("flags"));
    if !flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor")) {
        return Item::ok(GROUP, name, "none detected");
    }
    let vendor = host.text("/sys/class/dmi/id/sys_vendor").unwrap_or_else(|| "unknown".to_owned());
    let found = format!("yes ({vendor}): the host may stop a core at any time");
    let fix = "pin each virtual processor to a core of its own, with SCHED_FIFO and huge pages";
    Item::warn(GROUP, name, found, fix)
}

/// Matters on a host of virtual machines: an idle virtual processor is polled for, not put to
/// sleep.
fn halt_polling(host: &Host) -> Item {
    let name = "halt polling of guests";
    match host.number("/sys/module/kvm/parameters/halt_poll_ns") {
        None => Item::ok(GROUP, name, "this is not a host of virtual machines (no KVM)"),
        Some(0) => Item::warn(
            GROUP,
            name,
            "off: an idle guest processor wakes up late",
            "echo 200000 > /sys/module/kvm/parameters/halt_poll_ns",
        ),
        Some(ns) => Item::ok(GROUP, name, format!("for {} µs", ns / 1000)),
    }
}

#[cfg(test)]
mod tests {
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
        let of = |name: &str| items.iter().find(|item| item.name == name).unwrap();
        assert!(of("simultaneous threads").found.starts_with("2,6 share a core"));
        assert!(of("frequency governor").found.starts_with("performance, powersave"));
        assert!(of("virtual machine").found.contains("QEMU"));
        for name in ["halt polling of guests", "irqbalance", "virtual machine"] {
            assert_eq!(of(name).grade, Grade::Warn, "{name}");
        }
        assert_eq!(governor(&host, &"3".parse().unwrap()).grade, Grade::Ok);
    }
}
