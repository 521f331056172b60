//! What recorded samples say of a fault: currents and voltages before it and at an operation, how long
//! it lasted, and where it is. They are measured as the engine does, afterwards and in no hurry.

use std::collections::VecDeque;

use crate::engine::{CURRENT_A_MIN, VOLTAGE_V_MIN};
use protection::locator::{Location, Locator, Settings};
use protection::measure::CHANNELS;
use protection::phases::largest;
use protection::recent::Transformers;
use protection::{Measurands, Measured, Measuring};

/// Samples that may miss in a row before measuring begins anew.
const MISSING_MAX: usize = 3;
/// Periods by which the begins of two inceptions differ at least.
const APART: f64 = 0.25;
/// Measurements, one each millisecond, within which an inception is noticed.
const LATE: usize = 64;
/// Share of the current of before above which the current of a fault still flows.
const STILL: f64 = 1.2;

/// Recorded samples of a stream: A and V, `None` where one is missing.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'r> {
    pub samples: &'r [Option<[f64; CHANNELS]>],
    /// How many samples a second has.
    pub rate: u32,
    /// Nominal frequency, in Hz.
    pub frequency_hz: f64,
}

/// A fault as it was recorded; samples are places in the record.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Fault {
    /// The first sample of the fault.
    pub begin: Option<usize>,
    /// The last measurement before that.
    pub before: Option<Measurands>,
    /// The measurement at the operation of an element.
    pub at_operation: Option<Measurands>,
    /// The sample from which on no current is above those of before; `None` if it still flows.
    pub gone: Option<usize>,
    /// Where it is, if that was asked and is known.
    pub location: Option<Location>,
}

/// What is known while samples go by.
struct Looking {
    fault: Fault,
    locator: Option<Locator>,
    /// The newest measurements, so many that one from before an inception is among them.
    late: VecDeque<(usize, Measurands)>,
    /// Where the inception of now is.
    begin: f64,
}

impl Recorded<'_> {
    /// The fault that an element saw first at the sample `start`, and for which one operated at
    /// `operation`; on this line if it is to be located.
    #[must_use]
    pub fn fault(&self, start: usize, operation: Option<usize>, line: Option<Settings>) -> Fault {
        let mut looking = Looking {
            fault: Fault::default(),
            locator: line.map(Locator::new),
            late: VecDeque::new(),
            begin: f64::NEG_INFINITY,
        };
        let period = f64::from(self.rate) / self.frequency_hz;
        self.measure(|sample, measured| {
            looking.look(sample, measured, period, start, operation);
        });
        let mut fault = looking.fault;
        fault.location = looking.locator.as_ref().and_then(Locator::location);
        fault.gone = fault.begin.and_then(|begin| self.gone(begin, &fault, period));
        fault
    }

    /// Shows what is measured each millisecond, as the task sees it.
    fn measure(&self, mut see: impl FnMut(usize, &Measured)) {
        // Of transformers only elements want to know the kind.
        let mut measuring = Measuring::new(
            (self.rate, self.frequency_hz),
            Transformers::Inductive,
            (VOLTAGE_V_MIN, CURRENT_A_MIN),
        );
        let step = (self.rate as usize / 1000).max(1);
        let mut missing = 0;
        for (number, sample) in self.samples.iter().enumerate() {
            let Some(sample) = sample else {
                missing += 1;
                continue;
            };
            match missing {
                0 => {}
                1..=MISSING_MAX => measuring.bridge(missing as u8, sample),
                _ => measuring.clear(),
            }
            missing = 0;
            measuring.push(sample);
            if number % step == 0
                && let Some(measured) = measuring.measure()
            {
                see(number, &measured);
            }
        }
    }

    /// Behind the last sample of a current that is above what flowed before.
    fn gone(&self, begin: usize, fault: &Fault, period: f64) -> Option<usize> {
        let before_a = fault
            .before
            .and_then(|before| before.currents)
            .map_or(0.0, |currents| largest(currents.phases));
        let peak_a = (STILL * before_a).max(CURRENT_A_MIN) * std::f64::consts::SQRT_2;
        let flows = |sample: &Option<[f64; CHANNELS]>| {
            sample.is_some_and(|sample| sample[..3].iter().any(|value| value.abs() > peak_a))
        };
        let last = self.samples.iter().rposition(flows).filter(|last| *last >= begin)?;
        (last + period as usize <= self.samples.len()).then_some(last + 1)
    }
}

impl Looking {
    fn look(
        &mut self,
        sample: usize,
        measured: &Measured,
        period: f64,
        start: usize,
        operation: Option<usize>,
    ) {
        let shown = Measurands::of(measured, true, true);
        if let Some(recent) = &measured.recent {
            let begin = sample as f64 - recent.age * period;
            if begin > self.begin + APART * period {
                self.begin = begin;
                self.inception(begin.max(0.0) as usize, start);
            }
            if self.fault.begin.is_some_and(|known| known as f64 >= begin - 1.0)
                && let Some(locator) = &mut self.locator
            {
                locator.take(recent);
            }
        }
        if operation.is_some_and(|operation| sample <= operation) {
            self.fault.at_operation = Some(shown);
        }
        // While there is none since an inception, there are samples of both in the windows.
        if measured.recent.is_some() {
            self.late.truncate(LATE - 1);
            self.late.push_front((sample, shown));
        }
    }

    /// The fault is of the last inception before an element saw it.
    fn inception(&mut self, begin: usize, start: usize) {
        if begin > start {
            return;
        }
        self.fault.begin = Some(begin);
        let before = self.late.iter().find(|(sample, _)| *sample <= begin);
        self.fault.before = before.map(|(_, shown)| *shown);
        if let Some(locator) = &mut self.locator {
            locator.forget();
        }
    }
}
