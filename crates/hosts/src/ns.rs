//! Times as nanoseconds, in messages (`#[serde(with)]`).

use serde::{Deserialize, Deserializer, Serializer};
use vtime::VirtualTime;

pub(crate) fn serialize<S: Serializer>(time: &VirtualTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_i64(time.as_ns())
}

pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<VirtualTime, D::Error> {
    i64::deserialize(from).map(VirtualTime::from_ns)
}

/// Where there may be none.
pub(crate) mod or_none {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use vtime::VirtualTime;

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<VirtualTime>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(VirtualTime::as_ns).serialize(to)
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(
        from: D,
    ) -> Result<Option<VirtualTime>, D::Error> {
        Ok(Option::<i64>::deserialize(from)?.map(VirtualTime::from_ns))
    }
}

/// The same of host times.
pub(crate) mod host {
    use serde::{Deserialize, Deserializer, Serializer};
    use vtime::HostTime;

    pub(crate) fn serialize<S: Serializer>(time: &HostTime, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_i64(time.as_ns())
    }

    pub(crate) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<HostTime, D::Error> {
        i64::deserialize(from).map(HostTime::from_ns)
    }
}
