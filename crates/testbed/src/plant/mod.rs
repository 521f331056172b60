//! The simulated grid.
