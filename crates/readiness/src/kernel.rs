//! What the kernel was built and booted with: preemption, ticks, and what stays off the cores.
//!
//! Boot options: `Documentation/admin-guide/kernel-parameters.txt` of the kernel.

use std::io::Read;

use flate2::read::GzDecoder;

use super::host::Host;
use super::{Cores, Finding, Item};

/// Clock sources that are read in user space, without a system call.
const CLOCK_SOURCES: [&str; 4] = ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc"];
/// An idle state with a longer way out than this delays a wake-up noticeably, µs.
const IDLE_EXIT_US_MAX: i64 = 10;

/// Whether a clock source of the kernel is read in user space.
#[must_use]
pub fn is_read_in_user_space(clock_source: &str) -> bool {
    CLOCK_SOURCES.contains(&clock_source)
}

pub(super) fn items(host: &Host, cores: &Cores) -> Vec<Item> {
    let findings = [
        ("preemption", preemption(host)),
        ("tick rate", tick(host)),
        ("isolated cores", isolated(host, cores)),
        ("cores without tick", tickless(host, cores)),
        ("cores without RCU work", callbacks(host, cores)),
        ("interrupt affinity", interrupts(host, cores)),
        ("idle states", idle_states(host, cores)),
        ("mitigations", mitigations(host)),
        ("clock source", clock_source(host)),
    ];
    Item::of_group("kernel", findings)
}

fn preemption(host: &Host) -> Finding {
    let version = host.text("/proc/version").unwrap_or_default();
    if host.number("/sys/kernel/realtime") == Some(1) || version.contains("PREEMPT_RT") {
        return Finding::ok("PREEMPT_RT");
    }
    let mode = preemption_mode(host, &version);
    let found = format!("{mode}: kernel code running on a core delays its tasks");
    Finding::warn(found, "boot a PREEMPT_RT kernel (Debian: linux-image-rt-amd64)")
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

fn tick(host: &Host) -> Finding {
    let Some(config) = config(host) else {
        return Finding::unknown("the kernel configuration is not readable here");
    };
    let hz = config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="));
    let fine = config.lines().any(|line| line == "CONFIG_HIGH_RES_TIMERS=y");
    let hz = hz.unwrap_or("unknown");
    if fine {
        Finding::ok(format!("{hz} Hz, timers are independent of it (high resolution)"))
    } else {
        let found = format!("{hz} Hz, and timers expire only at ticks");
        Finding::fail(found, "boot a kernel with CONFIG_HIGH_RES_TIMERS=y")
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

fn isolated(host: &Host, cores: &Cores) -> Finding {
    let file = host.text("/sys/devices/system/cpu/isolated").unwrap_or_default();
    without(
        &file,
        cores,
        "other tasks are scheduled there",
        &format!(
            "`isolcpus=managed_irq,domain,{cores}` on the kernel command line, or a cpuset \
             partition"
        ),
    )
}

fn tickless(host: &Host, cores: &Cores) -> Finding {
    let file = host.text("/sys/devices/system/cpu/nohz_full").unwrap_or_default();
    without(
        &file,
        cores,
        "the tick interrupts a running task",
        &format!("`nohz_full={cores}` on the kernel command line (CONFIG_NO_HZ_FULL)"),
    )
}

fn callbacks(host: &Host, cores: &Cores) -> Finding {
    let option = host.boot_option("rcu_nocbs").unwrap_or_default();
    let option = if option == "all" { cores.to_string() } else { option };
    without(
        &option,
        cores,
        "kernel callbacks run there",
        &format!("`rcu_nocbs={cores}` on the kernel command line"),
    )
}

/// A finding about a list that should hold all chosen cores.
fn without(list: &str, cores: &Cores, effect: &str, fix: &str) -> Finding {
    // Options such as isolcpus may begin with flags, and the kernel writes ` (null)` for none.
    let numbers: Vec<&str> =
        list.split(',').filter(|part| part.starts_with(|c: char| c.is_ascii_digit())).collect();
    let listed: Cores = numbers.join(",").parse().unwrap_or_default();
    let missing = cores.without(&listed);
    if missing.is_empty() {
        Finding::ok(format!("{listed}"))
    } else {
        Finding::warn(format!("not core {missing}: {effect}"), fix)
    }
}

fn interrupts(host: &Host, cores: &Cores) -> Finding {
    let mask = host.text("/proc/irq/default_smp_affinity");
    let Some(allowed) = mask.as_deref().and_then(Cores::from_mask) else {
        return Finding::unknown("/proc/irq/default_smp_affinity is not readable here");
    };
    let touched = allowed.both(cores);
    if touched.is_empty() {
        return Finding::ok(format!("new interrupts go to cores {allowed}"));
    }
    let found = format!("new interrupts may go to core {touched}");
    Finding::warn(found, "`irqaffinity=` with the other cores on the kernel command line")
}

fn idle_states(host: &Host, cores: &Cores) -> Finding {
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
        None => Finding::ok("none: only the kernel controls idle cores"),
        Some((exit_us, state)) if exit_us <= IDLE_EXIT_US_MAX => {
            Finding::ok(format!("deepest is {state}, {exit_us} µs to wake up"))
        }
        Some((exit_us, state)) => Finding::warn(
            format!("{state} takes {exit_us} µs to wake up from"),
            format!("hold /dev/cpu_dma_latency at 0, or `cpupower idle-set -D {IDLE_EXIT_US_MAX}`"),
        ),
    }
}

fn mitigations(host: &Host) -> Finding {
    let folder = "/sys/devices/system/cpu/vulnerabilities";
    let texts = host.names(folder).into_iter().filter_map(|file| {
        let text = host.text(&format!("{folder}/{file}"))?;
        text.starts_with("Mitigation").then_some(file)
    });
    let active: Vec<String> = texts.collect();
    if active.is_empty() {
        return Finding::ok("none active");
    }
    // They cost a fraction of a microsecond for each system call: said, not held against it.
    Finding::ok(format!("{} active, which adds to the time of each system call", active.len()))
}

fn clock_source(host: &Host) -> Finding {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let Some(current) = host.text(&format!("{folder}/current_clocksource")) else {
        return Finding::unknown("not available in /sys");
    };
    if is_read_in_user_space(&current) {
        return Finding::ok(current);
    }
    let there = host.text(&format!("{folder}/available_clocksource")).unwrap_or_default();
    let found = format!("{current} (available: {there}): each reading costs a system call or more");
    Finding::fail(found, "`clocksource=tsc tsc=reliable` on the kernel command line if it is one")
}

#[cfg(test)]
mod tests {
    use super::super::item::named;
    use super::super::{Grade, host};
    use super::*;

    fn cores(text: &str) -> Cores {
        text.parse().unwrap()
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
        let bad: Vec<&Item> = items.iter().filter(|item| item.finding.grade != Grade::Ok).collect();
        assert!(bad.is_empty(), "{bad:?}");
        assert_eq!(named(&items, "isolated cores").found, "2-3");
        assert_eq!(named(&items, "idle states").found, "deepest is C1, 2 µs to wake up");
    }

    #[test]
    fn a_desktop_is_warned_of_what_it_has_and_how_to_correct_it() {
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
        let Finding { grade, found, .. } = named(&items, "preemption");
        assert_eq!(*grade, Grade::Warn);
        assert!(found.starts_with("preempt=voluntary"), "{found}");
        assert_eq!(named(&items, "tick rate").grade, Grade::NotMeasured);
        for name in ["isolated cores", "cores without tick", "cores without RCU work"] {
            let Finding { grade, found, .. } = named(&items, name);
            assert!(*grade == Grade::Warn && found.starts_with("not core 1: "), "{name}: {found}");
        }
        assert_eq!(named(&items, "interrupt affinity").grade, Grade::Warn);
        assert!(named(&items, "idle states").found.starts_with("C10 takes 890 µs"));
        assert_eq!(named(&items, "clock source").grade, Grade::Fail);
        let findings = items.iter().map(|item| &item.finding);
        let mut bad = findings.filter(|finding| finding.grade > Grade::NotMeasured);
        assert!(bad.clone().count() > 5 && bad.all(|finding| finding.fix.is_some()));
    }
}
