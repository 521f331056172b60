//! Settings of a node's kernel that keep it from waiting on timers of its own where nothing was lost.
//!
//! Two of these timers run in every conversation: acknowledgements are delayed, and some congestion
//! controls (`bbr`) and queues of packets (`fq`) pace what is sent. Both wait in host time. Without
//! them a kernel that has nothing to repeat answers at once or not at all, so what
//! [`crate::owed`] shows is soon over, and a frame is in its TAP device when the call returns.
//!
//! Two decisions of TCP go by host time: how long to wait for more before a train of segments is sent
//! (`tcp_tso_should_defer`), and how fast the window of a receiver grows. With these settings the one is not taken, and the window
//! is from the beginning as large as it may become.
//!
//! Entries of ARP age in host time as well: five seconds after an old one was used the kernel asks again,
//! whenever that is in virtual time. So they do not age.

use std::{fs, io};

/// Paces nothing, is in every kernel, and may be chosen in any network namespace; others, such as
/// `cubic`, only where the host allows them (`tcp_allowed_congestion_control`).
const CONGESTION_CONTROL: &str = "reno";

/// `/proc/sys/net` shows the network namespace of the thread that looks.
const PATH: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

const FOLDER: &str = "/proc/sys/net/ipv4";

/// The greatest divisor, so that no train is worth waiting for; and no growth of windows. tcp(7)
const TCP: [(&str, &str); 2] = [("tcp_tso_win_divisor", "255"), ("tcp_moderate_rcvbuf", "0")];

/// Least, first and greatest size of a receiver's buffer. tcp(7)
const BUFFERS: &str = "tcp_rmem";

/// When an entry of ARP is old, and how long after its use it is asked again: years. arp(7)
const AGES: [(&str, &str); 2] =
    [("base_reachable_time_ms", "2000000000"), ("delay_first_probe_time", "1000000")];

/// Has TCP over IPv4 in the calling thread's network namespace acknowledge at once and not pace, on all
/// interfaces that are up, `lo` among them, and takes the queue in front of `interface` away, if there
/// is one, on which neighbours do not age (but in namespaces of ordinary users, which do not have these settings).
/// To be called when interfaces have their addresses, before programs start.
///
/// # Errors
/// Says what the kernel refused.
pub fn avoid_timers_here(interface: Option<&str>) -> io::Result<()> {
    fs::write(PATH, CONGESTION_CONTROL).map_err(|error| {
        let text = format!(
            "cannot choose the congestion control `{CONGESTION_CONTROL}` through {PATH} (is it \
             mounted read-only?): {error}"
        );
        io::Error::new(error.kind(), text)
    })?;
    os::routes::acknowledge_at_once_here()
        .and_then(|()| interface.map_or(Ok(()), os::queueing::without_queue_here))
        .map_err(|error| io::Error::other(format!("{error:#}")))?;
    for (name, value) in TCP {
        set(name, value)?;
    }
    let buffers = fs::read_to_string(format!("{FOLDER}/{BUFFERS}")).unwrap_or_default();
    if let [least, _, greatest] = buffers.split_whitespace().collect::<Vec<_>>()[..] {
        set(BUFFERS, &format!("{least} {greatest} {greatest}"))?;
    }
    for (name, value) in AGES {
        let Some(interface) = interface else { continue };
        set(&format!("neigh/{interface}/{name}"), value)?;
    }
    Ok(())
}

/// Sets what this kernel has.
fn set(name: &str, value: &str) -> io::Result<()> {
    let path = format!("{FOLDER}/{name}");
    match fs::write(&path, value) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io::Error::new(error.kind(), format!("cannot write {path}: {error}")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::emulator::harness::in_new_namespace;
    use crate::tap;
    use crate::wire::MacAddress;

    #[test]
    fn a_namespace_with_a_device_paces_nothing() {
        in_new_namespace(|| {
            let (mac, address) = (MacAddress([2, 0, 0, 0, 0, 1]), Ipv4Addr::new(10, 0, 0, 1));
            let device = tap::create_here("eth0", mac, address, 24, 1500).unwrap();
            avoid_timers_here(Some("eth0")).unwrap();
            let absent = avoid_timers_here(Some("eth1")).unwrap_err();
            assert!(absent.to_string().contains("eth1"), "{absent}");
            assert_eq!(fs::read_to_string(PATH).unwrap().trim(), CONGESTION_CONTROL);
            let is_set = |name: &str| fs::read_to_string(format!("{FOLDER}/{name}")).unwrap();
            for (name, value) in AGES {
                assert_eq!(is_set(&format!("neigh/eth0/{name}")).trim(), value, "{name}");
            }
            for (name, value) in TCP {
                assert_eq!(is_set(name).trim(), value, "{name}");
            }
            let buffers = is_set(BUFFERS);
            let sizes: Vec<&str> = buffers.split_whitespace().collect();
            assert_eq!(sizes[1], sizes[2], "{buffers}");
            match std::process::Command::new("ip").args(["link", "show", "eth0"]).output() {
                Ok(output) => {
                    let text = String::from_utf8_lossy(&output.stdout);
                    assert!(text.contains(" qdisc noqueue "), "{text}");
                }
                Err(_) => eprintln!("not run in full: no `ip`"),
            }
            drop(device);
        });
    }
}
