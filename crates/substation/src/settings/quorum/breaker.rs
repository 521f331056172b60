//! Reads the settings of the breaker node.

use std::net::SocketAddr;
use std::path::Path;

use ::settings::Problems;
use ::settings::cursor::{self, Mapping};
use ::settings::table::Shape::Of;
use quorum::Action;

use super::super::texts::socket;
use super::super::{GooseControl, goose};
use super::keys::BREAKER_NODE;
use super::{NodeHost, Quorum, host, quorum};
use protection::breaker;

/// The node beside the breaker, which operates it.
#[derive(Clone, PartialEq, Debug)]
pub struct BreakerNode {
    pub name: String,
    pub quorum: Quorum,
    pub initially: Action,
    /// How fast the contacts move, as the published position shows it.
    pub breaker: breaker::Settings,
    pub goose: Option<GooseControl>,
    /// Where it reports whom it hears and its state; nowhere if there is none.
    pub status: Option<SocketAddr>,
    pub host: NodeHost,
}

/// Reads the settings of a breaker node; `file` is where the text is from, for reports.
///
/// # Errors
/// Everything that is wrong with them.
pub fn read(file: impl AsRef<Path>, text: &str) -> Result<BreakerNode, Problems> {
    cursor::read(file.as_ref(), text, const { &Of(&BREAKER_NODE) }, node)
}

fn node(top: &Mapping<'_>) -> Option<BreakerNode> {
    top.check();
    let (quorum, host) = (quorum(top), host(top)?);
    if top.has("goose") && host.interface.is_none() {
        let what = "it has no interface to send to";
        top.wrong("goose", what, "add `interface` to `host`");
    }
    let goose = match top.mapping("goose") {
        Some(map) => Some(goose::control(&map, Vec::new())?),
        None => None,
    };
    Some(BreakerNode {
        name: top.text("breaker")?.value,
        quorum: quorum?,
        initially: if top.is("initially", "open") { Action::Trip } else { Action::Close },
        breaker: breaker::Settings { opening: top.time("opening")?, closing: top.time("closing")? },
        goose,
        status: top.parse("status", socket).map(|address| address.value),
        host,
    })
}
