//! A logarithmic axis of latencies, from below a microsecond to seconds, and how it is marked.

/// Latencies along a line of pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct LogScale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl LogScale {
    /// Over all of these values (the ones above zero), with a little air, between two pixels.
    pub(super) fn over(values: impl IntoIterator<Item = f64>, from: f64, to: f64) -> Self {
        let positive = values.into_iter().filter(|value| *value > 0.0 && value.is_finite());
        let (low, high) = positive
            .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
        let (low, high) = if low > high { (1.0, 10.0) } else { (low / 1.15, high * 1.15) };
        // A single value gets a decade round it.
        let (low, high) = if high / low < 4.0 { (low / 1.6, high * 1.6) } else { (low, high) };
        Self { low, high, from, to }
    }

    /// Where a value lies; what is outside lies at the end.
    pub(super) fn at(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        self.from + share.clamp(0.0, 1.0) * (self.to - self.from)
    }

    /// Whether a value lies within the axis.
    pub(super) fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Values at which the axis is marked, and whether the mark has a text: each power of ten, and
    /// 2 and 5 of them where there are few.
    pub(super) fn ticks(&self) -> Vec<(f64, bool)> {
        let decades = (self.high / self.low).log10();
        let labelled: &[f64] = if decades < 1.3 {
            &[1.0, 2.0, 3.0, 5.0]
        } else if decades < 2.6 {
            &[1.0, 2.0, 5.0]
        } else {
            &[1.0]
        };
        let first = self.low.log10().floor() as i32;
        let last = self.high.log10().ceil() as i32;
        let values = (first..=last)
            .flat_map(|power| (1..10).map(move |step| (step, f64::from(step) * 10f64.powi(power))));
        let is_tick =
            |(step, value): &(i32, f64)| self.holds(*value) && (decades < 5.0 || *step == 1);
        let tick = |(step, value)| (value, labelled.contains(&f64::from(step)));
        values.filter(is_tick).map(tick).collect()
    }
}

/// A round time with its unit: `20 µs`.
pub(super) fn time_text(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 999.5 => (ns, "ns"),
        ns if ns < 999.5e3 => (ns / 1e3, "µs"),
        ns if ns < 999.5e6 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let decimals = if value >= 99.95 || (value - value.round()).abs() < 1e-9 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.decimals$} {unit}")
}

/// A share as a round text for an axis: `1 %`, `10 ppm`.
pub(super) fn share_text(share: f64) -> String {
    if share >= 0.9e-4 {
        format!("{} %", report_kit::figure::figure((share * 1e8).round() / 1e6))
    } else {
        format!("{} ppm", report_kit::figure::figure((share * 1e10).round() / 1e4))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lie_between_the_ends_and_marks_are_round() {
        let scale = LogScale::over([2_000.0, 0.0, 5e6], 100.0, 900.0);
        assert!(scale.at(2_000.0) > 100.0 && scale.at(5e6) < 900.0);
        assert_eq!((scale.at(0.0), scale.at(1e12)), (100.0, 900.0));
        let labelled: Vec<f64> =
            scale.ticks().into_iter().filter(|tick| tick.1).map(|tick| tick.0).collect();
        assert_eq!(labelled, [1e4, 1e5, 1e6]);
        let narrow = LogScale::over([3_000.0], 0.0, 1.0);
        assert!(narrow.ticks().iter().filter(|tick| tick.1).count() >= 2);
        assert!(!LogScale::over([], 0.0, 1.0).ticks().is_empty());
    }

    #[test]
    fn texts_are_short() {
        let texts =
            [0.0, 500.0, 1_000.0, 12_340.0, 123_400.0, 999_600.0, 3e6, 4.29e9].map(time_text);
        assert_eq!(
            texts,
            ["0 ns", "500 ns", "1 µs", "12.3 µs", "123 µs", "1.00 ms", "3 ms", "4.29 s"]
        );
        assert_eq!([0.1, 0.001, 1e-5, 1e-6].map(share_text), ["10 %", "0.1 %", "10 ppm", "1 ppm"]);
    }
}
