//! The programs that live in time domains, and who owns these.
//!
//! - [`launch`]: programs in virtual time: seccomp filter, exec following, image
//! - [`agent`]: the process that owns a domain, and everything that talks to it
//! - [`intervention`]: what others do to a domain

pub mod agent;
pub mod intervention;
pub mod launch;
