//! Rate of change of frequency (81R, PFRC; IEC 60255-181): production or load was lost, and the
//! frequency falls or rises long before it is beyond a limit.
//!
//! The rate is the slope of the straight line through the frequencies of a window (least squares). A
//! frequency is that of two periods, so the rate that is seen is one of half a window and a period ago.
//!
//! When something is switched, the voltage jumps in angle, which is no change of frequency. The tracker
//! holds then ([`super::measure`]), and so does the element: it goes on when frequencies are measured
//! again, with those of before, which are as true as those of after. It operates only on a rate that is
//! measured at that moment, and forgets what it had begun when there was none for too long.

use std::time::Duration;

use iec61850::SampleTime;

use super::Decision;
use super::timing::{Delay, Level};

/// Drop-off as a share of the pick-up.
const DROP_OFF_RATIO: f64 = 0.9;
/// Frequencies that a window has at most; those between are not kept.
const POINTS: usize = 64;
/// Share of the window that frequencies must span.
const SPAN_MIN: f64 = 0.75;
/// How long a start lasts without a rate: two inceptions in a row, and the longest window.
const HELD_MAX: Duration = Duration::from_millis(300);

/// Which way the frequency goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trend {
    /// A falling frequency: production was lost.
    Falling,
    /// A rising frequency: load was lost.
    Rising,
    /// Falling or rising, either is wrong.
    Either,
}

/// Limits and times of a rate of change of frequency element (81R).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Settings {
    /// Which way is wrong.
    pub trend: Trend,
    /// The threshold, in Hz/s.
    pub pick_up_hz_per_s: f64,
    /// Over which the rate is measured.
    pub window: Duration,
    /// Positive sequence voltage below which it is blocked, in V.
    pub voltage_v_min: f64,
    /// Frequency, in Hz, below which it looks at the rate.
    pub below_hz: f64,
    /// Frequency, in Hz, above which it looks at the rate.
    pub above_hz: f64,
    pub delay: Duration,
}

/// What is measured of a voltage.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Seen {
    /// The frequency, in Hz; `None` while an older one is held.
    pub frequency_hz: Option<f64>,
    /// Positive sequence, in V.
    pub voltage_v: f64,
}

/// A rate of change of frequency element (81R).
#[derive(Clone, PartialEq, Debug)]
pub struct FrequencyRate {
    settings: Settings,
    points: [(SampleTime, f64); POINTS],
    /// How many there are, and where the next one goes.
    count: usize,
    next: usize,
    level: Level,
    delay: Delay,
    decision: Decision,
    /// When there was a rate.
    measured_at: Option<SampleTime>,
}

impl FrequencyRate {
    /// An element at rest.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            points: [(SampleTime::ZERO, 0.0); POINTS],
            count: 0,
            next: 0,
            level: Level::new(settings.pick_up_hz_per_s, DROP_OFF_RATIO),
            delay: Delay::new(settings.delay),
            decision: Decision::NONE,
            measured_at: None,
        }
    }

    /// Looks at what was measured now.
    pub fn update(&mut self, now: SampleTime, seen: Option<Seen>) -> Decision {
        let Some(seen) = seen.filter(|seen| seen.voltage_v >= self.settings.voltage_v_min) else {
            self.forget();
            return Decision::NONE;
        };
        let measured = seen.frequency_hz.and_then(|hz| Some((hz, self.rate(now, hz)?)));
        match measured {
            Some((frequency_hz, rate)) => {
                self.measured_at = Some(now);
                let is_beyond = self.level.update(self.along(rate));
                let is_gated =
                    frequency_hz < self.settings.below_hz && frequency_hz > self.settings.above_hz;
                self.decision = self.delay.update(now, is_beyond && is_gated);
            }
            None if self.measured_at.is_none_or(|at| now.since(at) > HELD_MAX) => {
                self.level.reset();
                self.delay.reset();
                self.decision = Decision::NONE;
            }
            None => {}
        }
        self.decision
    }

    fn forget(&mut self) {
        *self = Self::new(self.settings);
    }

    /// A rate as far as it goes the wrong way.
    fn along(&self, rate: f64) -> f64 {
        match self.settings.trend {
            Trend::Falling => -rate,
            Trend::Rising => rate,
            Trend::Either => rate.abs(),
        }
    }

    /// Takes a frequency; answers the slope of those of the window, in Hz/s, if they span it.
    fn rate(&mut self, now: SampleTime, frequency_hz: f64) -> Option<f64> {
        let window = self.settings.window;
        let newest = self.points[(self.next + POINTS - 1) % POINTS].0;
        if self.count == 0 || now.since(newest) >= window / (POINTS as u32 - 1) {
            self.points[self.next] = (now, frequency_hz);
            self.next = (self.next + 1) % POINTS;
            self.count = (self.count + 1).min(POINTS);
        }
        let place = |back: usize| (self.next + 2 * POINTS - 1 - back) % POINTS;
        let points = (0..self.count).map(|back| self.points[place(back)]);
        // Both as differences to now, so that sums of squares stay small.
        let within = points.take_while(|(at, _)| now.since(*at) <= window);
        let (mut n, mut t, mut f, mut tt, mut tf, mut span_s) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
        for (at, hz) in within {
            let (back_s, off_hz) = (now.since(at).as_secs_f64(), hz - frequency_hz);
            n += 1.0;
            t -= back_s;
            f += off_hz;
            tt += back_s * back_s;
            tf -= back_s * off_hz;
            span_s = back_s;
        }
        let spans = span_s >= SPAN_MIN * window.as_secs_f64();
        spans.then(|| (n * tf - t * f) / (n * tt - t * t))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        trend: Trend::Falling,
        pick_up_hz_per_s: 1.0,
        window: Duration::from_millis(100),
        voltage_v_min: 10_000.0,
        below_hz: f64::INFINITY,
        above_hz: 0.0,
        delay: Duration::from_millis(500),
    };

    /// The millisecond at which it operates, within 2 s of these frequencies.
    fn operates(settings: Settings, frequency_hz: impl Fn(u64) -> Option<f64>) -> Option<u64> {
        let mut element = FrequencyRate::new(settings);
        (0..2000).find(|ms| {
            let seen = Seen { frequency_hz: frequency_hz(*ms), voltage_v: 60_000.0 };
            element.update(SampleTime::from_ns(ms * 1_000_000), Some(seen)).operate
        })
    }

    fn ramp(hz_per_s: f64) -> impl Fn(u64) -> Option<f64> {
        move |ms| Some(50.0 + hz_per_s * ms as f64 / 1e3)
    }

    #[test]
    fn a_rate_above_the_limit_operates_it_the_wrong_way_only() {
        let of = |trend| Settings { trend, ..SETTINGS };
        for (trend, falls, rises) in [
            (Trend::Falling, true, false),
            (Trend::Rising, false, true),
            (Trend::Either, true, true),
        ] {
            // A window until there is a rate, and the delay.
            let taken = |is| if is { 575..=580 } else { 0..=0 };
            for (hz_per_s, is) in [(-1.05, falls), (1.05, rises)] {
                let ms = operates(of(trend), ramp(hz_per_s)).unwrap_or(0);
                assert!(taken(is).contains(&ms), "{trend:?} at {hz_per_s}: {ms}");
            }
            assert_eq!(operates(of(trend), ramp(-0.95)), None);
            assert_eq!(operates(of(trend), ramp(0.95)), None);
        }
    }

    #[test]
    fn a_frequency_that_is_held_for_a_while_delays_nothing() {
        let holds = |ms: u64| (300..360).contains(&ms) || (500..560).contains(&ms);
        let ms = operates(SETTINGS, |ms| ramp(-1.5)(ms).filter(|_| !holds(ms)));
        assert!(ms.is_some_and(|ms| (575..=580).contains(&ms)), "{ms:?}");
        // What is held for longer says nothing any more.
        let ms = operates(SETTINGS, |ms| ramp(-1.5)(ms).filter(|_| !(300..700).contains(&ms)));
        assert!(ms.is_some_and(|ms| (1275..=1280).contains(&ms)), "{ms:?}");
        // It does not operate while it is held.
        let ms = operates(SETTINGS, |ms| ramp(-1.5)(ms).filter(|_| !(560..600).contains(&ms)));
        assert_eq!(ms, Some(600));
    }

    #[test]
    fn a_low_voltage_an_invalid_stream_and_its_gate_block() {
        let mut element = FrequencyRate::new(SETTINGS);
        for ms in 0..2000 {
            let frequency_hz = ramp(-2.0)(ms);
            let low = Seen { frequency_hz, voltage_v: 9000.0 };
            let seen = Some(low).filter(|_| ms % 200 < 100);
            assert_eq!(element.update(SampleTime::from_ns(ms * 1_000_000), seen), Decision::NONE);
        }
        // At 49 Hz after 500 ms, and then the delay.
        let gated = Settings { below_hz: 49.0, ..SETTINGS };
        let ms = operates(gated, ramp(-2.0));
        assert!(ms.is_some_and(|ms| (1000..=1002).contains(&ms)), "{ms:?}");
        assert_eq!(operates(Settings { above_hz: 49.5, ..SETTINGS }, ramp(-2.0)), None);
    }

    #[test]
    fn a_short_excursion_is_no_ramp() {
        // What a jump of angle that nobody noticed would look like.
        let spike = |ms| Some(if (1000..1020).contains(&ms) { 49.6 } else { 50.0 });
        assert_eq!(operates(SETTINGS, spike), None);
    }
}
