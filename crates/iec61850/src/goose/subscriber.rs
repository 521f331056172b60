//! What a subscriber makes of messages: a new state, the same state again, or nothing but a count.
//!
//! While a publisher is alive, only what follows its last message is taken: a higher `stNum`, or
//! the same with a higher `sqNum`. After its time allowed to live it may have been restarted and
//! counts from the beginning, and is believed at once if its time `t` is later than that of all
//! before: a message that was recorded earlier stays refused, however long the silence.
//!
//! A number or a time far ahead, forged or by mistake, would so lock out the true publisher. Two
//! things prevent that. The line of messages that was overtaken is remembered as long as it goes on,
//! and is believed again as soon as what overtook it is silent. And after a silence, messages that
//! were never taken before are believed when they have gone on in order for a minute, whatever their
//! time: a publisher whose clock was set back, or whose counters began again. Who replays more than
//! a minute of recorded messages after the publisher has fallen silent is therefore believed; who
//! can do that can as well forge a higher `stNum`.

use std::time::Duration;

use super::order::{Line, Step};
use super::refusal::{Field, Refusal, Refusals, Said};
use crate::time::SampleTime;
use crate::wire::{Goose, MacAddress};

/// How long messages that do not follow what was taken before must go on in order, in a silence,
/// until they are believed: longer than a replay by accident, shorter than anybody waits.
const PROBATION: Duration = Duration::from_secs(60);

/// Which publisher a subscriber listens to, and what its messages must be like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expected {
    /// The group that it sends to.
    pub destination: MacAddress,
    pub app_id: u16,
    /// Reference of its control block.
    pub gocb_ref: String,
    pub conf_rev: u32,
    /// Reference of its data set; any, if nothing is given.
    pub dat_set: Option<String>,
    /// Name of the message; any, if nothing is given.
    pub go_id: Option<String>,
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

    /// Whether a message of that publisher is as the settings say.
    ///
    /// # Errors
    /// The first field that is not.
    pub fn check(&self, message: &Goose<'_>) -> Result<(), Refusal> {
        let refuse = |field, expected, got| Err(Refusal { field, expected, got });
        let number =
            |field, expected, got| refuse(field, Said::Number(expected), Said::Number(got));
        let count = message.all_data.count();
        if message.conf_rev != self.conf_rev {
            return number(Field::ConfRev, self.conf_rev, message.conf_rev);
        }
        for (field, expected, got) in [
            (Field::DatSet, &self.dat_set, message.dat_set),
            (Field::GoId, &self.go_id, message.go_id),
        ] {
            if let Some(expected) = expected.as_deref().filter(|expected| *expected != got) {
                return refuse(field, Said::text(expected), Said::text(got));
            }
        }
        if count != self.entries {
            return number(Field::NumDatSetEntries, self.entries, count);
        }
        if message.nds_com {
            return refuse(Field::NdsCom, Said::Words("false"), Said::Words("true"));
        }
        if message.time_allowed_to_live_ms == 0 {
            return refuse(Field::TimeAllowedToLive, Said::After(0), Said::Number(0));
        }
        Ok(())
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
    /// Did not fit the settings: revision, data set, name, number or kinds of values; or no time
    /// to live, or needs commissioning.
    pub misconfigured: u64,
    /// From a test set that was not expected, or from the real publisher while one is.
    pub simulated: u64,
    /// Times that the publisher was silent for longer than it allowed.
    pub silences: u64,
    /// Times that another line of messages than the last one was believed.
    pub restarts: u64,
    /// All that was refused, by field.
    pub refusals: Refusals,
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
    line: Line,
    is_simulated: bool,
}

/// A line of messages beside the one that is believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Rival {
    line: Line,
    /// When it was first heard as a rival.
    since: SampleTime,
    /// Whether it was believed before it was overtaken.
    was_believed: bool,
    was_heard: bool,
}

/// Listens to one publisher.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscriber {
    expected: Expected,
    counters: Counters,
    last: Option<Last>,
    rival: Option<Rival>,
    is_lost: bool,
    report: Option<Refusal>,
}

impl Subscriber {
    /// Nothing has come yet.
    #[must_use]
    pub fn new(expected: Expected) -> Self {
        let counters = Counters::default();
        Self { expected, counters, last: None, rival: None, is_lost: false, report: None }
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

    /// What was refused and is worth a record, once: the first of a run for the same field.
    pub fn take_report(&mut self) -> Option<Refusal> {
        self.report.take()
    }

    /// A message has arrived that [`Expected::matches`].
    pub fn receive(&mut self, now: SampleTime, message: &Goose<'_>) -> Reception {
        self.poll(now);
        let is_simulated = message.simulation || message.header.is_simulated();
        let shadows = self.last.is_some_and(|last| last.is_simulated) && !self.is_lost;
        if is_simulated != shadows && (!is_simulated || !self.expected.simulated) {
            let says = |yes: bool| Said::Words(if yes { "true" } else { "false" });
            let (expected, got) = (says(!is_simulated), says(is_simulated));
            return self.refuse(now, Refusal { field: Field::Simulation, expected, got });
        }
        if let Err(refusal) = self.expected.check(message) {
            return self.refuse(now, refusal);
        }
        match self.place(now, message, is_simulated) {
            Ok(reception) => {
                self.counters.received += 1;
                self.is_lost = false;
                self.last = Some(Last { line: Line::from(now, message), is_simulated });
                reception
            }
            Err(refusal) => self.refuse(now, refusal),
        }
    }

    /// Time has passed; says whether the last values are still those of the publisher.
    pub fn poll(&mut self, now: SampleTime) -> Liveness {
        let Some(last) = self.last else { return Liveness::Waiting };
        if !self.is_lost && now > last.line.expires {
            self.is_lost = true;
            self.counters.silences += 1;
        }
        if self.is_lost { Liveness::Lost } else { Liveness::Alive }
    }

    /// A message has arrived that [`Expected::matches`], and is refused for this reason.
    pub fn refuse(&mut self, now: SampleTime, refusal: Refusal) -> Reception {
        let counters = &mut self.counters;
        counters.received += 1;
        match refusal.field {
            Field::Simulation => counters.simulated += 1,
            field if field.is_of_settings() => counters.misconfigured += 1,
            _ => counters.old += 1,
        }
        if counters.refusals.note(now, refusal) {
            self.report = Some(refusal);
        }
        Reception::Refused
    }

    /// What a message is to those before it.
    fn place(
        &mut self,
        now: SampleTime,
        message: &Goose<'_>,
        is_simulated: bool,
    ) -> Result<Reception, Refusal> {
        let Some(last) = self.last else { return Ok(self.changed(0)) };
        if last.is_simulated != is_simulated {
            return Ok(self.restarted());
        }
        match last.line.step(message) {
            Ok(Step::Repeats { lost }) => {
                if lost > 0 {
                    self.overtaken(now, last.line);
                }
                self.counters.repeated += 1;
                self.counters.lost += u64::from(lost);
                Ok(Reception::Repeated)
            }
            Ok(Step::Changes { lost }) => {
                self.overtaken(now, last.line);
                Ok(self.changed(lost))
            }
            Err(_) if self.is_lost && last.line.is_before(message) => Ok(self.restarted()),
            Err(_) if self.is_believed_rival(now, message) => Ok(self.restarted()),
            Err(refusal) => Err(refusal),
        }
    }

    /// What was believed may go on beside what has overtaken it. One that does so already is kept.
    fn overtaken(&mut self, now: SampleTime, line: Line) {
        if !self.rival.is_some_and(|rival| rival.was_heard && now <= rival.line.expires) {
            let rival = Rival { line, since: now, was_believed: true, was_heard: false };
            self.rival = Some(rival);
        }
    }

    /// Whether a message that does not follow the last one is of another line that is to be believed
    /// now.
    fn is_believed_rival(&mut self, now: SampleTime, message: &Goose<'_>) -> bool {
        match self.rival.filter(|rival| now <= rival.line.expires) {
            Some(rival) if rival.line.step(message).is_ok() => {
                let line = Line::from(now, message);
                self.rival = Some(Rival { line, was_heard: true, ..rival });
                self.is_lost && (rival.was_believed || now.since(rival.since) >= PROBATION)
            }
            Some(_) => false,
            None => {
                let line = Line::from(now, message);
                let new = Rival { line, since: now, was_believed: false, was_heard: true };
                self.rival = self.is_lost.then_some(new);
                false
            }
        }
    }

    fn restarted(&mut self) -> Reception {
        self.rival = None;
        self.counters.restarts += 1;
        self.changed(0)
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
    use crate::wire::{AllData, Header, UtcTime};
    use proptest::prelude::*;

    fn subscriber(simulated: bool) -> Subscriber {
        Subscriber::new(Expected {
            destination: MacAddress::default(),
            app_id: 0,
            gocb_ref: "BAY/LLN0$GO$gcb".into(),
            conf_rev: 1,
            dat_set: Some("BAY/LLN0$ds".into()),
            go_id: Some("gcb".into()),
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
            Goose { go_id: "gcb2", ..message(1, 0, 9) },
            Goose { dat_set: "BAY/LLN0$ds2", ..message(1, 0, 9) },
            Goose { time_allowed_to_live_ms: 0, ..message(1, 0, 9) },
        ] {
            assert_eq!(subscriber.receive(at(0), &wrong), Reception::Refused, "{wrong:?}");
            assert!(subscriber.take_report().is_some());
            assert_eq!(subscriber.receive(at(1), &wrong), Reception::Refused);
            assert_eq!(subscriber.take_report(), None, "one report for each run");
        }
        let Counters { misconfigured, refusals, .. } = *subscriber.counters();
        assert_eq!(misconfigured, 12);
        assert_eq!((refusals.of(Field::GoId), refusals.of(Field::DatSet)), (2, 2));
        assert_eq!(subscriber.poll(at(0)), Liveness::Waiting);
    }

    /// Sends a true line of one message a tenth of a second from `ms` on, in that state; says how
    /// long it took until that was believed, at most 5 minutes.
    fn until_believed(
        subscriber: &mut Subscriber,
        from_ms: u64,
        st_num: u32,
        s: u32,
    ) -> Option<u64> {
        (0..3000).map(|n| n * 100).find(|ms| {
            let message = message(st_num, 10 + (ms / 100) as u32, s);
            subscriber.receive(at(from_ms + ms), &message) != Reception::Refused
        })
    }

    const YEAR_2100: u32 = 4_102_444_800;

    #[test]
    fn a_time_or_number_far_ahead_locks_the_true_publisher_out_for_a_while_only() {
        for forged in [
            message(8, 0, YEAR_2100),
            message(8, 0, 11),
            message(7 + (1 << 31) - 1, 0, YEAR_2100),
            message(u32::MAX, 0, 11),
            message(7, 1 << 30, 10),
            Goose { time_allowed_to_live_ms: u32::MAX, ..message(8, 0, YEAR_2100) },
        ] {
            let mut subscriber = subscriber(false);
            subscriber.receive(at(0), &message(7, 9, 10));
            subscriber.receive(at(50), &forged);
            let believed = until_believed(&mut subscriber, 100, 7, 10);
            assert!(believed.is_some_and(|ms| ms <= 180_100), "{forged:?}: {believed:?}");
        }
        // As the first of all, there is nothing that the true line could continue.
        let mut first = subscriber(false);
        first.receive(at(0), &message(1 << 31, 0, YEAR_2100));
        let believed = until_believed(&mut first, 200, 7, 10);
        assert!(believed.is_some_and(|ms| ms <= 61_000), "{believed:?}");
    }

    #[test]
    fn a_publisher_whose_clock_and_counters_went_back_is_believed_after_a_while() {
        let mut subscriber = subscriber(false);
        subscriber.receive(at(0), &message(70, 3, 1_700_000_000));
        let believed = until_believed(&mut subscriber, 200, 1, 5);
        assert!(believed.is_some_and(|ms| (50_000..=61_000).contains(&ms)), "{believed:?}");
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

        #[test]
        fn whatever_was_sent_before_the_true_publisher_is_heard_again(
            forged in prop::collection::vec(
                (0u64..2000, any::<u32>(), any::<u32>(), any::<u32>(), 1u32..), 1..20,
            ),
            st_num: u32, seconds: u32,
        ) {
            let mut subscriber = subscriber(false);
            let mut ms = 0;
            for (wait_ms, st_num, sq_num, seconds, live) in forged {
                ms += wait_ms;
                let forged = message(st_num, sq_num, seconds);
                let forged = Goose { time_allowed_to_live_ms: live, ..forged };
                subscriber.receive(at(ms), &forged);
            }
            // What is forged last lives for three minutes, a rival from before as well, and then there
            // is the probation.
            for n in 0..4300 {
                subscriber.receive(at(ms + n * 100), &message(st_num, 10 + n as u32, seconds));
            }
            let next = message(st_num, 5000, seconds);
            let reception = subscriber.receive(at(ms + 430_000), &next);
            prop_assert_eq!(reception, Reception::Repeated);
        }
    }
}
