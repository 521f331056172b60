//! One direction of a connection, as its sender's kernel sees it: what it has sent, what it was told
//! has arrived, and whether it may send.
//!
//! An acknowledgement counts when it is handed to the sender, so whatever the network loses, data
//! or acknowledgements, leaves it waiting. The receiver's delayed acknowledgement needs no state of its
//! own: until it is there, the sender waits. A flow in which nothing is outstanding is not kept,
//! since the next segment says all again.

use vtime::{HostSpan, HostTime};

use super::Reason;
use super::timers::{PROBE_FIRST, RTO_MAX, RTO_MIN, SYN_FIRST, after_gap, with_allowance};
use crate::wire::Tcp;
use crate::wire::tcp::is_after;

/// A flow whose kernel has something to wait for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flow {
    /// The next sequence number of what was acknowledged.
    acknowledged: u32,
    /// The next sequence number of what was sent, at least `acknowledged`.
    sent: u32,
    /// Whether the SYN is not acknowledged.
    is_opening: bool,
    /// Whether the receiver has no room.
    is_closed: bool,
    /// When the kernel last set its timer: it sent, or heard of progress.
    tried: HostTime,
    /// How long it may be silent from then on.
    silence: HostSpan,
}

impl Flow {
    /// A flow of which nothing is known yet sends a segment: `None` if nothing is outstanding.
    pub(super) fn begin(segment: &Tcp<'_>, now: HostTime) -> Option<Self> {
        (segment.length() > 0 && !segment.rst).then(|| Self {
            acknowledged: segment.sequence,
            sent: segment.end(),
            is_opening: segment.syn,
            is_closed: false,
            tried: now,
            silence: if segment.syn { SYN_FIRST } else { RTO_MAX },
        })
    }

    /// A flow of which nothing is known yet is told `segment` by its receiver: `None` unless that
    /// closes the window.
    pub(super) fn closed(segment: &Tcp<'_>, now: HostTime) -> Option<Self> {
        let acknowledged = segment.acknowledgement.filter(|_| closes_window(segment))?;
        Some(Self {
            acknowledged,
            sent: acknowledged,
            is_opening: false,
            is_closed: true,
            tried: now,
            silence: PROBE_FIRST,
        })
    }

    /// The flow after its sender has sent `segment`; `None` if nothing is outstanding any more.
    pub(super) fn sends(mut self, segment: &Tcp<'_>, now: HostTime) -> Option<Self> {
        if segment.rst {
            return None;
        }
        let opens_anew = segment.syn && segment.sequence != self.acknowledged;
        if opens_anew {
            return Self::begin(segment, now);
        }
        if segment.length() == 0 && !self.is_probe(segment) {
            return Some(self);
        }
        let is_new = is_after(segment.end(), self.sent);
        if is_new {
            self.sent = segment.end();
        } else if now - self.tried >= RTO_MIN {
            self.silence = after_gap(now - self.tried);
        }
        self.tried = now;
        Some(self)
    }

    /// The flow after `segment` of its receiver was handed to its sender; `None` if nothing is
    /// outstanding any more.
    pub(super) fn hears(mut self, segment: &Tcp<'_>, now: HostTime) -> Option<Self> {
        if segment.rst {
            return None;
        }
        let Some(number) = segment.acknowledgement else { return Some(self) };
        let was_outstanding = self.is_outstanding();
        if is_after(number, self.acknowledged) {
            self.advance(number, now);
        }
        // What is older knows less of the window.
        if number == self.acknowledged {
            self.is_closed = closes_window(segment);
        }
        if was_outstanding && !self.is_outstanding() {
            (self.tried, self.silence) = (now, PROBE_FIRST);
        }
        (self.is_outstanding() || self.is_closed).then_some(self)
    }

    fn advance(&mut self, number: u32, now: HostTime) {
        self.acknowledged = number;
        // More than was seen to be sent: later fragments are not looked at.
        if is_after(number, self.sent) {
            self.sent = number;
        }
        if self.is_opening {
            (self.is_opening, self.silence) = (false, RTO_MAX);
        }
        self.tried = now;
    }

    /// Whether the sender asks for room (`tcp_xmit_probe_skb`): an octet that was acknowledged,
    /// without the octet.
    fn is_probe(&self, segment: &Tcp<'_>) -> bool {
        self.is_closed && segment.sequence == self.acknowledged.wrapping_sub(1)
    }

    fn is_outstanding(&self) -> bool {
        is_after(self.sent, self.acknowledged)
    }

    /// What its kernel waits for.
    pub(super) fn reason(&self) -> Reason {
        match (self.is_opening, self.is_outstanding()) {
            (true, _) => Reason::Handshake,
            (_, true) => Reason::Data,
            (_, false) => Reason::ClosedWindow,
        }
    }

    /// The host time from which on the kernel has given up, if it does not send before.
    pub(super) fn until(&self) -> HostTime {
        self.tried + with_allowance(self.silence)
    }
}

/// Whether the sender of a segment has no room for data. SYN says nothing of that yet.
fn closes_window(segment: &Tcp<'_>) -> bool {
    segment.window == 0 && !segment.syn && !segment.rst
}
