//! Programs in virtual time, on a stock kernel and without their help.
//!
//! A program is started behind a seccomp filter ([`filter`]). The filter reports every exec to
//! the [`follow`]er, which stops the program at its first instruction, maps the [`image`] and
//! the pages of the domain into it ([`tracee`]) and detaches from it: from then on nobody traces it.
//! What is not an exec, the filter lets through or turns into a SIGSYS for the image. Children
//! and threads inherit all of it.
//!
//! - [`filter`]: which calls are stopped, as a program of the kernel's packet filter
//! - [`image`]: the image that `qcycle` carries, and the kernel's own vDSO
//! - [`timens`]: time namespaces of programs
//! - [`timers`]: timers of programs, which expire when the agent says so
//! - [`tracee`]: a stopped program: registers, memory, borrowed system calls
//! - [`follow`]: from the notification of an exec to a program at its first instruction
//! - [`exec_queue`]: who works on which exec
//! - [`freeze`]: freezing programs while their clock is stopped
//! - [`equip`]: putting a program that stands there into virtual time
//! - [`jumps`]: jumps over time in which nobody can do anything
//! - [`privileges`]: programs that their file should give more than they can be given
//! - [`members`]: which processes belong to which program
//! - [`attach`]: attaching to a program that runs already
//! - [`program`]: starting the first program of a tree
//! - [`inspect`]: what a program asks for, in words
//! - [`dumpable`]: opening a program that is closed to this user, for an exec
//! - [`arch`]: what depends on the processor

mod arch;
pub mod attach;
mod dumpable;
mod equip;
mod exec_queue;
pub mod filter;
mod follow;
pub mod freeze;
mod image;
mod inspect;
mod jumps;
pub mod members;
mod privileges;
pub mod program;
mod timens;
mod timers;
mod tracee;

pub use follow::Follower;
pub use jumps::{Jumper, Outlook, Waits};
