//! What tests of several commands share.

pub(crate) mod guests;
mod hangs;
pub(crate) mod lab;
pub(crate) mod machine;
pub(crate) mod patience;
pub(crate) mod processes;
