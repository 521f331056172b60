//! Samples of a record, again and again, at the rate of a stream.
//!
//! Where the end of a record meets its begin the wave jumps; a record of whole periods of steady
//! load does not.

use iec61850::comtrade::resample;

use super::waves::Phases;

/// Eight channels in the order of 9-2LE: Ia Ib Ic In Ua Ub Uc Un, in A and V.
pub(crate) type Channels = [Vec<f64>; 8];

/// A record at the rate of a stream; never empty.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Playback {
    samples: Vec<[f64; 8]>,
    inception: Option<u64>,
}

impl Playback {
    /// Puts channels that were taken at `from_hz` at `rate`. The channels are equally long and
    /// hold at least one sample; missing values are zero.
    ///
    /// # Panics
    /// When they are not.
    pub(crate) fn new(
        channels: &Channels,
        from_hz: f64,
        rate: u16,
        inception_s: Option<f64>,
    ) -> Self {
        let length = channels[0].len();
        assert!(length > 0 && channels.iter().all(|channel| channel.len() == length));
        let to_hz = f64::from(rate);
        // What is at the right rate already stays as it is, to the last bit.
        let is_same = (from_hz - to_hz).abs() < 1e-9;
        let channels = channels.each_ref().map(|channel| {
            if is_same { channel.clone() } else { resample(channel, from_hz, to_hz, 0.0) }
        });
        let samples = (0..channels[0].len()).map(|index| {
            channels
                .each_ref()
                .map(|channel| Some(channel[index]).filter(|v| v.is_finite()).unwrap_or(0.0))
        });
        let inception = inception_s.map(|inception_s| (inception_s * to_hz).round() as u64);
        Self { samples: samples.collect(), inception }
    }

    /// Values of phases, and of In and Un as they were recorded.
    pub(crate) fn at(&self, sample: u64) -> (Phases, [f64; 2]) {
        let (_, within) = self.place(sample);
        let [ia, ib, ic, neutral_a, ua, ub, uc, neutral_v] = self.samples[within as usize];
        let phases = Phases { current_a: [ia, ib, ic], voltage_v: [ua, ub, uc] };
        (phases, [neutral_a, neutral_v])
    }

    /// Which turn of the record a sample belongs to, and its number within.
    pub(crate) fn place(&self, sample: u64) -> (u64, u64) {
        (sample / self.length(), sample % self.length())
    }

    /// Samples of one turn.
    pub(crate) fn length(&self) -> u64 {
        self.samples.len() as u64
    }

    /// The sample at which the fault of a turn begins.
    pub(crate) fn inception(&self, turn: u64) -> Option<u64> {
        self.inception.map(|within| turn * self.length() + within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_again_and_keeps_its_values() {
        let channels: Channels =
            std::array::from_fn(|channel| (0..100).map(|n| (n * 10 + channel) as f64).collect());
        let playback = Playback::new(&channels, 4800.0, 4800, Some(0.01));
        for sample in [0, 42, 142, 1042] {
            let (phases, neutral) = playback.at(sample);
            let base = (sample % 100 * 10) as f64;
            assert_eq!(phases.current_a, [base, base + 1.0, base + 2.0]);
            assert_eq!(neutral, [base + 3.0, base + 7.0]);
        }
        assert_eq!(playback.inception(2), Some(248));
    }

    #[test]
    fn another_rate_is_another_number_of_samples_of_the_same_wave() {
        let wave =
            |n: i32, rate: f64| (2.0 * std::f64::consts::PI * 50.0 * f64::from(n) / rate).cos();
        let channels: Channels =
            std::array::from_fn(|_| (0..2000).map(|n| 1000.0 * wave(n, 1600.0)).collect());
        let playback = Playback::new(&channels, 1600.0, 4800, None);
        for n in 300..5000 {
            let (phases, _) = playback.at(n as u64);
            assert!((phases.current_a[0] - 1000.0 * wave(n, 4800.0)).abs() < 3.0);
        }
    }

    #[test]
    fn what_is_missing_is_zero() {
        let mut channels: Channels = std::array::from_fn(|_| vec![1.0; 3]);
        channels[4][1] = f64::NAN;
        assert_eq!(Playback::new(&channels, 4000.0, 4000, None).at(1).0.voltage_v[0], 0.0);
    }
}
