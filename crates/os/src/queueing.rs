//! The queue of packets in front of an interface (tc(8)).
//!
//! Without one, a packet is with the interface when the call returns that sent it. With one, another
//! processor or a thread of the kernel's (`ksoftirqd`) may still have it, and `fq`, which many hosts have
//! for `bbr`, holds back what TCP sends, by timers of the kernel's.

use anyhow::Context;
use netlink_packet_core::{NLM_F_ACK, NLM_F_CREATE, NLM_F_REPLACE, NLM_F_REQUEST};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};

use crate::link_kind::{exchange, link};

/// Takes the queue in front of an interface of the calling thread's network namespace away.
///
/// # Errors
/// If there is no such interface, or without the right to change it.
pub fn without_queue_here(interface: &str) -> anyhow::Result<()> {
    let index = link(interface)?.header.index;
    let mut message = TcMessage::with_index(index.cast_signed());
    message.header.parent = TcHandle::ROOT;
    message.attributes.push(TcAttribute::Kind("noqueue".to_owned()));
    let flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
    exchange(RouteNetlinkMessage::NewQueueDiscipline(message), flags)
        .with_context(|| format!("cannot take the queue of interface {interface} away"))?;
    Ok(())
}
