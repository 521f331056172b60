//! What is said of samples: median, 99th percentile and, for two programs that ran in pairs, the
//! median of the ratios of the pairs. A disturbance that lasts longer than a pair hits both of
//! its runs and leaves their ratio alone; one that is shorter spoils one pair of many.

use serde::Serialize;

/// Samples of one run of each of two commands, one directly after the other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pair {
    /// Of the command itself.
    pub(crate) native: Vec<f64>,
    /// Of the command with the prefix that is under test.
    pub(crate) prefixed: Vec<f64>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Figure {
    pub(crate) name: String,
    /// Unit of `median` and `p99`.
    pub(crate) unit: String,
    /// Median of all samples.
    pub(crate) median: f64,
    /// 99th percentile of all samples (nearest rank; the largest if there are under 100).
    pub(crate) p99: f64,
    pub(crate) n: usize,
    /// Name of the row that `ratio` refers to.
    pub(crate) compared_to: Option<String>,
    /// Median over the pairs of (median of this) / (median of the other).
    pub(crate) ratio: Option<f64>,
}

/// The rows of a comparison: the command itself, then the command with the prefix. `None` if a
/// run gave no samples.
pub(crate) fn compare(name: &str, prefix: &str, unit: &str, pairs: &[Pair]) -> Option<[Figure; 2]> {
    let ratios: Option<Vec<f64>> =
        pairs.iter().map(|pair| Some(median(&pair.prefixed)? / median(&pair.native)?)).collect();
    let ratio = median(&ratios?)?;
    let native = figure(format!("{name}, native"), unit, pairs.iter().flat_map(|p| &p.native))?;
    let prefixed =
        figure(format!("{name}, {prefix}"), unit, pairs.iter().flat_map(|p| &p.prefixed))?;
    let compared_to = Some(native.name.clone());
    Some([native, Figure { compared_to, ratio: Some(ratio), ..prefixed }])
}

/// A row of its own.
#[allow(dead_code, reason = "not all who share this file have such rows")]
pub(crate) fn of_samples(name: String, unit: &str, samples: &[f64]) -> Option<Figure> {
    figure(name, unit, samples.iter())
}

fn figure<'a>(name: String, unit: &str, samples: impl Iterator<Item = &'a f64>) -> Option<Figure> {
    let samples: Vec<f64> = samples.copied().collect();
    Some(Figure {
        name,
        unit: unit.to_owned(),
        median: median(&samples)?,
        p99: percentile(&samples, 99.0)?,
        n: samples.len(),
        compared_to: None,
        ratio: None,
    })
}

fn median(samples: &[f64]) -> Option<f64> {
    let sorted = sorted(samples);
    let upper = *sorted.get(sorted.len() / 2)?;
    let lower = sorted[(sorted.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

/// The smallest sample that at least `percent` of all samples do not exceed.
fn percentile(samples: &[f64], percent: f64) -> Option<f64> {
    let rank = (percent / 100.0 * samples.len() as f64).ceil() as usize;
    sorted(samples).get(rank.checked_sub(1)?).copied()
}

fn sorted(samples: &[f64]) -> Vec<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

pub(crate) fn table(figures: &[Figure]) -> String {
    let width = figures.iter().map(|figure| figure.name.chars().count()).max().unwrap_or(0);
    let mut table = format!(
        "{:width$}  {:>4}  {:>11}  {:>11}  {:>6}  {:>7}\n",
        "", "unit", "median", "p99", "n", "ratio"
    );
    for Figure { name, unit, median, p99, n, ratio, .. } in figures {
        let ratio = ratio.map_or(String::new(), |ratio| format!("{ratio:.3}"));
        table +=
            &format!("{name:width$}  {unit:>4}  {median:>11.2}  {p99:>11.2}  {n:>6}  {ratio:>7}\n");
    }
    table
}
