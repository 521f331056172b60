//! Type tests of protection elements, as anybody can run them: a line between two sources makes
//! currents and voltages, a relay with ordinary settings is given them as sampled values, and what it
//! does is compared with what the standards and its settings ask of it (IEC 60255-121 and others).
#![forbid(unsafe_code)]

pub mod cases;
pub mod circuit;
pub mod line;
pub mod page;
pub mod relay;
pub mod sets;
pub mod transformer;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod two_ends;
