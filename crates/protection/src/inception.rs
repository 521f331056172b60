//! When something was switched, or a fault began: currents or voltages that are not what they were a
//! period ago (superimposed quantities).
//!
//! What measures afterwards looks only at samples since then, so that nothing of before is mixed with
//! what is now. To be late with it, or to take for an inception what is none, costs time but no
//! direction and no reach: the window is shorter than it could be.

use super::filter::Window;

/// Changes that count, of voltages and of currents, as a share of the largest peak of the three phases.
const SHARES: [f64; 2] = [0.08, 0.25];
/// The same for some periods after an inception: what decays is no other one.
const SHARES_AFTER: [f64; 2] = [0.25, 0.6];
const AFTER_PERIODS: f64 = 6.0;
/// Samples in a row that must differ.
const IN_ROW: u8 = 2;

/// Finds inceptions in the samples of three currents and three voltages.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Inception {
    /// Peak of a current below which its changes are none, in A.
    current_a_min: f64,
    /// Peak of a voltage below which its changes are none, in V.
    voltage_v_min: f64,
    in_row: u8,
    /// Number of the first sample since the last inception.
    begin: u64,
}

impl Inception {
    /// Changes below these peaks are noise.
    #[must_use]
    pub(super) const fn new(current_a_min: f64, voltage_v_min: f64) -> Self {
        Self { current_a_min, voltage_v_min, in_row: 0, begin: 0 }
    }

    /// Number of the first sample since the last inception.
    #[must_use]
    pub(super) const fn begin(&self) -> u64 {
        self.begin
    }

    /// The stream begins again with this sample.
    pub(super) const fn restart(&mut self, number: u64) {
        (self.begin, self.in_row) = (number, 0);
    }

    /// Looks at the newest sample, `number`; says whether an inception was found.
    #[inline]
    pub(super) fn update(
        &mut self,
        number: u64,
        period_samples: f64,
        [currents, voltages]: [&[Window]; 2],
        [current_peaks, voltage_peaks]: [[f64; 3]; 2],
    ) -> bool {
        let age = (number - self.begin) as f64 / period_samples;
        let largest = |peaks: [f64; 3]| peaks.into_iter().fold(0.0, f64::max);
        let [voltage_share, current_share] =
            if age < AFTER_PERIODS { SHARES_AFTER } else { SHARES };
        let current_limit = (current_share * largest(current_peaks)).max(self.current_a_min);
        let voltage_limit = (voltage_share * largest(voltage_peaks)).max(self.voltage_v_min);
        let differs = |windows: &[Window], limit: f64| {
            windows.iter().any(|window| {
                window
                    .period_ago(period_samples)
                    .is_some_and(|old| (window.newest() - old).abs() > limit)
            })
        };
        let is_other = differs(currents, current_limit) || differs(voltages, voltage_limit);
        self.in_row = if is_other { self.in_row.saturating_add(1) } else { 0 };
        // What differs within a period of the last inception differs because of that one.
        if self.in_row < IN_ROW || age <= 1.1 {
            return false;
        }
        self.begin = number + 1 - u64::from(IN_ROW);
        self.in_row = 0;
        true
    }
}
