#![forbid(unsafe_code)]
//! Machines that ssh(1) reaches: a program is carried there, runs, and is gone with its session.
//!
//! - [`target`]: how a machine is reached, as users write it
//! - [`carry`]: how a program comes there; [`login`], what is printed there before

pub mod carry;
mod login;
pub mod target;

pub use carry::{Carried, FOLDER};
pub use target::Target;
