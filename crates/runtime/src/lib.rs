//! Time domains, and the programs that live in them.
//!
//! - [`domain`]: the owner's side of a time domain
//! - [`launch`]: programs in virtual time: seccomp filter, exec following, image
//! - [`agent`]: the process that owns a domain, and everything that talks to it
//! - [`intervention`]: what others do to a domain
//! - [`span_ns`]: spans of virtual time in messages

pub mod agent;
pub mod domain;
pub mod intervention;
pub mod launch;
pub mod span_ns;
