//! What goes wrong with a frame: decided by its number and a seed, so that the same settings spoil
//! the same frames again, however late the host is.

use iec61850::SampleTime;
use iec61850::wire::Quality;
use random::Random;
use substation::settings::merging_unit::{Disturbance, DisturbanceKind};

/// What becomes of one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) is_lost: bool,
    pub(crate) is_doubled: bool,
    /// It is sent behind the next one.
    pub(crate) is_held_back: bool,
    /// It says that its clock follows nothing.
    pub(crate) is_unsynchronised: bool,
    /// What the quality of its samples has besides.
    pub(crate) quality: Quality,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Disturbances {
    /// Each with a seed of its own.
    of_stream: Vec<(Disturbance, u64)>,
}

impl Disturbances {
    /// Those of `all` that strike the stream with this name and number.
    pub(crate) fn of_stream<'d>(
        all: impl Iterator<Item = &'d Disturbance>,
        name: &str,
        number: usize,
        seed: u32,
    ) -> Self {
        let strikes = |disturbance: &Disturbance| {
            disturbance.streams.is_empty()
                || disturbance.streams.iter().any(|struck| struck == name)
        };
        let of_stream = all.enumerate().filter(|(_, disturbance)| strikes(disturbance));
        let own =
            |index: usize| mixed(u64::from(seed) << 32 | (number as u64) << 16 | index as u64);
        Self { of_stream: of_stream.map(|(index, one)| (one.clone(), own(index))).collect() }
    }

    /// What becomes of the frame whose newest sample is taken then.
    pub(crate) fn fate(&self, frame: u64, taken: SampleTime) -> Fate {
        let mut fate = Fate::default();
        for (disturbance, seed) in &self.of_stream {
            if is_on(disturbance, taken)
                && Random::new(seed ^ mixed(frame)).share() < disturbance.share
            {
                fate.add(disturbance.kind);
            }
        }
        fate
    }
}

impl Fate {
    fn add(&mut self, kind: DisturbanceKind) {
        /// Good, invalid, reserved, questionable: the lowest two bits.
        const QUESTIONABLE: Quality = Quality(3);
        match kind {
            DisturbanceKind::Loss => self.is_lost = true,
            DisturbanceKind::Duplicate => self.is_doubled = true,
            DisturbanceKind::Reorder => self.is_held_back = true,
            DisturbanceKind::Unsynchronised => self.is_unsynchronised = true,
            DisturbanceKind::Invalid => self.quality.0 = self.quality.0 & !3 | Quality::INVALID.0,
            DisturbanceKind::Questionable if self.quality.0 & 3 == 0 => {
                self.quality.0 |= QUESTIONABLE.0;
            }
            DisturbanceKind::Questionable => {}
            DisturbanceKind::Test => self.quality.0 |= Quality::TEST.0,
        }
    }
}

fn is_on(disturbance: &Disturbance, taken: SampleTime) -> bool {
    let since = taken.since(SampleTime::ZERO).checked_sub(disturbance.at);
    since.is_some_and(|since| disturbance.lasts.is_none_or(|lasts| since < lasts))
}

/// A number that looks random.
const fn mixed(seed: u64) -> u64 {
    Random::new(seed).number()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn disturbance(kind: DisturbanceKind, share: f64, streams: &[&str]) -> Disturbance {
        let streams = streams.iter().map(|name| (*name).to_owned()).collect();
        let (at, lasts) = (Duration::from_secs(1), Some(Duration::from_secs(2)));
        Disturbance { kind, streams, share, at, lasts }
    }

    #[test]
    fn the_share_is_struck_and_the_same_frames_again() {
        let loss = disturbance(DisturbanceKind::Loss, 0.02, &[]);
        let lost = |stream, seed| -> Vec<u64> {
            let of = Disturbances::of_stream([&loss].into_iter(), "MU", stream, seed);
            (0..50_000)
                .filter(|frame| of.fate(*frame, SampleTime::from_ns(1_500_000_000)).is_lost)
                .collect()
        };
        let first = lost(0, 1);
        assert!((900..1100).contains(&first.len()), "{}", first.len());
        assert_eq!(first, lost(0, 1));
        assert!(first != lost(1, 1) && first != lost(0, 2));
    }

    #[test]
    fn it_strikes_its_streams_in_its_time_only_and_kinds_add_up() {
        let all = [
            disturbance(DisturbanceKind::Unsynchronised, 1.0, &["a"]),
            disturbance(DisturbanceKind::Questionable, 1.0, &["a", "b"]),
            disturbance(DisturbanceKind::Test, 1.0, &[]),
            disturbance(DisturbanceKind::Invalid, 1.0, &["b"]),
        ];
        let of = |name: &str| Disturbances::of_stream(all.iter(), name, 0, 1);
        let at = |name: &str, ns| of(name).fate(7, SampleTime::from_ns(ns));
        assert_eq!(at("a", 999_999_999), Fate::default());
        assert_eq!(at("a", 3_000_000_000), Fate::default());
        let fate = at("a", 1_000_000_000);
        assert!(fate.is_unsynchronised && fate.quality.0 == Quality::TEST.0 | 3);
        let fate = at("b", 2_999_999_999);
        assert!(!fate.is_unsynchronised && fate.quality.0 == Quality::TEST.0 | 1);
    }
}
