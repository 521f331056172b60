//! Which frame of which stream is due when, on an absolute schedule: lateness never adds up.
//!
//! Time is counted from sample 0, which is at a whole second of the host's clock, so that `smpCnt`
//! is 0 there. A frame is due when its newest sample is taken, plus the stream's phase.

use std::time::Duration;

use iec61850::SampleTime;

/// How a stream is cut into frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pace {
    pub(crate) rate: u16,
    pub(crate) asdus: u8,
    /// From the newest sample to sending.
    pub(crate) phase: Duration,
}

impl Pace {
    pub(crate) fn first_sample(self, frame: u64) -> u64 {
        frame * u64::from(self.asdus)
    }

    pub(crate) fn due(self, frame: u64) -> SampleTime {
        self.taken(frame).plus(self.phase)
    }

    /// When the newest sample of a frame is taken.
    pub(crate) fn taken(self, frame: u64) -> SampleTime {
        SampleTime::of_sample(self.first_sample(frame + 1) - 1, self.rate.into())
    }

    /// From one frame to the next, rounded down.
    pub(crate) fn interval(self) -> Duration {
        SampleTime::of_sample(self.asdus.into(), self.rate.into()).since(SampleTime::ZERO)
    }

    pub(crate) fn smp_cnt(self, sample: u64) -> u16 {
        (sample % u64::from(self.rate)) as u16
    }
}

/// Streams with the frame of each that comes next.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    next: Vec<(Pace, u64)>,
}

impl Schedule {
    pub(crate) fn new(paces: impl IntoIterator<Item = Pace>) -> Self {
        Self { next: paces.into_iter().map(|pace| (pace, 0)).collect() }
    }

    /// When the next frame is due; nothing without streams.
    pub(crate) fn next_due(&self) -> Option<SampleTime> {
        self.next.iter().map(|(pace, frame)| pace.due(*frame)).min()
    }

    /// Takes the frames that are due at this time, at most one of each stream: stream and frame,
    /// in the order of the streams.
    pub(crate) fn take_due(&mut self, now: SampleTime, due: &mut Vec<(usize, u64)>) {
        due.clear();
        for (stream, (pace, frame)) in self.next.iter_mut().enumerate() {
            if pace.due(*frame) <= now {
                due.push((stream, *frame));
                *frame += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_of_all_streams_come_at_their_times_and_none_twice() {
        let paces = [(4800, 2, 0), (4000, 1, 0), (14_400, 6, 100)];
        let paces = paces.map(|(rate, asdus, phase_us)| Pace {
            rate,
            asdus,
            phase: Duration::from_micros(phase_us),
        });
        let mut schedule = Schedule::new(paces);
        let mut frames = [0_u64; 3];
        let mut due = Vec::new();
        while let Some(now) = schedule.next_due().filter(|due| due.ns() < 1_000_100_000) {
            schedule.take_due(now, &mut due);
            assert!(!due.is_empty());
            for (stream, frame) in &due {
                assert_eq!((*frame, paces[*stream].due(*frame)), (frames[*stream], now));
                frames[*stream] += 1;
            }
        }
        assert_eq!(frames, [2400, 4001, 2400]);
    }

    proptest! {
        #[test]
        fn a_second_holds_as_many_frames_as_it_should_and_ends_where_the_next_begins(
            rate in 1000u16..15_360, asdus in 1u8..9, second in 0u64..100_000_000,
        ) {
            let rate = rate / u16::from(asdus) * u16::from(asdus);
            let pace = Pace { rate, asdus, phase: Duration::ZERO };
            let frames = u64::from(rate / u16::from(asdus));
            let before = pace.due(second * frames);
            prop_assert_eq!(
                pace.due((second + 1) * frames).since(before),
                Duration::from_secs(1)
            );
            prop_assert_eq!(pace.smp_cnt(pace.first_sample(second * frames)), 0);
            let step = pace.due(second * frames + 1).since(before);
            prop_assert!(step.abs_diff(pace.interval()) <= Duration::from_nanos(1));
        }
    }
}
