//! Spans of virtual time as nanoseconds, in messages and records (`#[serde(with)]`).

use serde::{Deserialize, Deserializer, Serializer};
use vtime::VirtualSpan;

/// Writes a whole number of nanoseconds.
pub fn serialize<S: Serializer>(span: &VirtualSpan, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_i64(span.as_ns())
}

/// Reads a whole number of nanoseconds.
pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<VirtualSpan, D::Error> {
    i64::deserialize(from).map(VirtualSpan::from_ns)
}

/// As this module, where there may be none.
pub mod or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use vtime::VirtualSpan;

    /// Writes the nanoseconds, or null.
    pub fn serialize<S: Serializer>(span: &Option<VirtualSpan>, to: S) -> Result<S::Ok, S::Error> {
        span.map(VirtualSpan::as_ns).serialize(to)
    }

    /// Reads nanoseconds, or null.
    pub fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Option<VirtualSpan>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(VirtualSpan::from_ns))
    }
}
