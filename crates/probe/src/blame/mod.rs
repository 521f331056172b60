//! Who is to blame for a stall.
//!
//! Nothing is looked at before a sample is far too late: then the collector, which is woken at
//! once, asks the kernel who had the core. What must be known from before (steal time, run delays)
//! is read now and then. The switches of each core are recorded by the kernel where that is allowed
//! ([`Recorder`](crate::sys::switches::Recorder)); [`verdict`] says what each kind of evidence
//! proves.

mod task;
mod timeline;
mod typical;
mod verdict;
mod witness;

pub(crate) use witness::{Late, Witness};
