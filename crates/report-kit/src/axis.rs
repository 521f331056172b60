//! Ticks at round numbers: steps of 1, 2, 2.5 or 5 times a power of ten.

/// Values between `low` and `high` at which an axis is marked, about `wanted` of them, with
/// their texts.
pub fn ticks(low: f64, high: f64, wanted: f64) -> Vec<(f64, String)> {
    let step = step(high - low, wanted);
    if !(step.is_finite() && step > 0.0) {
        return Vec::new();
    }
    let decimals = decimals(step);
    let first = (low / step - 1e-9).ceil();
    let at = |index: u32| (first + f64::from(index)) * step;
    (0..100)
        .map(at)
        .take_while(|value| *value <= high + step * 1e-9)
        // Adding zero turns -0 into 0.
        .map(|value| (value, format!("{:.decimals$}", value + 0.0).replace('-', "−")))
        .collect()
}

fn step(span: f64, wanted: f64) -> f64 {
    let rough = span / wanted.max(1.0);
    let power = 10f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= rough * 0.999);
    factor.unwrap_or(10.0) * power
}

fn decimals(step: f64) -> usize {
    let exact = |digits: &usize| {
        let scaled = step * 10f64.powf(f64::from(u32::try_from(*digits).unwrap_or(0)));
        (scaled - scaled.round()).abs() < 1e-6 * scaled
    };
    (0..12).find(exact).unwrap_or(12)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(low: f64, high: f64, wanted: f64) -> Vec<String> {
        ticks(low, high, wanted).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(
            texts(0.0, 90.0, 9.0),
            ["0", "10", "20", "30", "40", "50", "60", "70", "80", "90"]
        );
        assert_eq!(texts(2312.0, 2418.0, 5.0), ["2325", "2350", "2375", "2400"]);
        assert_eq!(texts(-0.3, 0.3, 3.0), ["−0.2", "0.0", "0.2"]);
    }

    #[test]
    fn an_axis_without_length_has_no_ticks() {
        assert!(ticks(1.0, 1.0, 5.0).is_empty());
        assert!(ticks(f64::NAN, 1.0, 5.0).is_empty());
    }
}
