//! Frames of the process and station bus (IEC 61850-9-2, 61869-9, 61850-8-1) over octets that
//! anybody may have sent.
//!
//! Decoders borrow and copy nothing but numbers. They are strict: a frame is whole and of the
//! form that the standards give, or it is refused with the field and the octet at which it is
//! wrong, and then it has changed nothing. One file for each PDU.

pub mod ber;
pub mod data;
mod error;
pub mod ethernet;
pub mod goose;
mod quality;
pub mod sampled_values;
mod utc_time;

pub use data::{AllData, Data, Elements, Form, Value, Width};
pub use error::{Fault, WireError};
pub use ethernet::{Header, MacAddress, Tag};
pub use goose::Goose;
pub use quality::{Quality, Validity};
pub use sampled_values::{Asdu, Sample, SampledValues, Synchronisation};
pub use utc_time::UtcTime;
