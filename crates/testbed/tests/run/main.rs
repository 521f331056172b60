//! Whole runs with real programs, as a user starts them: what they record, and what is left when
//! a part of them dies.

#![expect(clippy::unwrap_used, reason = "all of this is a test")]

mod case;
mod disturbed;
mod dry;
#[path = "../common/guests.rs"]
#[allow(dead_code, reason = "shared with other tests, which use more of it")]
mod guests;
mod harness;
mod hostile;
mod mistakes;
mod nodes;
mod output;
mod parts;
#[path = "../common/patience.rs"]
mod patience;
#[path = "../common/processes.rs"]
mod processes;
mod programs;
mod record;
mod stalls;
mod start;
mod talk;
mod unsolved;
mod user;
mod words;
