//! The same figures after an eighth, a quarter, a half and all of a measurement.
//!
//! Whether a run was long enough shows in its own beginning: where the figures of the first eighth
//! are those of the whole, more time would tell little; where the maximum still grows, it has not
//! been seen. Queiroz et al. (2023) show 1, 2, 4 and 8 hours for this reason.

use serde::Serialize;

use super::cell::{Cell, Samples};
use report_kit::statistics::{Distribution, Summary};

/// The shares of a measurement that are looked at, as a divisor.
const DIVISORS: [i64; 4] = [8, 4, 2, 1];

/// The beginning of a measurement.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Portion {
    /// Its share of the whole is one part in so many.
    pub divisor: i64,
    pub until_ns: i64,
    /// The samples of all threads that were due by then; none: there were none.
    pub summary: Option<Summary>,
}

/// The portions of a cell, and all of its samples. Of a histogram only the whole is known.
pub(crate) fn portions(cell: &Cell, end_ns: i64) -> (Vec<Portion>, Distribution) {
    let mut portions = Vec::new();
    let mut so_far = Distribution::default();
    let mut from_ns = i64::MIN;
    let timed = cell.threads.iter().all(|thread| matches!(thread.samples, Samples::Kept { .. }));
    for divisor in DIVISORS {
        let is_whole = divisor == 1;
        if !timed && !is_whole {
            continue;
        }
        // The last sample is due at the end itself, so the whole has no end.
        let until_ns = if is_whole { i64::MAX } else { end_ns / divisor };
        for thread in &cell.threads {
            so_far = so_far.merged(&due(&thread.samples, from_ns, until_ns));
        }
        let until_ns = until_ns.min(end_ns);
        portions.push(Portion { divisor, until_ns, summary: Summary::of(&so_far) });
        from_ns = until_ns;
    }
    (portions, so_far)
}

/// The samples that were due from one time up to, but not including, another.
fn due(samples: &Samples, from_ns: i64, until_ns: i64) -> Distribution {
    match samples {
        Samples::Kept { at, latency_ns } => {
            Distribution::of(&latency_ns[at.before(from_ns)..at.before(until_ns)])
        }
        Samples::Counted(all) => all.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_portion_holds_the_one_before_and_the_last_one_all() {
        let mut late = vec![5; 800];
        late[700] = 90;
        let threads =
            [late, vec![6; 800]].map(|latency_ns| Samples::periodic(10, latency_ns).into());
        let cell = Cell { threads: threads.into(), ..Cell::default() };
        let (portions, all) = portions(&cell, 8_000);
        let counts: Vec<u64> = portions.iter().map(|of| of.summary.unwrap().count).collect();
        assert_eq!(counts, [198, 398, 798, 1600]);
        let maxima: Vec<f64> = portions.iter().map(|of| of.summary.unwrap().maximum).collect();
        assert_eq!(maxima, [6.0, 6.0, 6.0, 90.0]);
        assert_eq!((all.count(), portions[1].until_ns), (1600, 2_000));
    }

    #[test]
    fn a_histogram_has_only_a_whole() {
        let samples = Samples::Counted(Distribution::of(&[1, 2, 3]));
        let cell = Cell { threads: vec![samples.into()], ..Cell::default() };
        let (portions, all) = portions(&cell, 0);
        assert_eq!((portions.len(), portions[0].divisor, all.count()), (1, 1, 3));
    }
}
