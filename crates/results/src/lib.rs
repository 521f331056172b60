//! What a run leaves behind, and the verdicts drawn from it.
//!
//! A run is a folder of files that other tools open without this program: JSON, Parquet, CSV,
//! pcapng and plain logs. Everything said about a run later, on the terminal or in a report, is
//! drawn from these files and names them.
//!
//! - `folder`: the folder: made, written, opened again
//! - [`record`]: the structures of `run.json`, with the files that a run was made of
//! - `series`: points of the plant over time
//! - `journal`: the series while the run goes on; survives a kill
//! - `table_file`: the series as Parquet
//! - [`csv`]: the series as CSV
//! - [`output`]: lines of programs with the virtual time at which they came
//! - [`capture`]: frames read back from pcapng
//! - [`compare`]: whether two runs are the same, and where they differ first
//! - [`frame`]: what a captured frame carries
//! - [`stream`]: which TCP payload is new and which was sent before
//! - [`doubt`]: what is missing in them, or no result
//! - [`told`]: numbers that programs print
//! - [`disturbance`]: what kept programs from acting in time, and when that is too much for a verdict
//! - [`disturbance_file`]: that as a file
//! - `rate`: which interventions disturb
//! - `measure`: what verdicts are drawn from, and what it says about a measure
//! - `verdict`: requirements judged
//! - `columns`: tables for a terminal
//! - [`report`]: one HTML page drawn from run folders

pub mod capture;
mod columns;
pub mod compare;
pub mod csv;
pub mod disturbance;
pub mod disturbance_file;
#[cfg(test)]
mod disturbance_tests;
pub mod doubt;
mod folder;
pub mod frame;
mod journal;
mod measure;
pub mod output;
mod rate;
pub mod record;
pub mod report;
mod series;
pub mod stream;
mod table_file;
pub mod told;
mod verdict;
#[cfg(test)]
mod verdict_tests;

pub use folder::RunFolder;
pub use journal::SeriesWriter;
pub use measure::RunData;
pub use record::RunRecord;
pub use series::{Column, Series};
pub use verdict::{Verdict, exit, judge, table};
