//! System calls that neither the standard library nor crate `os` has, each as a safe function.

pub(crate) mod gpio;
pub(crate) mod guest;
pub(crate) mod page;
pub(crate) mod process;
pub(crate) mod signal;
pub(crate) mod stamping;
pub(crate) mod switches;
pub(crate) mod thread;
pub(crate) mod timerfd;
pub(crate) mod wake;
