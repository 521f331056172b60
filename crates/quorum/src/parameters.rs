//! All numbers of the protocols, each with the reason for its value.

use std::time::Duration;

use super::{Protocol, Tick};

/// How far a node's clock may be off. Two clocks then differ by a tick at most, which is what
/// [`Parameters::freshness_ticks`] forgives; a clock synchronised by PTP is a thousand times
/// better, so a node that is further off is faulty.
pub const CLOCK_ERROR_MAX: Duration = Duration::from_micros(500);

/// What a station may set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parameters {
    /// W: by how many ticks the tick of a statement may differ from that of the receiver. 1: the
    /// clocks of two nodes differ by up to a tick, and a datagram may cross the end of one.
    pub freshness_ticks: u64,
    /// L: for how many ticks ahead a share of the Peer Protocol speaks. 1: a peer whose clock is
    /// a tick ahead finds a common tick without another round.
    pub look_ahead_ticks: u64,
    /// From an action to the next trip. The least that is allowed, so that a breaker that closes
    /// onto a fault trips again within a quarter cycle: trip beats close.
    pub dwell_before_trip: Duration,
    /// From an action to the next close. One cycle: the filters of a relay take that long to
    /// forget a fault. It bounds how often one hostile node can make the breaker move while two
    /// correct ones disagree.
    pub dwell_before_close: Duration,
    /// How many proofs of one sender are verified in a tick. 2: a decision within a tick and the
    /// begin of the next tick; anything beyond that is a flood.
    pub checks_per_tick: u8,
    /// How often a node in recovery asks the breaker node, and announces its key.
    pub query_interval: Duration,
    /// How soon an acknowledgement is repeated for the first time; then after twice as long each
    /// time.
    pub heartbeat_min: Duration,
    /// How long the breaker node is silent at most, and how seldom an announcement is repeated.
    pub heartbeat_max: Duration,
    /// How often a relay node with nothing else to say gives a sign of life.
    pub presence_interval: Duration,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            freshness_ticks: 1,
            look_ahead_ticks: 1,
            dwell_before_trip: Duration::from_millis(3),
            dwell_before_close: Duration::from_millis(20),
            checks_per_tick: 2,
            query_interval: Duration::from_millis(5),
            heartbeat_min: Duration::from_millis(2),
            heartbeat_max: Duration::from_secs(1),
            presence_interval: Duration::from_millis(500),
        }
    }
}

impl Parameters {
    /// For how many ticks a statement can lead to an action, at most: W in the Arbiter Protocol,
    /// W + L in the Peer Protocol. A statement of an older tick is worth nothing.
    pub const fn authority_ticks(&self, protocol: Protocol) -> u64 {
        match protocol {
            Protocol::Arbiter => self.freshness_ticks,
            Protocol::Peer => self.freshness_ticks + self.look_ahead_ticks,
        }
    }

    /// The least dwell: after it, no vote from before an action is fresh. A share of the Peer Protocol
    /// can be, if it comes from a clock that is ahead; its gen makes it worthless in any case.
    pub fn dwell_min(&self) -> Duration {
        let ticks = self.freshness_ticks.saturating_add(self.look_ahead_ticks).saturating_add(1);
        Tick::LENGTH.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    /// What is wrong with them, with the fix; nothing if they can be used.
    pub fn problem(&self) -> Option<String> {
        let dwell_min = self.dwell_min();
        let shortest = self.dwell_before_trip.min(self.dwell_before_close);
        if shortest < dwell_min {
            return Some(format!(
                "a dwell of {shortest:?} lets statements from before an action lead to the next \
                 one: use at least {dwell_min:?} for these ticks of freshness and look-ahead"
            ));
        }
        if self.dwell_before_close < self.dwell_before_trip {
            return Some(format!(
                "a close may follow after {:?}, but a trip only after {:?}: a trip must be \
                 allowed as early as a close",
                self.dwell_before_close, self.dwell_before_trip
            ));
        }
        if self.freshness_ticks == 0 || self.checks_per_tick < 2 {
            return Some(format!(
                "freshness of {} ticks and {} checks per tick: use at least 1 and 2, or correct \
                 nodes whose clocks differ are ignored",
                self.freshness_ticks, self.checks_per_tick
            ));
        }
        let intervals = [self.query_interval, self.heartbeat_min, self.presence_interval];
        if intervals.contains(&Duration::ZERO) || self.heartbeat_max < self.heartbeat_min {
            return Some(format!(
                "intervals of {intervals:?} and heartbeats up to {:?}: above zero, and in order",
                self.heartbeat_max
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_safe_or_live_is_a_problem() {
        let good = Parameters::default();
        assert_eq!(good.problem(), None);
        assert_eq!(good.dwell_min(), Duration::from_millis(3));
        let ms = Duration::from_millis;
        for (bad, word) in [
            (Parameters { dwell_before_trip: ms(2), ..good }, "before an action"),
            (Parameters { look_ahead_ticks: 2, ..good }, "at least 4ms"),
            (Parameters { dwell_before_close: ms(3), dwell_before_trip: ms(4), ..good }, "early"),
            (Parameters { freshness_ticks: 0, ..good }, "ignored"),
            (Parameters { checks_per_tick: 1, ..good }, "ignored"),
            (Parameters { query_interval: ms(0), ..good }, "above zero"),
            (Parameters { heartbeat_max: ms(1), ..good }, "in order"),
        ] {
            let problem = bad.problem().expect(word);
            assert!(problem.contains(word), "{problem}");
        }
    }

    #[test]
    fn a_look_ahead_widens_authority_in_the_peer_protocol_only() {
        let parameters = Parameters::default();
        assert_eq!(parameters.authority_ticks(Protocol::Arbiter), 1);
        assert_eq!(parameters.authority_ticks(Protocol::Peer), 2);
    }
}
