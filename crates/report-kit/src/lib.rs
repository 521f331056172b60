#![forbid(unsafe_code)]
//! What reports and verdicts of all kinds share.
//!
//! - [`outcome`]: met, missed, disturbed or not measured
//! - [`figure`]: numbers as people read them
//! - [`statistics`]: what a sample says, and how surely
//! - [`machine`]: the machine and the versions, as found
//! - [`page`]: one HTML page that asks nothing of anybody, and its tables
//! - [`csv`], [`parquet_table`]: tables as files
//! - [`plot`]: pictures as SVG; [`axis`]: ticks at round numbers

pub mod axis;
pub mod csv;
pub mod figure;
pub mod machine;
pub mod outcome;
pub mod page;
pub mod parquet_table;
pub mod plot;
pub mod statistics;
