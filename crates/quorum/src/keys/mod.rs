//! Keys: who is who, for how long, and what a node holds while it runs.
//!
//! - The [`Membership`] is what everybody may know: the station, its epoch, the root keys of all
//!   parties, and the keys that certificates are verified with.
//! - [`RootSecrets`] belong to one party. They certify working keys and nothing else.
//! - [`Working`] keys are made again at each birth of a node, numbered by a counter that never
//!   goes back, and lie in memory only. Who breaks into a node gets these, and they end with it.
//! - Keys of channels are derived from those of both ends.
//!
//! Files are read and written elsewhere; here are their texts.

pub(crate) mod channel;
mod membership;
mod random;
mod root;
mod secret;
mod text;
mod working;

pub use membership::{CertificateKeys, Membership, RootKey};
pub(crate) use random::Random;
pub use root::RootSecrets;
pub use secret::Secret;
pub use text::{TextError, TextFault};
pub use working::Working;

#[cfg(test)]
mod tests;
