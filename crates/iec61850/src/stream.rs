//! Whether a stream of sampled values can be trusted, and what became of each of its samples.
//!
//! The receiver's rule: one missing sample is held, that is replaced by the one before it; two in
//! a row make the stream invalid until as many good samples came as a filter looks back. A frame
//! that does not follow (replayed, counted back, made up) changes nothing but a counter, unless a
//! whole run of such frames comes while the stream itself says nothing: then the publisher has
//! started again.
//!
//! Times are those of arrival, by one clock. Whether the publisher's clock is right is what
//! `smpSynch` says; this only counts it.

use std::fmt;
use std::time::Duration;

use crate::time::SampleTime;
use crate::wire::{Asdu, Header, MacAddress, Validity};

/// Frames in a row that make a new beginning believable: more than anybody reorders.
const RESTART_RUN: u16 = 16;
/// Silence after which the next frame is a new beginning in any case: `smpCnt` has only shown
/// fractions of a second.
const SILENCE_MAX: Duration = Duration::from_millis(500);
/// How far back duplicates are known from samples out of order.
const REMEMBERED: u16 = 64;

/// What tells a stream from others: 9-2LE uses one APPID for all.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StreamKey {
    /// The group that it is sent to.
    pub destination: MacAddress,
    pub app_id: u16,
    /// Its svID, the name in each sample.
    pub sv_id: String,
}

impl StreamKey {
    /// Whether an ASDU of a frame belongs to it.
    #[must_use]
    pub fn matches(&self, header: &Header, asdu: &Asdu<'_>) -> bool {
        self.app_id == header.app_id
            && self.destination == header.destination
            && self.sv_id == asdu.sv_id
    }
}

/// What a subscriber expects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// Samples a second; `smpCnt` stays below.
    pub rate: u16,
    /// Channels of a sample, at most 64.
    pub channels: usize,
    pub conf_rev: u32,
    /// By how much a sample may be late.
    pub late_max: Duration,
    /// Good samples in a row after which an invalid stream is valid again: those that a filter
    /// looks back.
    pub recovery_samples: u32,
    /// Whether frames of test sets (simulation bit) are taken instead of refused.
    pub simulated: bool,
    /// Whether channels of a test (quality) are used: this relay takes part in it.
    pub takes_tests: bool,
}

/// What became of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// All that arrived for the stream.
    pub received: u64,
    /// Taken as the next sample.
    pub used: u64,
    /// Never arrived, or after their successor.
    pub lost: u64,
    /// Of the lost ones, those that were held.
    pub held: u64,
    /// In their place, but later than allowed.
    pub late: u64,
    pub duplicated: u64,
    /// Arrived after their successor.
    pub out_of_order: u64,
    /// Followed nothing that was known: replayed or made up.
    pub strange: u64,
    /// Did not fit the settings: number of channels, revision, `smpCnt`.
    pub misconfigured: u64,
    /// Came from a test set, which was not expected.
    pub simulated: u64,
    /// Used, from a publisher that follows no clock.
    pub unsynchronised: u64,
    /// Used, with a channel that is invalid, questionable or reserved.
    pub invalid: u64,
    /// Used, with a channel of a test.
    pub test: u64,
    /// Starts of the publisher, also the first.
    pub restarts: u64,
    /// Of the simulated and misconfigured ones, those of each field.
    pub misfits: Misfits,
}

/// Samples that did not fit the settings, by the field for which they were refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Misfits {
    counts: [u64; Misfits::FIELDS.len()],
    last: Option<Misfit>,
}

/// A sample that did not fit the settings.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misfit {
    /// As the standard writes it.
    pub field: &'static str,
    /// What the settings say; of `smpCnt` the first number that does not exist.
    pub expected: u32,
    pub got: u32,
}

impl Misfits {
    const FIELDS: [&'static str; 4] = ["simulation", "seqData", "confRev", "smpCnt"];

    /// How many there were for each field.
    pub fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Self::FIELDS.into_iter().zip(self.counts)
    }

    /// The newest of all.
    #[must_use]
    pub const fn last(&self) -> Option<Misfit> {
        self.last
    }

    /// Counts the first field that does not fit, if there is one.
    fn note(&mut self, fields: [(bool, u32, u32); Self::FIELDS.len()]) -> bool {
        let misfit = fields.into_iter().position(|(fits, ..)| !fits);
        if let Some(index) = misfit {
            let (_, expected, got) = fields[index];
            self.counts[index] += 1;
            self.last = Some(Misfit { field: Self::FIELDS[index], expected, got });
        }
        misfit.is_some()
    }
}

/// What to do with a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Take it, after as many copies of the one before as are missing.
    Use {
        /// 0 or 1; larger gaps start again.
        held: u8,
    },
    /// Take it as the first after a gap: forget what was before.
    Begin,
    Drop,
}

/// Whether the stream can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum State {
    /// Nothing has come yet.
    Waiting,
    Valid,
    /// Not before enough good samples came in a row: two or more were missing or late.
    Invalid,
}

/// The last sample that was used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Last {
    smp_cnt: u16,
    arrival: SampleTime,
    /// Bit n: the sample n before it has arrived.
    arrived: u64,
}

/// Which samples of one stream may be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Supervision {
    settings: Settings,
    counters: Counters,
    last: Option<Last>,
    /// Good samples in a row since the last gap.
    in_row: u32,
    /// Usable samples in a row, of each channel.
    usable_in_row: Vec<u32>,
    is_synchronised: bool,
    /// A frame that would follow a possible new beginning, and how many did.
    candidate: Option<(u16, u16)>,
}

impl Supervision {
    /// Nothing has come yet.
    ///
    /// # Panics
    /// When the settings have no samples a second, or channels that no frame has.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        assert!(settings.rate > REMEMBERED, "{} samples a second", settings.rate);
        assert!((1..=64).contains(&settings.channels), "{} channels", settings.channels);
        Self {
            settings,
            counters: Counters::default(),
            last: None,
            in_row: 0,
            usable_in_row: vec![0; settings.channels],
            is_synchronised: false,
            candidate: None,
        }
    }

    /// What became of samples up to now.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// A sample has arrived.
    pub fn receive(&mut self, now: SampleTime, header: &Header, asdu: &Asdu<'_>) -> Verdict {
        self.counters.received += 1;
        let Settings { rate, channels, conf_rev, simulated, .. } = self.settings;
        let is_odd = header.is_simulated() && !simulated;
        let counted = asdu.channels.len();
        let fields = [
            (!is_odd, 0, u32::from(is_odd)),
            (counted == channels, channels as u32, counted as u32),
            (asdu.conf_rev == conf_rev, conf_rev, asdu.conf_rev),
            (asdu.smp_cnt < rate, u32::from(rate), u32::from(asdu.smp_cnt)),
        ];
        if self.counters.misfits.note(fields) {
            let Counters { simulated, misconfigured, .. } = &mut self.counters;
            *(if is_odd { simulated } else { misconfigured }) += 1;
            return Verdict::Drop;
        }
        let verdict = self.place(now, asdu.smp_cnt);
        if verdict != Verdict::Drop {
            self.counters.used += 1;
            self.look(asdu);
        }
        verdict
    }

    /// Time has passed without a sample. A task calls it before looking at the state.
    pub fn poll(&mut self, now: SampleTime) {
        if self.last.is_some_and(|last| self.overdue(&last, now) >= 2) {
            self.in_row = 0;
        }
    }

    /// Whether the stream can be used.
    #[must_use]
    pub fn state(&self) -> State {
        match self.last {
            None => State::Waiting,
            Some(_) if self.in_row >= self.settings.recovery_samples => State::Valid,
            Some(_) => State::Invalid,
        }
    }

    /// Whether a channel can be used: the stream is valid, and no sample that a filter may still
    /// hold was invalid or a test.
    #[must_use]
    pub fn is_usable(&self, channel: usize) -> bool {
        let in_row = self.usable_in_row.get(channel);
        self.state() == State::Valid
            && in_row.is_some_and(|in_row| *in_row >= self.settings.recovery_samples)
    }

    /// Whether samples belong to those of other streams of the same moment.
    #[must_use]
    pub const fn is_synchronised(&self) -> bool {
        self.is_synchronised
    }

    /// Where a sample belongs.
    fn place(&mut self, now: SampleTime, smp_cnt: u16) -> Verdict {
        let Some(last) = self.last else {
            return self.begin(now, smp_cnt);
        };
        let elapsed = now.since(last.arrival);
        if elapsed > SILENCE_MAX {
            let missing = samples_in(elapsed, self.settings.rate).saturating_sub(1);
            self.counters.lost += missing;
            self.counters.restarts += 1;
            return self.begin(now, smp_cnt);
        }
        let rate = self.settings.rate;
        let ahead = |of: u16, from: u16| if of >= from { of - from } else { of + (rate - from) };
        let missing = ahead(smp_cnt, (last.smp_cnt + 1) % rate);
        let back = ahead(last.smp_cnt, smp_cnt);
        // No more can be missing than there was time for, and a burst brings them no sooner.
        let missing_max = samples_in(elapsed + self.settings.late_max, rate);
        if u64::from(missing) <= missing_max {
            self.follow(&last, now, smp_cnt, missing)
        } else if back < REMEMBERED {
            self.come_after(last, back);
            Verdict::Drop
        } else {
            self.consider(now, smp_cnt)
        }
    }

    /// The next sample, or one of the next.
    fn follow(&mut self, last: &Last, now: SampleTime, smp_cnt: u16, missing: u16) -> Verdict {
        self.candidate = None;
        let overdue = self.overdue(last, now).saturating_sub(u64::from(missing));
        self.counters.late += u64::from(overdue > 0);
        self.counters.lost += u64::from(missing);
        let shift = u32::from(missing) + 1;
        let arrived = last.arrived.checked_shl(shift).unwrap_or(0) | 1;
        self.last = Some(Last { smp_cnt, arrival: now, arrived });
        if missing >= 2 {
            self.in_row = 1;
            self.usable_in_row.fill(0);
            return Verdict::Begin;
        }
        self.counters.held += u64::from(missing);
        self.in_row = if overdue >= 2 { 1 } else { self.in_row.saturating_add(1) };
        Verdict::Use { held: missing as u8 }
    }

    /// One that should have come before.
    fn come_after(&mut self, mut last: Last, back: u16) {
        let bit = 1u64 << back;
        if last.arrived & bit != 0 {
            self.counters.duplicated += 1;
        } else {
            self.counters.out_of_order += 1;
            last.arrived |= bit;
            self.last = Some(last);
        }
    }

    /// One that follows nothing: perhaps a new beginning.
    fn consider(&mut self, now: SampleTime, smp_cnt: u16) -> Verdict {
        self.counters.strange += 1;
        let run = match self.candidate {
            Some((next, run)) if next == smp_cnt => run + 1,
            _ => 1,
        };
        self.candidate = Some(((smp_cnt + 1) % self.settings.rate, run));
        if run < RESTART_RUN {
            return Verdict::Drop;
        }
        self.counters.restarts += 1;
        self.begin(now, smp_cnt)
    }

    fn begin(&mut self, now: SampleTime, smp_cnt: u16) -> Verdict {
        self.candidate = None;
        self.in_row = 1;
        self.usable_in_row.fill(0);
        self.last = Some(Last { smp_cnt, arrival: now, arrived: 1 });
        Verdict::Begin
    }

    /// Samples that should have come by now, the allowance taken off.
    fn overdue(&self, last: &Last, now: SampleTime) -> u64 {
        let waited = now.since(last.arrival).saturating_sub(self.settings.late_max);
        samples_in(waited, self.settings.rate)
    }

    /// Quality and synchronisation of a sample that is used.
    fn look(&mut self, asdu: &Asdu<'_>) {
        self.is_synchronised = asdu.smp_synch.is_synchronised();
        self.counters.unsynchronised += u64::from(!self.is_synchronised);
        let (mut invalid, mut test) = (false, false);
        for (in_row, sample) in self.usable_in_row.iter_mut().zip(asdu.channels.iter()) {
            invalid |= sample.quality.validity() != Validity::Good;
            test |= sample.quality.is_test();
            let is_usable = sample.quality.is_usable(self.settings.takes_tests);
            *in_row = if is_usable { in_row.saturating_add(1) } else { 0 };
        }
        self.counters.invalid += u64::from(invalid);
        self.counters.test += u64::from(test);
    }
}

/// Whole samples in a span.
fn samples_in(span: Duration, rate: u16) -> u64 {
    (span.as_nanos() * u128::from(rate) / 1_000_000_000) as u64
}

impl fmt::Display for Counters {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "received {}, used {}", self.received, self.used)?;
        let rest = [
            ("lost", self.lost),
            ("held", self.held),
            ("late", self.late),
            ("duplicated", self.duplicated),
            ("out of order", self.out_of_order),
            ("strange", self.strange),
            ("misconfigured", self.misconfigured),
            ("simulated", self.simulated),
            ("unsynchronised", self.unsynchronised),
            ("invalid", self.invalid),
            ("test", self.test),
            ("restarts", self.restarts),
        ];
        let seen = rest.iter().filter(|(_, count)| *count > 0);
        seen.into_iter().try_for_each(|(name, count)| write!(out, ", {name} {count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::sampled_values::tests::asdu;
    use crate::wire::{Quality, Sample, Synchronisation};
    use proptest::prelude::*;

    const RATE: u16 = 4000;
    const PERIOD_NS: u64 = 250_000;

    fn supervision() -> Supervision {
        Supervision::new(Settings {
            rate: RATE,
            channels: 8,
            conf_rev: 1,
            late_max: Duration::from_millis(2),
            recovery_samples: 80,
            simulated: false,
            takes_tests: false,
        })
    }

    struct Frame {
        smp_cnt: u16,
        quality: Quality,
        smp_synch: Synchronisation,
        simulated: bool,
    }

    impl Frame {
        fn good(smp_cnt: u16) -> Self {
            let smp_synch = Synchronisation::Global;
            Self { smp_cnt, quality: Quality::GOOD, smp_synch, simulated: false }
        }

        fn give(&self, to: &mut Supervision, at_ns: u64) -> Verdict {
            let samples = [Sample { value: 1, quality: self.quality }.to_octets(); 8];
            let simulated = if self.simulated { 0x8000 } else { 0 };
            let header = Header { reserved: [simulated, 0], ..Header::default() };
            let asdu = Asdu { smp_synch: self.smp_synch, ..asdu(self.smp_cnt, &samples) };
            to.receive(SampleTime::from_ns(at_ns), &header, &asdu)
        }
    }

    /// Gives samples with these numbers since the begin, each at its time.
    fn run(to: &mut Supervision, numbers: impl IntoIterator<Item = u64>) -> Vec<Verdict> {
        let mut give = |number: u64| {
            Frame::good((number % u64::from(RATE)) as u16).give(to, number * PERIOD_NS)
        };
        numbers.into_iter().map(&mut give).collect()
    }

    #[test]
    fn a_stream_becomes_valid_and_stays_so_through_the_change_of_second() {
        let mut stream = supervision();
        assert_eq!(stream.state(), State::Waiting);
        assert_eq!(run(&mut stream, 3900..3901), [Verdict::Begin]);
        run(&mut stream, 3901..3979);
        assert_eq!(stream.state(), State::Invalid);
        run(&mut stream, 3979..9000);
        assert_eq!(stream.state(), State::Valid);
        assert!(stream.is_usable(7) && !stream.is_usable(8) && stream.is_synchronised());
        assert_eq!(stream.counters().to_string(), "received 5100, used 5100");
    }

    #[test]
    fn one_missing_sample_is_held_and_two_in_a_row_make_it_invalid() {
        let mut stream = supervision();
        run(&mut stream, 0..200);
        assert_eq!(run(&mut stream, [201, 203]), [Verdict::Use { held: 1 }; 2]);
        assert_eq!(stream.state(), State::Valid);
        assert_eq!(run(&mut stream, [206]), [Verdict::Begin]);
        assert_eq!(stream.state(), State::Invalid);
        run(&mut stream, 207..285);
        assert_eq!(stream.state(), State::Invalid);
        run(&mut stream, 285..286);
        assert_eq!(stream.state(), State::Valid);
        assert_eq!((stream.counters().lost, stream.counters().held), (4, 2));
    }

    #[test]
    fn silence_and_late_samples_make_it_invalid() {
        let mut stream = supervision();
        run(&mut stream, 0..200);
        stream.poll(SampleTime::from_ns(199 * PERIOD_NS + 2_400_000));
        assert_eq!(stream.state(), State::Valid);
        stream.poll(SampleTime::from_ns(199 * PERIOD_NS + 2_500_000));
        assert_eq!(stream.state(), State::Invalid);
        let mut stream = supervision();
        run(&mut stream, 0..200);
        Frame::good(200).give(&mut stream, 199 * PERIOD_NS + 2_300_000);
        assert_eq!((stream.counters().late, stream.state()), (1, State::Valid));
        Frame::good(201).give(&mut stream, 200 * PERIOD_NS + 6_000_000);
        assert_eq!((stream.counters().late, stream.state()), (2, State::Invalid));
    }

    #[test]
    fn frames_that_do_not_follow_change_nothing_but_a_counter() {
        let mut stream = supervision();
        run(&mut stream, 0..1000);
        let before = stream.clone();
        let at = 999 * PERIOD_NS + 1000;
        let strange = [500, 3000, 0, 700];
        for smp_cnt in strange {
            assert_eq!(Frame::good(smp_cnt).give(&mut stream, at), Verdict::Drop);
        }
        for smp_cnt in [999, 998, 950] {
            assert_eq!(Frame::good(smp_cnt).give(&mut stream, at), Verdict::Drop);
        }
        assert_eq!(Frame::good(4000).give(&mut stream, at), Verdict::Drop);
        let simulated = Frame { simulated: true, ..Frame::good(1000) };
        assert_eq!(simulated.give(&mut stream, at), Verdict::Drop);
        let Counters { strange, duplicated, misconfigured, simulated, .. } = *stream.counters();
        assert_eq!((strange, duplicated, misconfigured, simulated), (4, 3, 1, 1));
        let misfits = stream.counters().misfits;
        assert!(misfits.counts().map(|(_, count)| count).eq([1, 0, 0, 1]), "{misfits:?}");
        let last = Misfit { field: "simulation", expected: 0, got: 1 };
        assert_eq!(misfits.last(), Some(last));
        assert_eq!(
            (stream.state(), stream.last, stream.in_row),
            (State::Valid, before.last, before.in_row)
        );
        assert_eq!(run(&mut stream, 1000..1001), [Verdict::Use { held: 0 }]);
    }

    #[test]
    fn a_replayed_second_between_the_true_samples_changes_nothing() {
        let mut stream = supervision();
        run(&mut stream, 0..4000);
        for number in 4000..8000u64 {
            let at_ns = number * PERIOD_NS;
            let replayed = Frame::good(((number + 1500) % 4000) as u16);
            assert_eq!(replayed.give(&mut stream, at_ns - 100_000), Verdict::Drop);
            assert_eq!(run(&mut stream, [number]), [Verdict::Use { held: 0 }]);
        }
        assert_eq!(stream.counters().strange, 4000);
        assert_eq!(stream.counters().lost, 0);
    }

    #[test]
    fn a_publisher_that_starts_again_is_believed_after_a_run() {
        let mut stream = supervision();
        run(&mut stream, 0..1000);
        for index in 0..100u64 {
            Frame::good(3000 + index as u16).give(&mut stream, (1000 + index) * PERIOD_NS);
        }
        assert_eq!(stream.counters().restarts, 1);
        assert_eq!(stream.state(), State::Valid);
        // After a long silence the first frame is believed, and must prove itself.
        Frame::good(17).give(&mut stream, 10_000 * PERIOD_NS);
        assert_eq!((stream.counters().restarts, stream.state()), (2, State::Invalid));
        assert_eq!(stream.counters().lost, 8900);
    }

    #[test]
    fn a_sample_out_of_order_is_lost_for_protection_and_counted_once() {
        let mut stream = supervision();
        run(&mut stream, 0..200);
        assert_eq!(Frame::good(201).give(&mut stream, 201 * PERIOD_NS), Verdict::Use { held: 1 });
        assert_eq!(Frame::good(200).give(&mut stream, 201 * PERIOD_NS), Verdict::Drop);
        assert_eq!(Frame::good(200).give(&mut stream, 201 * PERIOD_NS), Verdict::Drop);
        let Counters { lost, out_of_order, duplicated, .. } = *stream.counters();
        assert_eq!((lost, out_of_order, duplicated), (1, 1, 1));
    }

    #[test]
    fn quality_blocks_for_as_long_as_a_filter_looks_back() {
        let mut stream = supervision();
        run(&mut stream, 0..200);
        for quality in [Quality::INVALID, Quality::TEST] {
            let number = stream.counters.received;
            Frame { quality, ..Frame::good(number as u16) }.give(&mut stream, number * PERIOD_NS);
            assert!(!stream.is_usable(0));
            run(&mut stream, number + 1..number + 80);
            assert!(!stream.is_usable(0));
            run(&mut stream, number + 80..number + 81);
            assert!(stream.is_usable(0));
        }
        let number = stream.counters.received;
        let smp_synch = Synchronisation::None;
        Frame { smp_synch, ..Frame::good(number as u16) }.give(&mut stream, number * PERIOD_NS);
        assert!(!stream.is_synchronised());
        let Counters { invalid, test, unsynchronised, .. } = *stream.counters();
        assert_eq!((invalid, test, unsynchronised), (1, 1, 1));
    }

    proptest! {
        /// Every sample that arrives is used or counted as something else, and every one that was
        /// sent is used, lost, or too late to matter.
        #[test]
        fn nothing_is_counted_twice_or_not_at_all(
            kept in prop::collection::vec(prop::bool::weighted(0.95), 200..2000),
        ) {
            let mut stream = supervision();
            let numbers = kept.iter().enumerate().filter(|(_, kept)| **kept);
            let numbers: Vec<u64> = numbers.map(|(number, _)| number as u64).collect();
            let verdicts = run(&mut stream, numbers.iter().copied());
            let counters = stream.counters();
            prop_assert_eq!(counters.used, numbers.len() as u64);
            let span = numbers[numbers.len() - 1] - numbers[0] + 1;
            prop_assert_eq!(counters.used + counters.lost, span);
            let held = verdicts.iter().filter(|verdict| **verdict == Verdict::Use { held: 1 });
            prop_assert_eq!(held.count() as u64, counters.held);
        }

        #[test]
        fn no_order_of_frames_makes_it_panic(
            frames in prop::collection::vec((any::<u16>(), 0u64..2_000_000), 0..300),
        ) {
            let (mut stream, mut at_ns) = (supervision(), 0);
            for (smp_cnt, later_ns) in frames {
                at_ns += later_ns;
                Frame::good(smp_cnt).give(&mut stream, at_ns);
                stream.poll(SampleTime::from_ns(at_ns));
            }
            let Counters { received, used, duplicated, out_of_order, strange, misconfigured, restarts, .. } =
                *stream.counters();
            // The last frame of a run that makes a new beginning is strange and used.
            let known = used + duplicated + out_of_order + strange + misconfigured;
            prop_assert!((received..=received + restarts).contains(&known));
        }
    }
}
