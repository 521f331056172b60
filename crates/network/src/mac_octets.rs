//! MAC addresses as six octets, in messages.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::MacAddress;

pub(crate) fn serialize<S: Serializer>(mac: &MacAddress, to: S) -> Result<S::Ok, S::Error> {
    mac.0.serialize(to)
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<MacAddress, D::Error> {
    <[u8; 6]>::deserialize(from).map(MacAddress)
}
