//! How latencies, shares of budgets and causes are written, on the page as in the terminal.

use probe::stream::Cause;
use report_kit::statistics::Summary;

/// Names of the figures of the published layout.
pub(super) const LAYOUT: [&str; 8] = [
    "Lower whisker",
    "Lower quartile",
    "Median",
    "Mean",
    "Std",
    "Upper quartile",
    "Upper whisker",
    "Max jitter",
];

/// The figures of the published layout, ns.
pub(super) fn layout(s: &Summary) -> [f64; 8] {
    let lower = [s.lower_whisker, s.lower_quartile, s.median, s.mean];
    let upper = [s.deviation, s.upper_quartile, s.upper_whisker, s.maximum_jitter];
    std::array::from_fn(|at| if at < 4 { lower[at] } else { upper[at - 4] })
}

/// A latency as the published tables print it.
pub(super) fn three(ns: f64) -> String {
    format!("{:.3}", ns / 1e6)
}

/// A share of a budget in percent, with two digits.
pub(super) fn eaten(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent >= 10.0 { 0 } else { 1 };
    if percent < 0.1 { "< 0.1 %".to_owned() } else { format!("{percent:.digits$} %") }
}

/// A cause as reports call it.
pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "host stall",
        Cause::Kernel => "kernel",
        Cause::Load => "load",
        Cause::Stopped => "probe stopped",
        Cause::Unknown => "unexplained",
    }
}
