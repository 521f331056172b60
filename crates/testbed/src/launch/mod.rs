//! Programs in virtual time.
