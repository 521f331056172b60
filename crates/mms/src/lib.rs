//! The server side of IEC 61850-8-1: what a client can browse, read, write and be told of, over MMS
//! (ISO 9506) and the layers below it, down to the stream of TCP.
//!
//! Octets in, octets out: whoever has sockets and clocks hands in what came and the time. Each layer
//! has a file, from below: packets (`tpkt`, RFC 1006), transport (`cotp`, ISO 8073), session
//! (ISO 8327), presentation (ISO 8823), association (`acse`, ISO 8650), requests and answers (`pdu`,
//! `answer`, ISO 9506). An `association` runs one connection through them. The [`Model`] knows what
//! there is, `report` with its `control_block` when a client is told of a change, and the [`Server`]
//! has them all.
//!
//! Clients are not trusted: what they send is decoded whole or refused, and what they can make a
//! server hold is bounded. Nothing is encrypted and nobody is authenticated, as in most stations:
//! whom a network lets in can read all there is, and change nothing but the reports that it gets.
#![forbid(unsafe_code)]

mod acse;
mod answer;
mod association;
mod control_block;
mod cotp;
mod model;
mod pdu;
mod presentation;
mod report;
mod report_format;
mod server;
mod service;
mod session;
mod tpkt;
mod types;

pub use association::Client;
pub use control_block::control_block;
pub use model::{Model, Node, Trigger};
pub use server::{CLIENTS_MAX, Now, Server};
pub use service::Identity;
pub use types::Type;
