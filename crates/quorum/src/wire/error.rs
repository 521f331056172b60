//! Why octets are no datagram: which field, at which octet, and what is wrong there.
//!
//! Small and `Copy`, because a node meets such datagrams at the rate of the attacker; the words
//! are made only when somebody prints them.

use std::fmt;

use iec61850::wire::Fault;

/// What is wrong with a datagram, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatagramError {
    /// The field that could not be read, as the reference page calls it.
    pub field: &'static str,
    /// Where it stands: octets from the begin of the datagram.
    pub octet: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

impl fmt::Display for DatagramError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at octet {}: {}", self.field, self.octet, self.fault)
    }
}

impl std::error::Error for DatagramError {}
