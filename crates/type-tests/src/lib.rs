//! Type tests of protection elements, as anybody can run them: a line between two sources makes
//! currents and voltages, a relay with ordinary settings is given them as sampled values, and what it
//! does is compared with what the standards and its settings ask of it (IEC 60255-121, -127, -151, -181
//! and what is public of -187-1). [`suite`] has all tests, [`sets`] the drawn cases of distance.
#![forbid(unsafe_code)]

pub mod cases;
pub mod circuit;
pub mod differential;
pub mod distance;
pub mod frequency;
pub mod line;
pub mod locate;
pub mod overcurrent;
pub mod page;
pub mod plot;
pub mod records;
pub mod relay;
pub mod report;
pub mod sets;
pub mod suite;
pub mod transformer;
pub mod voltage;
pub mod wave;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_ends;
