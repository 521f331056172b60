//! What tests of several commands share.

pub(crate) mod guests;
pub(crate) mod machine;
pub(crate) mod patience;
pub(crate) mod processes;
