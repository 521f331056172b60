//! Texts with a syntax of their own in settings: what goes into frames, addresses, sampling rates.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use ::settings::Fault;
use ::settings::names;
use ::settings::problems::quoted;
use ::settings::suggest;
use ::settings::table::{Shape, Syntax};
use ::settings::units::{self, Dimension};
use iec61850::wire::MacAddress;

pub(super) const YES_NO: Shape = Shape::Choice(&["yes", "no"]);
/// A text that is not empty.
pub(super) const TEXT: Shape =
    Shape::Written(&Syntax { what: "a text", check: |text| filled(text).map(drop) });
/// Whether a key with this shape names something else, or is one word that tells what it belongs to.
pub(super) fn is_name(shape: &Shape) -> bool {
    match (shape, &TEXT) {
        (Shape::Written(syntax), Shape::Written(text)) => syntax.what == text.what,
        (Shape::Several(item), _) => is_name(item),
        (Shape::Choice(words), _) => words.len() == 1,
        _ => false,
    }
}

/// A text that goes into frames.
pub(super) const VISIBLE: Shape = Shape::Written(&Syntax {
    what: "a text of at most 129 printable ASCII characters",
    check: |text| visible(text).map(drop),
});
pub(super) const GROUP: Shape = Shape::Written(&Syntax {
    what: "a multicast address, such as `01:0c:cd:04:00:01`",
    check: |text| group(text).map(drop),
});
/// An address of UDP or TCP.
pub(super) const SOCKET: Shape = Shape::Written(&Syntax {
    what: "an address with a port, such as `192.0.2.1:7400`",
    check: |text| socket(text).map(drop),
});
/// The address of a party.
pub(super) const PARTY: Shape = Shape::Written(&Syntax {
    what: "an address of a host with a port, such as `192.0.2.1:7400`",
    check: |text| party(text).map(drop),
});
pub(super) const RATE: Shape = Shape::Written(&Syntax {
    what: "a whole number of samples per second, such as `4000 Hz`",
    check: |text| rate(text).map(drop),
});

pub(super) fn filled(text: &str) -> Result<String, Fault> {
    match text {
        "" => Err(Fault::new("this text is empty", "write one value")),
        _ => names::shown(text).map(str::to_owned),
    }
}

/// A text that goes into frames.
///
/// # Errors
/// When it is empty, too long, or has other characters than a frame.
pub fn visible(text: &str) -> Result<String, Fault> {
    if text.len() <= 129 && text.bytes().all(|octet| matches!(octet, 0x20..=0x7e)) {
        return filled(text);
    }
    let what = "this cannot be sent in a frame";
    Err(Fault::new(what, "use at most 129 printable ASCII characters"))
}

pub(super) fn group(text: &str) -> Result<MacAddress, Fault> {
    let address = text.parse().ok().filter(|address: &MacAddress| address.is_group());
    address.ok_or_else(|| {
        let what = format!("{} is not a multicast address", quoted(text));
        Fault::new(what, "write it as `01:0c:cd:04:00:01`")
    })
}

/// An address of one host, with a port.
///
/// # Errors
/// When it is no such address.
pub fn socket(text: &str) -> Result<SocketAddr, Fault> {
    let address: SocketAddr = text.parse().map_err(|_| {
        let what = format!("{} is not an address with a port", quoted(text));
        Fault::new(what, "write it as `192.0.2.1:7400` or `[2001:db8::1]:7400`")
    })?;
    if address.port() == 0 {
        return Err(Fault::new(
            format!("{} has port 0", quoted(text)),
            "give a port from 1 to 65535",
        ));
    }
    let ip = address.ip();
    if ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST) {
        let what = format!("{} is the address of many", quoted(text));
        return Err(Fault::new(what, "give that of one host"));
    }
    Ok(address)
}

/// The address of a party, to which others send.
pub(super) fn party(text: &str) -> Result<SocketAddr, Fault> {
    let address = socket(text)?;
    if address.ip().is_unspecified() {
        let what = format!("{} is the address of nobody", quoted(text));
        return Err(Fault::new(what, "give that of the host on which the party runs"));
    }
    Ok(address)
}

pub(super) fn rate(text: &str) -> Result<u16, Fault> {
    let rate = units::quantity(text, Dimension::Frequency, 1000.0, 15_360.0)?;
    if rate.fract() == 0.0 {
        return Ok(rate as u16);
    }
    let what = "samples per second must be a whole number";
    Err(Fault::new(what, "write it as `4000 Hz`"))
}

/// A name that is among those of `what`: singular and plural.
pub(super) fn known(text: &str, what: [&str; 2], names: &[&str]) -> Result<String, Fault> {
    if names.contains(&text) {
        return Ok(text.to_owned());
    }
    let fix = suggest::instead_of(text, what[1], names.iter().copied());
    Err(Fault::new(format!("there is no {} {}", what[0], quoted(text)), fix))
}
