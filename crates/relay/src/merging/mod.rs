//! A merging unit as a program: many streams of sampled values, each frame at its own time.
//!
//! What decides is pure and takes sample numbers and times:
//! - [`generator`]: the samples of one source, with faults and a breaker that ends them
//! - [`waves`], [`playback`]: where a generator's values come from
//! - [`schedule`]: which frame of which stream is due when
//! - [`disturbance`]: what goes wrong with it
//! - [`frame`]: the frame as octets
//! - [`expected`]: when a relay that takes no time would trip
//! - [`alternation`]: a current that steps up and down again and again
//! - [`lateness`]: how late frames were sent
//!
//! What touches the world:
//! - [`files`]: fault records and captures
//! - [`publisher`]: the loop that sleeps, sends and counts
//! - [`plant`]: phasors of a simulated grid
//! - [`feedback`]: the subscription to a trip
//! - [`alternate`]: the loop that sends steps and tells when

pub mod alternate;
pub mod alternation;
pub mod capture;
pub mod disturbance;
pub mod expected;
pub mod feedback;
pub mod files;
pub mod frame;
pub mod generator;
pub mod lateness;
pub mod plant;
pub mod playback;
pub mod publisher;
pub mod schedule;
pub mod summary;
pub mod waves;
