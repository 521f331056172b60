//! Whole runs with real programs, as a user starts them: what they record, and what is left when
//! a part of them dies.

mod case;
mod compare;
mod compute;
mod disturbed;
mod dry;
mod far;
mod far_lost;
mod harness;
mod hostile;
mod hosts;
mod mistakes;
mod nodes;
mod order;
mod output;
mod parts;
mod programs;
mod record;
mod skip;
mod stalls;
mod start;
mod talk;
mod tcp;
mod unsolved;
mod user;
mod web;
mod words;
