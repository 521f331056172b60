//! How the kernel of a network namespace acknowledges TCP's data, which routes decide (rtnetlink(7)).
//!
//! Programs that answer one request after another have their acknowledgements delayed, by 40 ms and more
//! of a timer of the kernel's, in the hope that they can go with the answer. A route with
//! `quickack 1` (ip-route(8)) has each segment acknowledged when it arrives. What counts is the
//! route to the peer, and for peers in the same namespace that is one of the table `local`.

use anyhow::{Context, bail};
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::route::{
    RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

use crate::link_kind::exchange;

/// Has all present routes of IPv4 in the calling thread's network namespace acknowledge at once, to
/// others and to itself. Routes that come later do as before.
///
/// # Errors
/// If the kernel refuses, for instance without the right to change routes.
pub fn acknowledge_at_once_here() -> anyhow::Result<()> {
    for mut route in present_here()? {
        let attributes = &mut route.attributes;
        let metrics = attributes.iter_mut().find_map(|attribute| match attribute {
            RouteAttribute::Metrics(metrics) => Some(metrics),
            _ => None,
        });
        match metrics {
            Some(metrics) => {
                metrics.retain(|metric| !matches!(metric, RouteMetric::QuickAck(_)));
                metrics.push(RouteMetric::QuickAck(1));
            }
            None => attributes.push(RouteAttribute::Metrics(vec![RouteMetric::QuickAck(1)])),
        }
        // What the kernel reports there is a state, such as that a link is down.
        route.header.flags = RouteFlags::empty();
        let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_REPLACE;
        exchange(RouteNetlinkMessage::NewRoute(route), flags)
            .context("cannot have a route acknowledge at once")?;
    }
    Ok(())
}

/// The routes of IPv4 to single hosts and networks, of all tables.
fn present_here() -> anyhow::Result<Vec<RouteMessage>> {
    let mut question = RouteMessage::default();
    question.header.address_family = AddressFamily::Inet;
    let mut question = NetlinkMessage::from(RouteNetlinkMessage::GetRoute(question));
    question.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    question.finalize();
    let mut octets = vec![0; question.buffer_len()];
    question.serialize(&mut octets);
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&octets, 0)?;
    let mut routes = Vec::new();
    loop {
        let (answer, _) = socket.recv_from_full().context("cannot list routes")?;
        let mut rest = &answer[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                .context("the kernel's list of routes cannot be read")?;
            // Messages begin at multiples of four octets, and have at least a header.
            let length = (message.header.length as usize).next_multiple_of(4).max(16);
            rest = rest.get(length..).unwrap_or_default();
            match message.payload {
                NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewRoute(route)) => {
                    if matches!(route.header.kind, RouteType::Unicast | RouteType::Local) {
                        routes.push(route);
                    }
                }
                NetlinkPayload::Done(_) => return Ok(routes),
                other => bail!("unexpected answer of the kernel: {other:?}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_to_this_host_acknowledge_at_once() {
        let acknowledge_at_once = |route: &RouteMessage| {
            let is_metric = |metric: &RouteMetric| *metric == RouteMetric::QuickAck(1);
            let is_attribute = |attribute: &RouteAttribute| matches!(attribute, RouteAttribute::Metrics(m) if m.iter().any(is_metric));
            route.attributes.iter().any(is_attribute)
        };
        let in_namespace = std::thread::spawn(move || {
            // SAFETY: takes no pointers and changes the calling thread only.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                eprintln!("not run: no network namespace without root");
                return;
            }
            // The kernel makes routes to this host when its interface comes up.
            let up = std::process::Command::new("ip").args(["link", "set", "lo", "up"]).status();
            if !up.is_ok_and(|status| status.success()) {
                eprintln!("not run: no `ip`");
                return;
            }
            let before = present_here().unwrap();
            assert!(!before.is_empty() && !before.iter().any(acknowledge_at_once), "{before:?}");
            // The second time changes nothing.
            for _ in 0..2 {
                acknowledge_at_once_here().unwrap();
                let after = present_here().unwrap();
                assert_eq!(after.len(), before.len());
                assert!(after.iter().all(acknowledge_at_once), "{after:?}");
            }
        });
        in_namespace.join().unwrap();
    }
}
