//! How long a kernel that still has something to send may stay silent.
//!
//! A kernel may give up without a word (an attempt to connect that its program ended, a
//! `TCP_USER_TIMEOUT`), so nothing is owed for ever: when the longest time that its own schedule
//! allows between two tries has passed, there will be no other. All of it is host time, because
//! kernels count nothing else. Names and values are those of Linux 6.18; what a node sets
//! differently with `sysctl` or as an option of a route (`rto_min`) is not known here.

use vtime::HostSpan;

/// `TCP_RTO_MIN`: no segment is sent again sooner because its time is over. One that is comes from
/// the acknowledgements of others or a probe for the last one lost (RFC 8985), which leave the
/// schedule as it is. (`include/net/tcp.h`)
pub(super) const RTO_MIN: HostSpan = HostSpan::from_ms(200);

/// `TCP_RTO_MAX`, the longest time between two tries, whatever the round trip and the number of
/// tries. (`include/net/tcp.h`, `net.ipv4.tcp_rto_max_ms`)
pub(super) const RTO_MAX: HostSpan = HostSpan::from_s(120);

/// `TCP_TIMEOUT_INIT`: a SYN, or the answer to one, is sent again after so long, a few times at the
/// same distance (`tcp_syn_linear_timeouts`), then twice as long each. (RFC 6298, 2.1)
pub(super) const SYN_FIRST: HostSpan = HostSpan::from_s(1);

/// The first probe of a closed window comes after the time of a retransmission
/// (`tcp_probe0_base`). 3 s is what that is without a measured round trip (`TCP_TIMEOUT_FALLBACK`),
/// or with one of 600 ms. Whoever does not probe by then has nothing to send.
pub(super) const PROBE_FIRST: HostSpan = HostSpan::from_s(3);

/// `RETRANS_TIME` of ARP and of neighbour discovery: the time between two requests, and after the
/// last one until the kernel tells its programs that there is nobody. (RFC 4861, 10;
/// `neigh/default/retrans_time_ms`)
pub(super) const SOLICITATION: HostSpan = HostSpan::from_s(1);

/// The longest silence after a try that came `gap` after the one before: tries are at most twice as
/// far apart each time.
pub(super) fn after_gap(gap: HostSpan) -> HostSpan {
    HostSpan::from_ns(gap.as_ns().saturating_mul(2)).clamp(SYN_FIRST, RTO_MAX)
}

/// How long to wait for a try that is due after `silence`: the kernel's timers are up to an eighth
/// late by design (`kernel/time/timer.c`), and the frame is seen when this process gets to it.
pub(super) fn with_allowance(silence: HostSpan) -> HostSpan {
    let late_ns = silence.as_ns() / 4 + HostSpan::from_ms(100).as_ns();
    HostSpan::from_ns(silence.as_ns().saturating_add(late_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_doubles_between_its_bounds() {
        assert_eq!(after_gap(HostSpan::from_ms(210)), SYN_FIRST);
        assert_eq!(after_gap(HostSpan::from_s(32)), HostSpan::from_s(64));
        assert_eq!(after_gap(HostSpan::from_s(64)), RTO_MAX);
        assert_eq!(after_gap(HostSpan::MAX), RTO_MAX);
        assert_eq!(with_allowance(SYN_FIRST), HostSpan::from_ms(1350));
    }
}
