//! One HTML page drawn from run folders.
