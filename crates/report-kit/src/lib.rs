#![forbid(unsafe_code)]
//! What reports and verdicts of all kinds share.
//!
//! - [`outcome`]: met, missed, disturbed or not measured
//! - [`figure`]: numbers as people read them
//! - [`statistics`]: what a sample says, and how surely
//! - [`machine`]: the machine and the versions, as found
//! - [`page`]: one HTML page that asks nothing of anybody, and its tables
//! - [`plot`]: pictures as SVG; [`axis`]: ticks at round numbers

pub mod axis;
pub mod figure;
pub mod machine;
pub mod outcome;
pub mod page;
pub mod plot;
pub mod statistics;
