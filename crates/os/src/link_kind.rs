//! What kind of link an interface is, as only netlink reports it (rtnetlink(7)).
//!
//! It matters most for macvlan: by default it hands multicast, and so all sampled values, to an
//! ordinary worker of the kernel, which adds milliseconds and loses frames. A cutoff of -1
//! (`IFLA_MACVLAN_BC_CUTOFF`, Linux 6.4) delivers them at once.

use std::io;

use anyhow::{Context, bail};
use netlink_packet_core::{NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoMacVlan, LinkAttribute, LinkInfo, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// The cutoff with which macvlan delivers all multicast at once.
pub const CUTOFF_AT_ONCE: i32 = -1;

/// What an interface is made of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LinkKind {
    /// A network card, or what looks like one.
    Device,
    /// A virtual one, by the kernel's name for its kind: `veth`, `bridge`, `tun`.
    Virtual(String),
    /// macvlan, with its cutoff; `None` on kernels that have none (before 6.4).
    Macvlan {
        /// Multicast addresses with up to this many receivers are delivered at once.
        cutoff: Option<i32>,
    },
}

/// Asks the kernel about an interface of this network namespace.
///
/// # Errors
/// If there is no such interface.
pub fn link_kind(interface: &str) -> anyhow::Result<LinkKind> {
    let infos = link(interface)?.attributes.into_iter().find_map(|attribute| match attribute {
        LinkAttribute::LinkInfo(infos) => Some(infos),
        _ => None,
    });
    Ok(from_infos(&infos.unwrap_or_default()))
}

fn from_infos(infos: &[LinkInfo]) -> LinkKind {
    let kind = infos.iter().find_map(|info| match info {
        LinkInfo::Kind(kind) => Some(kind.to_string()),
        _ => None,
    });
    let cutoff = infos.iter().find_map(|info| match info {
        LinkInfo::Data(InfoData::MacVlan(settings)) => {
            settings.iter().find_map(|setting| match setting {
                InfoMacVlan::BcCutoff(cutoff) => Some(*cutoff),
                _ => None,
            })
        }
        _ => None,
    });
    match kind {
        None => LinkKind::Device,
        Some(kind) if kind == "macvlan" => LinkKind::Macvlan { cutoff },
        Some(kind) => LinkKind::Virtual(kind),
    }
}

/// A message about the interface of this name.
pub(crate) fn named(name: &str) -> LinkMessage {
    let mut link = LinkMessage::default();
    link.attributes.push(LinkAttribute::IfName(name.to_owned()));
    link
}

/// What the kernel says of an interface of the present namespace.
pub(crate) fn link(name: &str) -> anyhow::Result<LinkMessage> {
    let question = RouteNetlinkMessage::GetLink(named(name));
    match exchange(question, NLM_F_REQUEST).with_context(|| format!("interface {name}"))? {
        Some(RouteNetlinkMessage::NewLink(link)) => Ok(link),
        other => bail!("unexpected answer of the kernel: {other:?}"),
    }
}

/// Sends the kernel one message and takes its answer; `None` where that only acknowledges.
pub(crate) fn exchange(
    message: RouteNetlinkMessage,
    flags: u16,
) -> anyhow::Result<Option<RouteNetlinkMessage>> {
    let mut message = NetlinkMessage::from(message);
    message.header.flags = flags;
    message.finalize();
    let mut octets = vec![0; message.buffer_len()];
    message.serialize(&mut octets);
    let socket = Socket::new(NETLINK_ROUTE)?;
    socket.connect(&SocketAddr::new(0, 0))?;
    socket.send(&octets, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
        .context("the kernel's answer cannot be read")?;
    match answer.payload {
        NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(None),
        NetlinkPayload::Error(error) => Err(io::Error::from_raw_os_error(-error.raw_code()).into()),
        other => bail!("unexpected answer of the kernel: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use netlink_packet_route::link::InfoKind;

    use super::*;

    #[test]
    fn the_loop_back_interface_is_a_device_and_others_are_not_there() {
        assert_eq!(link_kind("lo").unwrap(), LinkKind::Device);
        let error = format!("{:#}", link_kind("none-such").unwrap_err());
        assert!(error.starts_with("interface none-such: No such device"), "{error}");
    }

    #[test]
    fn the_cutoff_of_macvlan_is_found() {
        let kind = LinkInfo::Kind(InfoKind::MacVlan);
        let of =
            |settings| from_infos(&[kind.clone(), LinkInfo::Data(InfoData::MacVlan(settings))]);
        let cutoff = Some(CUTOFF_AT_ONCE);
        assert_eq!(of(vec![InfoMacVlan::BcCutoff(-1)]), LinkKind::Macvlan { cutoff });
        assert_eq!(of(vec![]), LinkKind::Macvlan { cutoff: None });
        let veth = from_infos(&[LinkInfo::Kind(InfoKind::Veth)]);
        assert_eq!(veth, LinkKind::Virtual("veth".to_owned()));
    }
}
