//! How late this platform lets programs act.
//!
//! [`wakeups`] measures it from within: threads that want to wake up at exact times tell how late
//! they did. [`realtime`] holds the calls that make a thread a real-time one.

pub mod realtime;
pub mod wakeups;
