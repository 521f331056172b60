//! What a subscriber makes of messages: a new state, the same state again, or nothing but a count.
//!
//! While a publisher is alive, only what follows its last message is taken: a higher `stNum`, or
//! the same with a higher `sqNum`. After its time allowed to live it may have been restarted and
//! counts from the beginning, but never from an earlier time `t`: a message that was recorded
//! earlier stays refused, however long the silence.

use std::time::Duration;

use crate::time::SampleTime;
use crate::wire::{Goose, MacAddress, UtcTime};

/// Which publisher a subscriber listens to, and what its messages must be like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// The group that it sends to.
    pub destination: MacAddress,
    pub app_id: u16,
    /// Reference of its control block.
    pub gocb_ref: String,
    pub conf_rev: u32,
    /// How many values it sends.
    pub entries: u32,
    /// Whether messages of test sets (simulation bit) are taken instead of refused; while they
    /// come, those of the real publisher are left.
    pub simulated: bool,
}

impl Expected {
    /// Whether a message is from that publisher, or says so.
    #[must_use]
    pub fn matches(&self, message: &Goose<'_>) -> bool {
        message.header.app_id == self.app_id
            && message.header.destination == self.destination
            && message.gocb_ref == self.gocb_ref
    }
}

/// What became of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// All that arrived from the publisher, or said so.
    pub received: u64,
    /// Messages with a new state.
    pub changes: u64,
    pub repeated: u64,
    /// Messages of the present state that never arrived, as far as numbers tell.
    pub lost: u64,
    pub states_lost: u64,
    /// Sent before: replayed, duplicated or overtaken.
    pub old: u64,
    /// Did not fit the settings: revision, number or kinds of values, or needs commissioning.
    pub misconfigured: u64,
    /// From a test set that was not expected, or from the real publisher while one is.
    pub simulated: u64,
    /// Times that the publisher was silent for longer than it allowed.
    pub silences: u64,
    pub restarts: u64,
}

/// What to do with a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reception {
    /// Its values are new and to be used.
    Changed,
    /// Its values are known.
    Repeated,
    Refused,
}

/// Whether the last values are still those of the publisher.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Liveness {
    /// Nothing has come yet.
    Waiting,
    /// They are, and values hold.
    Alive,
    /// Nobody knows: nothing came within the time allowed to live.
    Lost,
}

/// The last message that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Last {
    st_num: u32,
    sq_num: u32,
    t: UtcTime,
    is_simulated: bool,
    expires: SampleTime,
}

/// Listens to one publisher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscriber {
    expected: Expected,
    counters: Counters,
    last: Option<Last>,
    is_lost: bool,
}

impl Subscriber {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(expected: Expected) -> Self {
        Self { expected, counters: Counters::default(), last: None, is_lost: false }
    }

    /// Which publisher it listens to.
    #[must_use]
    pub const fn expected(&self) -> &Expected {
        &self.expected
    }

    /// What became of messages up to now.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A message has arrived that [`Expected::matches`].
    pub fn receive(&mut self, now: SampleTime, message: &Goose<'_>) -> Reception {
        self.poll(now);
        self.counters.received += 1;
        let is_simulated = message.simulation || message.header.is_simulated();
        let shadows = self.last.is_some_and(|last| last.is_simulated) && !self.is_lost;
        if is_simulated != shadows && (!is_simulated || !self.expected.simulated) {
            self.counters.simulated += 1;
            return Reception::Refused;
        }
        if message.conf_rev != self.expected.conf_rev
            || message.all_data.count() != self.expected.entries
            || message.nds_com
        {
            return self.misconfigured();
        }
        let reception = self.place(message, is_simulated);
        if reception != Reception::Refused {
            let live = Duration::from_millis(message.time_allowed_to_live_ms.into());
            self.is_lost = false;
            self.last = Some(Last {
                st_num: message.st_num,
                sq_num: message.sq_num,
                t: message.t,
                is_simulated,
                expires: now.plus(live),
            });
        }
        reception
    }

    /// Time has passed; says whether the last values are still those of the publisher.
    pub fn poll(&mut self, now: SampleTime) -> Liveness {
        let Some(last) = self.last else { return Liveness::Waiting };
        if !self.is_lost && now > last.expires {
            self.is_lost = true;
            self.counters.silences += 1;
        }
        if self.is_lost { Liveness::Lost } else { Liveness::Alive }
    }

    /// A message has arrived that [`Expected::matches`], and whose values are not of the kinds that
    /// were expected.
    pub fn refuse(&mut self) {
        self.counters.received += 1;
        self.misconfigured();
    }

    fn misconfigured(&mut self) -> Reception {
        self.counters.misconfigured += 1;
        Reception::Refused
    }

    fn place(&mut self, message: &Goose<'_>, is_simulated: bool) -> Reception {
        let Some(last) = self.last else { return self.changed(0) };
        if last.is_simulated != is_simulated {
            self.counters.restarts += 1;
            return self.changed(0);
        }
        // Numbers that wrap: half of them are ahead, half behind.
        let states = message.st_num.wrapping_sub(last.st_num);
        let messages = message.sq_num.wrapping_sub(last.sq_num);
        let is_ahead = |distance: u32| (1..1 << 31).contains(&distance);
        match states {
            0 if is_ahead(messages) && message.t == last.t => {
                self.counters.repeated += 1;
                self.counters.lost += u64::from(messages - 1);
                Reception::Repeated
            }
            // An earlier state has an earlier time; a higher number with it was made up.
            _ if is_ahead(states) && message.t >= last.t => self.changed(states - 1),
            _ if self.is_lost && message.t > last.t => {
                self.counters.restarts += 1;
                self.changed(0)
            }
            _ => {
                self.counters.old += 1;
                Reception::Refused
            }
        }
    }

    fn changed(&mut self, states_lost: u32) -> Reception {
        self.counters.changes += 1;
        self.counters.states_lost += u64::from(states_lost);
        Reception::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::{AllData, Header};
    use proptest::prelude::*;

    fn subscriber(simulated: bool) -> Subscriber {
        Subscriber::new(Expected {
            destination: MacAddress::default(),
            app_id: 0,
            gocb_ref: "BAY/LLN0$GO$gcb".into(),
            conf_rev: 1,
            entries: 1,
            simulated,
        })
    }

    /// A message of state `st_num`, which came to be in that second.
    fn message(st_num: u32, sq_num: u32, seconds: u32) -> Goose<'static> {
        Goose {
            header: Header::default(),
            gocb_ref: "BAY/LLN0$GO$gcb",
            time_allowed_to_live_ms: 100,
            dat_set: "BAY/LLN0$ds",
            go_id: "gcb",
            t: UtcTime { seconds, fraction: 0, quality: 0 },
            st_num,
            sq_num,
            simulation: false,
            conf_rev: 1,
            nds_com: false,
            all_data: AllData::decode(&[0x83, 1, 0xff]).unwrap(),
        }
    }

    fn at(ms: u64) -> SampleTime {
        SampleTime::from_ns(ms * 1_000_000)
    }

    #[test]
    fn a_state_is_taken_once_and_kept_alive_by_repetitions() {
        let mut subscriber = subscriber(false);
        assert_eq!(subscriber.poll(at(0)), Liveness::Waiting);
        assert_eq!(subscriber.receive(at(0), &message(7, 3, 10)), Reception::Changed);
        assert_eq!(subscriber.receive(at(90), &message(7, 5, 10)), Reception::Repeated);
        assert_eq!(subscriber.counters().lost, 1);
        assert_eq!(subscriber.poll(at(190)), Liveness::Alive);
        assert_eq!(subscriber.poll(at(191)), Liveness::Lost);
        assert_eq!(subscriber.receive(at(300), &message(9, 0, 11)), Reception::Changed);
        assert_eq!(subscriber.poll(at(300)), Liveness::Alive);
        let Counters { silences, states_lost, .. } = *subscriber.counters();
        assert_eq!((silences, states_lost), (1, 1));
    }

    #[test]
    fn what_was_recorded_is_refused_also_after_a_silence() {
        let mut subscriber = subscriber(false);
        subscriber.receive(at(0), &message(7, 3, 10));
        subscriber.receive(at(1), &message(8, 0, 11));
        for old in [message(8, 0, 11), message(7, 4, 10), message(7, 3, 10)] {
            assert_eq!(subscriber.receive(at(2), &old), Reception::Refused);
            assert_eq!(subscriber.receive(at(5000), &old), Reception::Refused);
        }
        assert_eq!(subscriber.counters().old, 6);
        assert_eq!(subscriber.poll(at(5000)), Liveness::Lost);
    }

    #[test]
    fn a_publisher_that_was_restarted_is_believed_after_its_time_to_live() {
        let mut subscriber = subscriber(false);
        subscriber.receive(at(0), &message(7, 3, 10));
        assert_eq!(subscriber.receive(at(50), &message(1, 0, 12)), Reception::Refused);
        assert_eq!(subscriber.receive(at(101), &message(1, 1, 12)), Reception::Changed);
        assert_eq!(subscriber.counters().restarts, 1);
    }

    #[test]
    fn test_sets_are_refused_or_shadow_the_publisher() {
        let simulated = |st_num, sq_num| Goose { simulation: true, ..message(st_num, sq_num, 9) };
        let mut strict = subscriber(false);
        assert_eq!(strict.receive(at(0), &simulated(1, 0)), Reception::Refused);
        assert_eq!(strict.counters().simulated, 1);
        let mut testing = subscriber(true);
        assert_eq!(testing.receive(at(0), &message(7, 3, 10)), Reception::Changed);
        assert_eq!(testing.receive(at(1), &simulated(1, 0)), Reception::Changed);
        assert_eq!(testing.receive(at(2), &message(8, 0, 11)), Reception::Refused);
        assert_eq!(testing.receive(at(3), &simulated(1, 1)), Reception::Repeated);
        assert_eq!(testing.receive(at(200), &message(8, 1, 11)), Reception::Changed);
    }

    #[test]
    fn what_does_not_fit_the_settings_changes_nothing() {
        let mut subscriber = subscriber(false);
        let other = AllData::decode(&[0x83, 1, 0, 0x83, 1, 0]).unwrap();
        for wrong in [
            Goose { conf_rev: 2, ..message(1, 0, 9) },
            Goose { nds_com: true, ..message(1, 0, 9) },
            Goose { all_data: other, ..message(1, 0, 9) },
        ] {
            assert_eq!(subscriber.receive(at(0), &wrong), Reception::Refused);
        }
        assert_eq!(subscriber.counters().misconfigured, 3);
        assert_eq!(subscriber.poll(at(0)), Liveness::Waiting);
    }

    proptest! {
        #[test]
        fn each_message_is_counted_once(
            messages in prop::collection::vec((0u64..50, any::<u32>(), 0u32..4, 0u32..20), 1..100),
        ) {
            let mut subscriber = subscriber(false);
            let mut ms = 0;
            for (wait_ms, st_num, sq_num, seconds) in &messages {
                ms += wait_ms;
                subscriber.receive(at(ms), &message(*st_num, *sq_num, *seconds));
            }
            let Counters { received, changes, repeated, old, .. } = *subscriber.counters();
            prop_assert_eq!(received, messages.len() as u64);
            prop_assert_eq!(received, changes + repeated + old);
        }
    }
}
