//! The interface of the process bus: what kind it is, and what delays or drops frames on it.

use anyhow::bail;

use super::host::Host;
use super::{Cores, Finding, Item, ethtool};
use os::link_kind::{CUTOFF_AT_ONCE, LinkKind, link_kind};

/// Coalescing for longer than this is a good part of the 3 ms of a sampled value, µs.
const COALESCING_US_MAX: u32 = 50;

pub(super) fn must_exist(host: &Host, interface: &str) -> anyhow::Result<()> {
    let there = host.names("/sys/class/net");
    if there.iter().any(|name| name == interface) {
        return Ok(());
    }
    bail!("there is no interface {interface}; available are {}", there.join(", "));
}

pub(super) fn items(host: &Host, cores: &Cores, interface: Option<&str>) -> Vec<Item> {
    let Some(interface) = interface else {
        let why = "no interface was given; see --interface";
        return Item::of_group("network", [("process bus", Finding::unknown(why))]);
    };
    let findings = [
        ("kind of link", kind(interface, link_kind(interface).ok())),
        ("coalescing", coalescing(interface, ethtool::coalescing_us(interface))),
        ("receive ring", rings(interface, ethtool::receive_ring(interface))),
        ("dropped frames", drops(host, interface)),
        ("hardware stamps", stamps(ethtool::stamps_frames(interface))),
        ("interrupts of the card", interrupts(host, cores, interface)),
    ];
    Item::of_group("network", findings)
}

fn kind(interface: &str, kind: Option<LinkKind>) -> Finding {
    match kind {
        None => Finding::unknown(format!("the kernel does not report it for {interface}")),
        Some(LinkKind::Device) => Finding::ok("a device"),
        Some(LinkKind::Virtual(kind)) => Finding::ok(kind),
        Some(LinkKind::Macvlan { cutoff: Some(CUTOFF_AT_ONCE) }) => {
            Finding::ok("macvlan that delivers multicast immediately")
        }
        Some(LinkKind::Macvlan { cutoff: Some(_) }) => Finding::fail(
            "macvlan that delivers multicast from a worker: milliseconds late, and frames are lost",
            format!("ip link set {interface} type macvlan bccutoff -1 (iproute2 6.4)"),
        ),
        Some(LinkKind::Macvlan { cutoff: None }) => Finding::fail(
            "macvlan, whose multicast this kernel delivers from a worker: late, and frames are \
             lost",
            "Linux 6.4 or newer, or a veth pair on a bridge",
        ),
    }
}

fn coalescing(interface: &str, us: Option<u32>) -> Finding {
    match us {
        None => Finding::ok("not adjustable"),
        Some(us @ 0..=COALESCING_US_MAX) => Finding::ok(format!("{us} µs")),
        Some(us) => Finding::warn(
            format!("frames wait for {us} µs before the card interrupts"),
            format!("ethtool -C {interface} adaptive-rx off rx-usecs 0"),
        ),
    }
}

fn rings(interface: &str, ring: Option<(u32, u32)>) -> Finding {
    match ring {
        None => Finding::ok("not adjustable"),
        Some((now, most)) if now >= most => Finding::ok(format!("{now} frames")),
        Some((now, most)) => Finding::warn(
            format!("{now} of up to {most} frames"),
            format!("ethtool -G {interface} rx {most}"),
        ),
    }
}

fn drops(host: &Host, interface: &str) -> Finding {
    let counters = ["rx_dropped", "rx_missed_errors", "rx_fifo_errors", "rx_crc_errors"];
    let counted = |counter: &str| {
        let count = host.number(&format!("/sys/class/net/{interface}/statistics/{counter}"))?;
        (count > 0).then(|| format!("{counter} {count}"))
    };
    let counted: Vec<String> = counters.into_iter().filter_map(counted).collect();
    if counted.is_empty() {
        return Finding::ok("none since the interface came up");
    }
    let fix = "use larger rings, less load on the receiving core, or a different cable";
    Finding::warn(format!("since the interface came up: {}", counted.join(", ")), fix)
}

fn stamps(stamps: Option<bool>) -> Finding {
    if stamps == Some(true) {
        return Finding::ok("the card timestamps frames");
    }
    let found = "none: the age of samples is known only to some 10 µs";
    Finding::warn(found, "use a network card with IEEE 1588 timestamps (ethtool -T)")
}

fn interrupts(host: &Host, cores: &Cores, interface: &str) -> Finding {
    let numbers = host.names(&format!("/sys/class/net/{interface}/device/msi_irqs"));
    let of = |number: &String| -> Option<Cores> {
        host.text(&format!("/proc/irq/{number}/effective_affinity_list"))?.parse().ok()
    };
    let served: Vec<Cores> = numbers.iter().filter_map(of).collect();
    if served.is_empty() {
        return Finding::ok("none of its own");
    }
    let mut on_cores = served.iter().map(|list| list.both(cores)).filter(|both| !both.is_empty());
    match on_cores.next() {
        None => Finding::ok("on other cores"),
        Some(both) => Finding::warn(
            format!("on core {both}, which the tasks use"),
            "echo a different core > /proc/irq/N/smp_affinity_list",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Grade, host};
    use super::*;

    #[test]
    fn macvlan_is_only_good_when_it_delivers_at_once() {
        let of = |cutoff| kind("eth0", Some(LinkKind::Macvlan { cutoff })).grade;
        assert_eq!(of(Some(-1)), Grade::Ok);
        assert_eq!(of(Some(1)), Grade::Fail);
        assert_eq!(of(None), Grade::Fail);
        assert_eq!(kind("eth0", Some(LinkKind::Virtual("veth".into()))).found, "veth");
    }

    #[test]
    fn what_delays_and_drops_frames_is_warned_of() {
        let (_root, host) = host::with(&[
            ("/sys/class/net/eth0/statistics/rx_dropped", "17\n"),
            ("/sys/class/net/eth0/statistics/rx_missed_errors", "0\n"),
            ("/sys/class/net/eth0/device/msi_irqs/31", "msi"),
            ("/sys/class/net/eth0/device/msi_irqs/32", "msi"),
            ("/proc/irq/31/effective_affinity_list", "0\n"),
            ("/proc/irq/32/effective_affinity_list", "3\n"),
        ]);
        assert_eq!(drops(&host, "eth0").found, "since the interface came up: rx_dropped 17");
        let at = |cores: &str| interrupts(&host, &cores.parse().unwrap(), "eth0");
        assert_eq!(at("2-3").found, "on core 3, which the tasks use");
        assert_eq!(at("1-2").grade, Grade::Ok);
        assert_eq!(coalescing("eth0", Some(3)).grade, Grade::Ok);
        assert_eq!(coalescing("eth0", Some(200)).grade, Grade::Warn);
        assert_eq!(rings("eth0", Some((256, 4096))).fix.unwrap(), "ethtool -G eth0 rx 4096");
        assert_eq!(rings("eth0", Some((512, 512))).grade, Grade::Ok);
        let error = must_exist(&host, "eth1").unwrap_err().to_string();
        assert_eq!(error, "there is no interface eth1; available are eth0");
    }
}
