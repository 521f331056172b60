//! The per-host daemon and its protocol.
