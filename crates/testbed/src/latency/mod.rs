//! How late this platform lets programs act.
//!
//! [`wakeups`] measures it from within: threads that want to wake up at exact times tell how late
//! they did. [`statistics`] says what the samples mean, and how surely.

pub mod statistics;
pub mod wakeups;
