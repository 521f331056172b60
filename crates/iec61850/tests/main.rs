//! Frames and files of others, good, wrong and hostile.
mod captures;
mod comtrade;
mod hostile;
#[path = "support/malformed.rs"]
mod malformed;
mod scl;
mod support;
