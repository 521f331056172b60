//! Settings of a node's kernel that keep TCP from waiting on timers of its own where nothing was lost.
//!
//! Two of these timers run in every conversation: acknowledgements are delayed, and some congestion
//! controls (`bbr`) and queues of packets (`fq`) pace what is sent. Both wait in host time. Without
//! them a kernel that has nothing to repeat answers at once or not at all, so what
//! [`crate::owed`] shows is soon over, and a frame is in its TAP device when the call returns.

use std::{fs, io};

/// Paces nothing, is in every kernel, and may be chosen in any network namespace; others, such as
/// `cubic`, only where the host allows them (`tcp_allowed_congestion_control`).
const CONGESTION_CONTROL: &str = "reno";

/// `/proc/sys/net` shows the network namespace of the thread that looks.
const PATH: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// Has TCP over IPv4 in the calling thread's network namespace acknowledge at once and not pace, on all
/// interfaces that are up, `lo` among them, and takes the queue in front of `interface` away, if there
/// is one. To be called when interfaces have their addresses, before programs start.
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
        .map_err(|error| io::Error::other(format!("{error:#}")))
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
