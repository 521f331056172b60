//! How late this platform lets programs act.
//!
//! The crate `probe` measures it from within: threads that want to wake up at exact times tell how
//! late they did. [`statistics`] says what the samples mean, and how surely. [`cell`] holds what one
//! profile measured on one platform, in memory and as files. A [`matrix`] says which [`profile`]s
//! are measured on which [`platform`]s, a `session` does it and writes down how it stands, as a
//! [`record`]; its cells lie in a [`run_folder`].
//!
//! What is said of a cell is its [`digest`]: figures, also `over_time`, a `verdict` for each limit
//! beside what others `published`, and the `attribution` of what was late. A [`report`] is made of
//! digests, and writes a `table` where it speaks to a terminal.

mod attribution;
pub mod cell;
pub mod command;
mod compare;
pub mod digest;
pub mod import;
pub mod matrix;
mod over_time;
pub mod platform;
pub mod profile;
mod published;
pub mod record;
pub mod report;
mod results_command;
pub mod run_folder;
mod session;
mod table;
mod verdict;
mod vm;
