//! Run folders and their report, through the public interface.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod fixture;
mod report;
