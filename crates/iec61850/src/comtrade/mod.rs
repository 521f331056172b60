//! Fault records, read as relays write them and written: COMTRADE of 1991, 1999 and 2013 (IEEE C37.111, IEC
//! 60255-24), in ASCII and binary of 16 and 32 bits and floats.
//!
//! A record is a configuration (`.cfg`) and data (`.dat`), or a combined file (`.cff`) that contains
//! both. What comes out is analog channels in the units of the record, primary or secondary as it
//! says, digital channels, and the time of each sample; [`resample`] puts a channel at another rate, as
//! a merging unit would have sent it, [`resample_sections`] one with several rates, and [`evenly`] one
//! whose samples have stamps but no rate. Header and information are not read. Written is
//! revision 2013.

mod combined;
mod configuration;
mod data;
mod resample;
mod sections;
mod write;

pub use configuration::{Analog, Configuration, Digital, Encoding, Rate, Revision};
pub use data::Record;
pub use resample::{evenly, resample};
pub use sections::resample_sections;
pub use write::{TimeQuality, date, date_and_time, time_of_day};

use std::fmt;

/// Why a record cannot be read: where, and what is wrong there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ComtradeError {
    /// The file that is wrong: configuration, data or combined file.
    pub file: &'static str,
    /// Line, or number of the sample in binary data, from 1.
    pub line: usize,
    pub what: String,
}

impl ComtradeError {
    fn new(file: &'static str, line: usize, what: impl Into<String>) -> Self {
        Self { file, line, what: what.into() }
    }
}

impl fmt::Display for ComtradeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, line {}: {}", self.file, self.line, self.what)
    }
}

impl std::error::Error for ComtradeError {}
