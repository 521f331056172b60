//! What the kernel was built and booted with: preemption, ticks, and what stays off the cores.
//!
//! Boot options: `Documentation/admin-guide/kernel-parameters.txt` of the kernel.

use std::io::Read;

use flate2::read::GzDecoder;

use super::host::Host;
use super::{Cores, Item};

const GROUP: &str = "kernel";
/// Clock sources that are read in user space, without a system call.
const CLOCK_SOURCES: [&str; 4] = ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc"];
/// An idle state with a longer way out than this delays a wake-up noticeably, µs.
const IDLE_EXIT_US_MAX: i64 = 10;

pub(super) fn items(host: &Host, cores: &Cores) -> Vec<Item> {
    vec![
        preemption(host),
        tick(host),
        isolated(host, cores),
        tickless(host, cores),
        callbacks(host, cores),
        interrupts(host, cores),
        idle_states(host, cores),
        mitigations(host),
        clock_source(host),
    ]
}

fn preemption(host: &Host) -> Item {
    let name = "preemption";
    let version = host.text("/proc/version").unwrap_or_default();
    if host.number("/sys/kernel/realtime") == Some(1) || version.contains("PREEMPT_RT") {
        return Item::ok(GROUP, name, "PREEMPT_RT");
    }
    let mode = preemption_mode(host, &version);
    let found = format!("{mode}: kernel code running on a core delays its tasks");
    Item::warn(GROUP, name, found, "boot a PREEMPT_RT kernel (Debian: linux-image-rt-amd64)")
}

/// The mode in use is in debugfs, the one that was asked for on the kernel line.
fn preemption_mode(host: &Host, version: &str) -> String {
    let in_use = host.text("/sys/kernel/debug/sched/preempt").and_then(|modes| {
        let mode = modes.split_whitespace().find_map(|mode| mode.strip_prefix('('))?;
        Some(format!("preempt={}", mode.trim_end_matches(')')))
    });
    let asked = || host.boot_option("preempt").map(|mode| format!("preempt={mode}"));
    let built = || {
        let word = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
        word.unwrap_or("no preemption").to_owned()
    };
    in_use.or_else(asked).unwrap_or_else(built)
}

fn tick(host: &Host) -> Item {
    let name = "tick rate";
    let Some(config) = config(host) else {
        return Item::unknown(GROUP, name, "the kernel configuration is not readable here");
    };
    let hz = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="));
    let fine = config.lines().any(|line| line == "CONFIG_HIGH_RES_TIMERS=y");
    let hz = hz.unwrap_or("unknown");
    if fine {
        Item::ok(GROUP, name, format!("{hz} Hz, timers are independent of it (high resolution)"))
    } else {
        let found = format!("{hz} Hz, and timers expire only at ticks");
        Item::fail(GROUP, name, found, "boot a kernel with CONFIG_HIGH_RES_TIMERS=y")
    }
}

fn config(host: &Host) -> Option<String> {
    let packed = host.octets("/proc/config.gz").and_then(|octets| {
        let mut text = String::new();
        GzDecoder::new(octets.as_slice()).read_to_string(&mut text).ok()?;
        Some(text)
    });
    packed.or_else(|| {
        let release = host.text("/proc/sys/kernel/osrelease")?;
        host.text(&format!("/boot/config-{release}"))
    })
}

fn isolated(host: &Host, cores: &Cores) -> Item {
    let file = host.text("/sys/devices/system/cpu/isolated").unwrap_or_default();
    without(
        "isolated cores",
        &file,
        cores,
        "other tasks are scheduled there",
        &format!(
            "`isolcpus=managed_irq,domain,{cores}` on the kernel command line, or a cpuset \
             partition"
        ),
    )
}

fn tickless(host: &Host, cores: &Cores) -> Item {
    let file = host.text("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    without(
        "cores without tick",
        &file,
        cores,
        "the tick interrupts a running task",
        &format!("`nohz_full={cores}` on the kernel command line (CONFIG_NO_HZ_FULL)"),
    )
}

fn callbacks(host: &Host, cores: &Cores) -> Item {
    let option = host.boot_option("rcu_nocbs").unwrap_or_default();
    let option = if option == "all" { cores.to_string() } else { option };
    without(
        "cores without RCU work",
        &option,
        cores,
        "kernel callbacks run there",
        &format!("`rcu_nocbs={cores}` on the kernel command line"),
    )
}

/// An item about a list that should hold all chosen cores.
fn without(name: &str, list: &str, cores: &Cores, effect: &str, fix: &str) -> Item {
    // Options such as isolcpus may begin with flags, and the kernel writes ` (null)` for none.
    let numbers: Vec<&str> =
        list.split(',').filter(|part| part.starts_with(|c: char| c.is_ascii_digit())).collect();
    let listed: Cores = numbers.join(",").parse().unwrap_or_default();
    let missing = cores.without(&listed);
    if missing.is_empty() {
        Item::ok(GROUP, name, format!("{listed}"))
    } else {
        Item::warn(GROUP, name, format!("not core {missing}: {effect}"), fix)
    }
}

fn interrupts(host: &Host, cores: &Cores) -> Item {
    let name = "interrupt affinity";
    let mask = host.text("/proc/irq/default_smp_affinity");
    let Some(allowed) = mask.as_deref().and_then(Cores::from_mask) else {
        return Item::unknown(GROUP, name, "/proc/irq/default_smp_affinity is not readable here");
    };
    let touched = allowed.both(cores);
    if touched.is_empty() {
        return Item::ok(GROUP, name, format!("new interrupts go to cores {allowed}"));
    }
    let found = format!("new interrupts may go to core {touched}");
    Item::warn(GROUP, name, found, "`irqaffinity=` with the other cores on the kernel command line")
}

fn idle_states(host: &Host, cores: &Cores) -> Item {
    let name = "idle states";
    let mut deepest: Option<(i64, String)> = None;
    for core in cores.iter() {
        let folder = format!("/sys/devices/system/cpu/cpu{core}/cpuidle");
        for state in host.names(&folder) {
            let of = |file: &str| host.number(&format!("{folder}/{state}/{file}"));
            let exit_us = of("latency").unwrap_or(0);
            if of("disable") != Some(1) && deepest.as_ref().is_none_or(|(us, _)| exit_us > *us) {
                let named = host.text(&format!("{folder}/{state}/name")).unwrap_or(state);
                deepest = Some((exit_us, named));
            }
        }
    }
    match deepest {
        None => Item::ok(GROUP, name, "none: only the kernel controls idle cores"),
        Some((exit_us, state)) if exit_us <= IDLE_EXIT_US_MAX => {
            Item::ok(GROUP, name, format!("deepest is {state}, {exit_us} µs to wake up"))
        }
        Some((exit_us, state)) => Item::warn(
            GROUP,
            name,
            format!("{state} takes {exit_us} µs to wake up from"),
            format!("hold /dev/cpu_dma_latency at 0, or `cpupower idle-set -D {IDLE_EXIT_US_MAX}`"),
        ),
    }
}

fn mitigations(host: &Host) -> Item {
    let name = "mitigations";
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let texts = host.names(folder).into_iter().filter_map(|file| {
        let text = host.text(&format!("{folder}/{file}"))?;
        text.starts_with("Mitigation").then_some(file)
    });
    let active: Vec<String> = texts.collect();
    if active.is_empty() {
        return Item::ok(GROUP, name, "none active");
    }
    // They cost a fraction of a microsecond for each system call: said, not held against it.
    Item::ok(
        GROUP,
        name,
        format!("{} active, which adds to the time of each system call", active.len()),
    )
}

fn clock_source(host: &Host) -> Item {
    let name = "clock source";
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let Some(current) = host.text(&format!("{folder}/current_clocksource")) else {
        return Item::unknown(GROUP, name, "not available in /sys");
    };
    if CLOCK_SOURCES.contains(&current.as_str()) {
        return Item::ok(GROUP, name, current);
    }
    let there = host.text(&format!("{folder}/available_clocksource")).unwrap_or_default();
    let found = format!("{current} (available: {there}): each reading costs a system call or more");
    Item::fail(
        GROUP,
        name,
        found,
        "`clocksource=tsc tsc=reliable` on the kernel command line if it is one",
    )
}

#[cfg(test)]
mod tests {
    use super::super::{Grade, host};
    use super::*;

    fn cores(text: &str) -> Cores {
        text.parse().unwrap()
    }

    fn graded(items: &[Item], name: &str) -> (Grade, String) {
        let item = items.iter().find(|item| item.name == name).unwrap();
        (item.grade, item.found.clone())
    }

    #[test]
    fn a_host_made_for_real_time_passes() {
        let (_root, host) = host::with(&[
            ("/sys/kernel/realtime", "1\n"),
            ("/proc/version", "Linux version 6.1.0-rt"),
            ("/proc/cmdline", "isolcpus=managed_irq,domain,2-3 rcu_nocbs=2-3 nohz_full=2-3"),
            ("/proc/sys/kernel/osrelease", "6.1.0-rt\n"),
            ("/boot/config-6.1.0-rt", "CONFIG_HZ=250\nCONFIG_HIGH_RES_TIMERS=y\n"),
            ("/sys/devices/system/cpu/isolated", "2-3\n"),
            ("/sys/devices/system/cpu/nohz_full", "2-3\n"),
            ("/proc/irq/default_smp_affinity", "3\n"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state1/latency", "2\n"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state1/name", "C1\n"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state2/latency", "200\n"),
            ("/sys/devices/system/cpu/cpu2/cpuidle/state2/disable", "1\n"),
            ("/sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected\n"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
        ]);
        let items = items(&host, &cores("2-3"));
        let bad: Vec<&Item> = items.iter().filter(|item| item.grade != Grade::Ok).collect();
        assert!(bad.is_empty(), "{bad:?}");
        assert_eq!(graded(&items, "isolated cores").1, "2-3");
        assert_eq!(graded(&items, "idle states").1, "deepest is C1, 2 µs to wake up");
    }

    #[test]
    fn a_desktop_is_warned_of_what_it_has_and_how_to_mend_it() {
        let (_root, host) = host::with(&[
            ("/proc/version", "Linux version 6.18 #1 SMP PREEMPT_DYNAMIC"),
            ("/sys/kernel/debug/sched/preempt", "none (voluntary) full lazy\n"),
            ("/proc/cmdline", "quiet"),
            ("/sys/devices/system/cpu/isolated", "\n"),
            ("/sys/devices/system/cpu/nohz_full", " (null)\n"),
            ("/proc/irq/default_smp_affinity", "f\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state3/latency", "890\n"),
            ("/sys/devices/system/cpu/cpu1/cpuidle/state3/name", "C10\n"),
            ("/sys/devices/system/cpu/vulnerabilities/spectre_v2", "Mitigation: Retpolines\n"),
            ("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n"),
        ]);
        let items = items(&host, &cores("1"));
        let (grade, found) = graded(&items, "preemption");
        assert_eq!(grade, Grade::Warn);
        assert!(found.starts_with("preempt=voluntary"), "{found}");
        assert_eq!(graded(&items, "tick rate").0, Grade::NotMeasured);
        for name in ["isolated cores", "cores without tick", "cores without RCU work"] {
            let (grade, found) = graded(&items, name);
            assert!(grade == Grade::Warn && found.starts_with("not core 1: "), "{name}: {found}");
        }
        assert_eq!(graded(&items, "interrupt affinity").0, Grade::Warn);
        assert!(graded(&items, "idle states").1.starts_with("C10 takes 890 µs"));
        assert_eq!(graded(&items, "clock source").0, Grade::Fail);
        let mended = items.iter().filter(|item| item.grade > Grade::NotMeasured);
        assert!(mended.clone().count() > 5 && mended.clone().all(|item| item.fix.is_some()));
    }
}
