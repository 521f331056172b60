//! A relay as clients of IEC 61850-8-1 see it: a logical device with a logical node for each element
//! (61850-7-4), served by a thread that is not in real time.
//!
//! The thread that may block keeps what is known of the relay up to date ([`Live`]) and hands it over
//! at each change ([`Served`]); it never waits for the serving thread, and protection for neither.
//!
//! - `names`: names of logical nodes from those of the settings.
//! - `positions`: where breakers are, as all publishers tell together.
//! - `live`: what is known of the relay now, and what each attribute makes of it.
//! - `nodes`: logical nodes and their data objects; `model`: those of a relay.
//! - `serve`: sockets.

mod live;
mod model;
mod names;
mod nodes;
mod positions;
mod serve;

pub use live::{Live, Told};
pub use serve::Served;
