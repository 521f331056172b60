//! When a party may be heard: so that a flood under its address costs few wake-ups, and everybody
//! else next to nothing.
//!
//! What a flood costs is not to refuse its datagrams, which takes a third of a microsecond each, but
//! to be woken for each of them. So a party under whose address much was refused is heard in
//! batches, a quarter of a tick apart, until a tick has passed in which little was. Who sends a few
//! bad datagrams under another's address delays nothing. And nobody is heard beyond an allowance for
//! each tick.
//!
//! What is authentic is the party's own doing, and a correct one says little in a tick. So anybody who
//! says more than that under his own keys is a hostile node: he is heard in batches too, and after a
//! few no more in that tick. That costs nobody else a word, because nobody else has those keys.

use std::time::Duration;

use quorum::CommonTime;

/// Datagrams taken from one party at once, before it is another one's turn: four of these are an
/// allowance.
pub(super) const BATCH: usize = 32;
/// Datagrams taken from one party in a tick: a hundred times what a correct one sends, and what
/// comes with 100,000 a second, so that a flood of that rate never queues up.
const ALLOWANCE: usize = 128;
/// Datagrams that are refused in a tick before its sender is heard in batches: 32,000 a second, so
/// that it takes a flood to have a correct one wait.
const REFUSED_MAX: usize = 32;
/// Authentic datagrams in a tick after which its sender is not heard before the next: eight times
/// what a correct one says in a tick (a share and a certificate), so that what it said in eight ticks
/// of a receiver that was stopped is no offence.
const AUTHENTIC_MAX: usize = 16;
/// From one batch to the next: a quarter of a tick.
const PAUSE: Duration = Duration::from_micros(250);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pace {
    allowance: usize,
    refused: usize,
    authentic: usize,
    was_flooded: bool,
    paused_until: Option<CommonTime>,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self {
            allowance: ALLOWANCE,
            refused: 0,
            authentic: 0,
            was_flooded: false,
            paused_until: None,
        }
    }

    pub(super) const fn is_heard(&self) -> bool {
        self.allowance > 0 && self.paused_until.is_none()
    }

    /// Until when it is not, if it is paused.
    pub(super) const fn paused_until(&self) -> Option<CommonTime> {
        self.paused_until
    }

    pub(super) const fn is_used_up(&self) -> bool {
        self.allowance == 0
    }

    /// More came in this tick than from somebody correct whom nobody floods.
    const fn is_flood(&self) -> bool {
        self.refused >= REFUSED_MAX || self.authentic >= AUTHENTIC_MAX
    }

    pub(super) const fn begin_tick(&mut self) {
        self.was_flooded = self.is_flood();
        (self.refused, self.authentic) = (0, 0);
        self.allowance = ALLOWANCE;
    }

    /// Ends a pause that is over; says whether one was. A clock that was set back prolongs none.
    pub(super) fn resume(&mut self, now: CommonTime) -> bool {
        let is_over = |until: &mut CommonTime| *until <= now || until.since(now) > PAUSE;
        self.paused_until.take_if(is_over).is_some()
    }

    /// So many datagrams were taken at once, and so many of them refused; says whether a pause
    /// begins.
    pub(super) const fn take(&mut self, now: CommonTime, count: usize, refused: usize) -> bool {
        self.refused = self.refused.saturating_add(refused);
        self.authentic = self.authentic.saturating_add(count.saturating_sub(refused));
        self.allowance = match self.authentic {
            ..AUTHENTIC_MAX => self.allowance.saturating_sub(count),
            _ => 0,
        };
        let is_paced = self.was_flooded || self.is_flood();
        if is_paced && count > 0 {
            self.paused_until = Some(now.plus(PAUSE));
        }
        is_paced && count > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_NS: u64 = 1_000_000;

    const fn at(ns: u64) -> CommonTime {
        CommonTime::from_ns(ns)
    }

    /// What a flood of so many datagrams a second costs in 100 ticks: batches, and datagrams taken;
    /// anybody who is heard is woken for each datagram.
    fn flood(rate: u64) -> (usize, usize) {
        let (mut pace, mut batches, mut taken, mut waiting) = (Pace::new(), 0, 0, 0_usize);
        for now_ns in (0..100 * TICK_NS).step_by(1_000_000_000 / rate as usize) {
            if now_ns % TICK_NS == 0 {
                pace.begin_tick();
            }
            waiting += 1;
            pace.resume(at(now_ns));
            if pace.is_heard() {
                let count = waiting.min(BATCH);
                pace.take(at(now_ns), count, count);
                waiting -= count;
                taken += count;
                batches += 1;
            }
        }
        (batches, taken)
    }

    #[test]
    fn a_flood_is_heard_in_batches_and_does_not_queue_up() {
        let (batches, taken) = flood(100_000);
        assert!(batches <= 4 * 100 + REFUSED_MAX, "{batches}");
        assert!(taken >= 10_000 - BATCH, "{taken}");
    }

    #[test]
    fn a_few_bad_datagrams_delay_nobody() {
        let mut pace = Pace::new();
        for tick in 0..100 {
            pace.begin_tick();
            for _ in 1..REFUSED_MAX {
                assert!(!pace.take(at(tick * TICK_NS), 1, 1));
            }
            assert!(pace.is_heard());
        }
    }

    #[test]
    fn who_is_flooded_no_more_is_heard_at_once_again() {
        let mut pace = Pace::new();
        assert!(pace.take(at(0), BATCH, BATCH));
        assert!(
            !pace.is_heard()
                && !pace.resume(at(realtime::time::ns(PAUSE) - 1))
                && pace.resume(at(realtime::time::ns(PAUSE)))
        );
        pace.begin_tick();
        assert!(pace.take(at(TICK_NS), 1, 0), "the tick before was one of flood");
        pace.begin_tick();
        assert!(pace.resume(at(2 * TICK_NS)));
        assert!(!pace.take(at(2 * TICK_NS), 1, 0));
        assert!(pace.is_heard());
    }

    #[test]
    fn who_says_too_much_under_his_own_keys_is_heard_once_more_in_the_next_tick() {
        let mut pace = Pace::new();
        for _ in 1..AUTHENTIC_MAX {
            assert!(!pace.take(at(0), 1, 0) && pace.is_heard());
        }
        pace.take(at(0), 1, 0);
        assert!(pace.is_used_up() && !pace.resume(at(realtime::time::ns(PAUSE) - 1)));
        pace.resume(at(TICK_NS));
        pace.begin_tick();
        assert!(pace.is_heard() && pace.take(at(TICK_NS), BATCH, 0));
        pace.resume(at(2 * TICK_NS - 1));
        assert!(!pace.is_heard(), "one batch was too much again");
        pace.begin_tick();
        assert!(pace.take(at(2 * TICK_NS), 1, 0), "heard in batches");
        pace.begin_tick();
        pace.resume(at(3 * TICK_NS));
        assert!(!pace.take(at(3 * TICK_NS), 1, 0), "until a tick in which little came");
    }

    #[test]
    fn what_others_send_under_his_address_is_not_held_to_what_he_says() {
        let mut pace = Pace::new();
        pace.take(at(0), REFUSED_MAX - 1, REFUSED_MAX - 1);
        assert!(pace.is_heard());
        pace.take(at(0), AUTHENTIC_MAX - 1, 0);
        assert!(pace.is_heard());
    }

    #[test]
    fn nobody_is_heard_beyond_the_allowance_and_a_clock_set_back_silences_nobody() {
        let mut pace = Pace::new();
        for _ in 0..ALLOWANCE / BATCH {
            assert!(pace.is_heard() || pace.resume(at(realtime::time::ns(PAUSE))));
            pace.take(at(0), BATCH, BATCH);
        }
        assert!(!pace.is_heard() && pace.is_used_up());
        pace.begin_tick();
        pace.resume(at(TICK_NS));
        assert!(pace.is_heard());
        pace.take(at(10 * TICK_NS), BATCH, BATCH);
        assert!(pace.resume(at(0)));
    }
}
