//! System calls that neither the standard library, rustix nor crate `os` has, each as a safe function.

pub(crate) mod gpio;
pub(crate) mod memory;
pub(crate) mod signal;
pub(crate) mod stamping;
pub(crate) mod switches;
pub(crate) mod thread;
