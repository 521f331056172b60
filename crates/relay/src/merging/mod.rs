//! A merging unit as a program: many streams of sampled values, each frame at its own time.
//!
//! What decides is pure and takes sample numbers and times:
//! - `generator`: the samples of one source, with faults and a breaker that ends them
//! - `waves`, `playback`: where a generator's values come from
//! - `switchgear`: the breaker that ends currents, and its message; `source`: which breaker is a source's
//! - `schedule`: which frame of which stream is due when
//! - `disturbance`: what goes wrong with it
//! - `frame`: the frame as octets
//! - `expected`: when a relay that takes no time would trip
//! - `alternation`: a current that steps up and down again and again
//!
//! What touches the world:
//! - `files`: fault records and captures
//! - `publisher`: the loop that sleeps, sends and counts
//! - `plant`: phasors of a simulated grid
//! - `feedback`: the subscription to orders to a breaker
//! - `alternate`: the loop that sends steps and records when
//! - `cli`: the command line

mod alternate;
mod alternation;
mod capture;
pub(crate) mod cli;
mod disturbance;
mod expected;
mod feedback;
mod files;
mod frame;
mod generator;
mod plant;
mod playback;
mod publisher;
mod schedule;
mod source;
mod summary;
mod switchgear;
mod waves;

#[cfg(test)]
mod cycle_tests;
