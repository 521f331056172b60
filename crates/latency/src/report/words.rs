//! How latencies, shares of budgets and causes are written, on the page as in the terminal.

use probe::stream::Cause;

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
