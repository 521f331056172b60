//! Finds control blocks, and puts together what stands of each in two places.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::{Address, LeftOut, MessageBlock, Rate, Station, StreamBlock, Value, ValueKind, below};
use crate::wire::Tag;

/// Priority of protection traffic where none is told.
const PRIORITY: u8 = 4;
/// Longest name that a frame has room for.
const NAME_OCTETS_MAX: usize = 129;
/// Most values of a message.
const VALUES_MAX: usize = 256;
/// Logical nodes whose `Pos` is the position of a switch.
const SWITCHES: [&str; 3] = ["XCBR", "XSWI", "CSWI"];

/// Device, access point, logical device and control block.
type Place<'a> = [&'a str; 4];

/// Everything that a file says of streams and messages.
pub(super) fn station(root: Node<'_, '_>) -> Station {
    let addresses = addresses(root);
    let mut station = Station::default();
    for device in below(root, "IED") {
        for access in below(device, "AccessPoint") {
            for logical in below(access, "Server").flat_map(|server| below(server, "LDevice")) {
                for node in below(logical, "LN0") {
                    let here = Here { device, access, logical, node, addresses: &addresses };
                    here.take(&mut station);
                }
            }
        }
    }
    station.left_out.sort();
    station
}

/// `GSE` and `SMV` elements by the block that they are of.
fn addresses<'a, 'i>(root: Node<'a, 'i>) -> BTreeMap<Place<'a>, Node<'a, 'i>> {
    let networks = below(root, "Communication").flat_map(|all| below(all, "SubNetwork"));
    let points = networks.flat_map(|network| below(network, "ConnectedAP"));
    let mut addresses = BTreeMap::new();
    for point in points {
        for block in below(point, "GSE").chain(below(point, "SMV")) {
            let place = [
                attribute(point, "iedName"),
                attribute(point, "apName"),
                attribute(block, "ldInst"),
                attribute(block, "cbName"),
            ];
            addresses.insert(place, block);
        }
    }
    addresses
}

/// A logical node that has control blocks.
struct Here<'a, 'i, 'b> {
    device: Node<'a, 'i>,
    access: Node<'a, 'i>,
    logical: Node<'a, 'i>,
    node: Node<'a, 'i>,
    addresses: &'b BTreeMap<Place<'a>, Node<'a, 'i>>,
}

impl<'a, 'i> Here<'a, 'i, '_> {
    fn take(&self, station: &mut Station) {
        for block in below(self.node, "SampledValueControl") {
            match self.stream(block) {
                Ok(stream) => station.streams.push(stream),
                Err(why) => station.left_out.push(self.left_out(block, why)),
            }
        }
        for block in below(self.node, "GSEControl") {
            match self.message(block) {
                Ok(message) => station.messages.push(message),
                Err(why) => station.left_out.push(self.left_out(block, why)),
            }
        }
    }

    fn left_out(&self, block: Node<'_, '_>, why: String) -> LeftOut {
        let line = block.document().text_pos_at(block.range().start).row;
        LeftOut { line, block: self.name(block), why }
    }

    /// One word for a block.
    fn name(&self, block: Node<'_, '_>) -> String {
        let parts = [(self.device, "name"), (self.logical, "inst"), (block, "name")];
        let word: Vec<String> =
            parts.iter().map(|(node, name)| as_word(attribute(*node, name))).collect();
        word.join("_")
    }

    /// The logical device as references have it.
    fn logical_device(&self) -> Result<String, String> {
        let name = match attribute(self.logical, "ldName") {
            "" => [attribute(self.device, "name"), attribute(self.logical, "inst")].concat(),
            name => name.to_owned(),
        };
        visible("the name of its logical device", &name)?;
        Ok(name)
    }

    fn stream(&self, block: Node<'a, 'i>) -> Result<StreamBlock, String> {
        let (address, _) = self.address(block, 0x4000..=0x7fff)?;
        let sv_id = match attribute(block, "smvID") {
            "" => format!("{}/LLN0$MS${}", self.logical_device()?, attribute(block, "name")),
            sv_id => sv_id.to_owned(),
        };
        visible("smvID", &sv_id)?;
        let rate = number("smpRate", attribute(block, "smpRate"))?;
        let rate = match attribute(block, "smpMod") {
            "" | "SmpPerPeriod" => Rate::PerPeriod(rate),
            "SmpPerSec" => Rate::PerSecond(rate),
            other => return Err(format!("smpMod is `{}`, which is not read", as_word(other))),
        };
        let conf_rev = number("confRev", attribute(block, "confRev"))?;
        Ok(StreamBlock { name: self.name(block), sv_id, address, rate, conf_rev })
    }

    fn message(&self, block: Node<'a, 'i>) -> Result<MessageBlock, String> {
        if attribute(block, "type") == "GSSE" {
            return Err("it is GSSE, which is not read".into());
        }
        let (address, place) = self.address(block, 0..=0xbfff)?;
        let logical = self.logical_device()?;
        let reference = format!("{logical}/LLN0$GO${}", attribute(block, "name"));
        visible("its reference", &reference)?;
        let set = attribute(block, "datSet");
        let data_set = format!("{logical}/LLN0${set}");
        visible("the reference of its data set", &data_set)?;
        let go_id = match attribute(block, "appID") {
            "" => reference.clone(),
            go_id => go_id.to_owned(),
        };
        visible("appID", &go_id)?;
        let conf_rev = match number("confRev", attribute(block, "confRev"))? {
            0 => return Err("confRev is 0, which means that it is not in use".into()),
            conf_rev => conf_rev,
        };
        let repeat_ms = ["MinTime", "MaxTime"].map(|name| milliseconds(place, name));
        let device = attribute(self.device, "name").to_owned();
        let (name, values) = (self.name(block), self.values(set)?);
        Ok(MessageBlock {
            device,
            name,
            reference,
            data_set,
            go_id,
            address,
            conf_rev,
            repeat_ms,
            values,
        })
    }

    /// Where a block sends to, and the element that says so.
    fn address(
        &self,
        block: Node<'a, 'i>,
        app_ids: std::ops::RangeInclusive<u32>,
    ) -> Result<(Address, Node<'a, 'i>), String> {
        let place = [
            attribute(self.device, "name"),
            attribute(self.access, "name"),
            attribute(self.logical, "inst"),
            attribute(block, "name"),
        ];
        let found = self.addresses.get(&place).copied();
        let found = found.ok_or("no address of it stands below `Communication`")?;
        let parameter = |name: &str| {
            let mut parameters = below(found, "Address").flat_map(|address| below(address, "P"));
            let wanted = parameters.find(|parameter| attribute(*parameter, "type") == name);
            wanted.and_then(|parameter| parameter.text()).unwrap_or_default().trim()
        };
        let destination = parameter("MAC-Address").parse::<crate::wire::MacAddress>().ok();
        let destination = destination
            .filter(|address| address.is_group())
            .ok_or("its MAC-Address is no multicast address")?;
        let hexadecimal = |name: &str| u32::from_str_radix(parameter(name), 16).ok();
        let app_id = hexadecimal("APPID").filter(|app_id| app_ids.contains(app_id));
        let app_id = app_id.ok_or("its APPID is not within the range of its kind")? as u16;
        let vlan = match parameter("VLAN-ID") {
            "" => 0,
            _ => hexadecimal("VLAN-ID").filter(|vlan| *vlan < 4095).ok_or("its VLAN-ID is none")?,
        };
        let priority = match parameter("VLAN-PRIORITY") {
            "" => PRIORITY,
            text => text.parse().ok().filter(|p| *p < 8).ok_or("its VLAN-PRIORITY is none")?,
        };
        Ok((Address { destination, app_id, tag: Tag::new(priority, vlan as u16) }, found))
    }

    fn values(&self, set: &str) -> Result<Vec<Value>, String> {
        let mut sets = below(self.node, "DataSet");
        let found = sets.find(|each| attribute(*each, "name") == set);
        let found = found.ok_or_else(|| format!("its data set `{}` is not there", as_word(set)))?;
        let values: Vec<Value> = below(found, "FCDA").map(value).collect();
        match values.len() {
            0 => Err("its data set is empty".into()),
            1..=VALUES_MAX => Ok(values),
            many => Err(format!("its data set has {many} values, more than {VALUES_MAX}")),
        }
    }
}

fn value(member: Node<'_, '_>) -> Value {
    let class = attribute(member, "lnClass");
    let [object, part] = ["doName", "daName"].map(|name| attribute(member, name));
    let node = [attribute(member, "prefix"), class, attribute(member, "lnInst")].concat();
    let kind = match part {
        "stVal" if SWITCHES.contains(&class) && object == "Pos" => ValueKind::Position,
        "q" => ValueKind::Quality,
        _ => ValueKind::Other,
    };
    let parts = [node.as_str(), object, part].map(as_word);
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Value { path: parts.join("."), kind }
}

/// A whole number of milliseconds, where one is told.
fn milliseconds(place: Node<'_, '_>, name: &'static str) -> Option<u32> {
    let element = below(place, name).next()?;
    let is_ms =
        matches!(attribute(element, "unit"), "s" | "") && attribute(element, "multiplier") == "m";
    element.text().filter(|_| is_ms)?.trim().parse().ok()
}

fn attribute<'a>(node: Node<'a, '_>, name: &str) -> &'a str {
    node.attribute(name).unwrap_or_default()
}

fn number(what: &str, text: &str) -> Result<u32, String> {
    text.trim().parse().map_err(|_| format!("{what} is no whole number"))
}

/// Refuses what cannot stand in a frame.
fn visible(what: &str, text: &str) -> Result<(), String> {
    let is_visible = text.bytes().all(|octet| matches!(octet, 0x20..=0x7e));
    if is_visible && (1..=NAME_OCTETS_MAX).contains(&text.len()) {
        return Ok(());
    }
    Err(format!("{what} has not 1 to {NAME_OCTETS_MAX} printable ASCII characters"))
}

/// A text as part of a word of settings: whatever is no letter, digit or dot becomes a dash.
fn as_word(text: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    text.chars().take(NAME_OCTETS_MAX).map(|c| if fits(c) { c } else { '-' }).collect()
}
