//! Finds control blocks, and puts together what stands of each in two places.
//!
//! The file may come from anybody, so the work grows with the file and no faster: what many blocks
//! refer to is looked through once, names that no device can have are not compared, and lines are
//! counted once for all blocks that are left out.

use std::collections::BTreeMap;

use roxmltree::Node;

use super::{Address, LeftOut, MessageBlock, Rate, Station, StreamBlock, Value, ValueKind, below};
use crate::wire::{MacAddress, Tag};

/// Priority of protection traffic where none is given.
const PRIORITY: u8 = 4;
/// Longest name that a frame has room for.
const NAME_OCTETS_MAX: usize = 129;
const TOO_LONG: &str = "its name, or that of a parent, is longer than fits into a frame";
/// Most values of a message.
const VALUES_MAX: usize = 256;
/// Most parts of the name of an attribute in a data object; IEC 61850-7-3 has none with more than four.
const DEPTH_MAX: usize = 8;
/// Logical nodes whose `Pos` is the position of a switch.
const SWITCHES: [&str; 3] = ["XCBR", "XSWI", "CSWI"];

/// Device, access point, logical device and control block.
type Place<'a> = [&'a str; 4];

/// What was found so far.
#[derive(Default)]
struct Found {
    streams: Vec<StreamBlock>,
    messages: Vec<MessageBlock>,
    /// Where each block stands that was left out, its name, and why.
    left_out: Vec<(usize, String, String)>,
}

/// Everything that a file says of streams and messages.
pub(super) fn station(root: Node<'_, '_>) -> Station {
    let addresses = addresses(root);
    let mut found = Found::default();
    for device in below(root, "IED") {
        for access in below(device, "AccessPoint") {
            for logical in below(access, "Server").flat_map(|server| below(server, "LDevice")) {
                for node in below(logical, "LN0") {
                    let sets = data_sets(node);
                    let here = Here { device, access, logical, node, addresses: &addresses, sets };
                    here.take(&mut found);
                }
            }
        }
    }
    let Found { streams, messages, left_out } = found;
    let left_out = with_lines(root.document().input_text(), left_out);
    Station { streams, messages, left_out }
}

/// Puts lines to places in a text, in their order.
fn with_lines(text: &str, mut found: Vec<(usize, String, String)>) -> Vec<LeftOut> {
    found.sort();
    let (mut line, mut until) = (1, 0);
    let named = found.into_iter().map(|(at, block, why)| {
        line += text.as_bytes()[until..at].iter().filter(|octet| **octet == b'\n').count();
        until = at;
        LeftOut { line: u32::try_from(line).unwrap_or(u32::MAX), block, why }
    });
    named.collect()
}

/// What an element says of where a block sends to.
#[derive(Clone, Default)]
struct Parameters<'a> {
    /// MAC-Address, APPID, VLAN-ID and VLAN-PRIORITY.
    address: [Option<&'a str>; 4],
    repeat_ms: [Option<u32>; 2],
}

const ADDRESS: [&str; 4] = ["MAC-Address", "APPID", "VLAN-ID", "VLAN-PRIORITY"];
const REPEAT: [&str; 2] = ["MinTime", "MaxTime"];

impl<'a> Parameters<'a> {
    /// Of a `GSE` or `SMV` element; what stands there twice counts as it stands first.
    fn of(block: Node<'a, '_>) -> Self {
        let mut address = [None; 4];
        for parameter in below(block, "Address").flat_map(|address| below(address, "P")) {
            let kind = attribute(parameter, "type");
            if let Some(index) = ADDRESS.iter().position(|name| *name == kind) {
                let text = parameter.text().unwrap_or_default().trim();
                address[index] = address[index].or(Some(text));
            }
        }
        Self { address, repeat_ms: REPEAT.map(|name| milliseconds(block, name)) }
    }
}

/// What `GSE` and `SMV` elements say, by the block that they are of.
fn addresses<'a>(root: Node<'a, '_>) -> BTreeMap<Place<'a>, Parameters<'a>> {
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
            if place.iter().all(|name| name.len() <= NAME_OCTETS_MAX) {
                addresses.insert(place, Parameters::of(block));
            }
        }
    }
    addresses
}

/// The data sets of a logical node by name, and how many values each has; the first of a name.
fn data_sets<'a, 'i>(node: Node<'a, 'i>) -> BTreeMap<&'a str, (Node<'a, 'i>, usize)> {
    let mut sets = BTreeMap::new();
    for set in below(node, "DataSet") {
        sets.entry(attribute(set, "name")).or_insert_with(|| (set, below(set, "FCDA").count()));
    }
    sets
}

/// A logical node that has control blocks.
struct Here<'a, 'i, 'b> {
    device: Node<'a, 'i>,
    access: Node<'a, 'i>,
    logical: Node<'a, 'i>,
    node: Node<'a, 'i>,
    addresses: &'b BTreeMap<Place<'a>, Parameters<'a>>,
    sets: BTreeMap<&'a str, (Node<'a, 'i>, usize)>,
}

impl<'a, 'i> Here<'a, 'i, '_> {
    fn take(&self, to: &mut Found) {
        for block in below(self.node, "SampledValueControl") {
            match self.stream(block) {
                Ok(stream) => to.streams.push(stream),
                Err(why) => to.left_out.push((block.range().start, self.name(block), why)),
            }
        }
        for block in below(self.node, "GSEControl") {
            match self.message(block) {
                Ok(message) => to.messages.push(message),
                Err(why) => to.left_out.push((block.range().start, self.name(block), why)),
            }
        }
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
            long if long.len() > NAME_OCTETS_MAX => return Err(TOO_LONG.into()),
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
            other => return Err(format!("smpMod is `{}`, which is not supported", as_word(other))),
        };
        let conf_rev = number("confRev", attribute(block, "confRev"))?;
        Ok(StreamBlock { name: self.name(block), sv_id, address, rate, conf_rev })
    }

    fn message(&self, block: Node<'a, 'i>) -> Result<MessageBlock, String> {
        if attribute(block, "type") == "GSSE" {
            return Err("it is GSSE, which is not supported".into());
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
        Ok(MessageBlock {
            device: attribute(self.device, "name").to_owned(),
            name: self.name(block),
            reference,
            data_set,
            go_id,
            address,
            conf_rev,
            repeat_ms: place.repeat_ms,
            values: self.values(set)?,
        })
    }

    /// Where a block sends to, and the element that says so.
    fn address(
        &self,
        block: Node<'a, 'i>,
        app_ids: std::ops::RangeInclusive<u32>,
    ) -> Result<(Address, &Parameters<'a>), String> {
        let place = [
            attribute(self.device, "name"),
            attribute(self.access, "name"),
            attribute(self.logical, "inst"),
            attribute(block, "name"),
        ];
        if place.iter().any(|name| name.len() > NAME_OCTETS_MAX) {
            return Err(TOO_LONG.into());
        }
        let found = self.addresses.get(&place);
        let found = found.ok_or("it has no address under `Communication`")?;
        let [mac, app_id, vlan, priority] = found.address.map(Option::unwrap_or_default);
        let destination = mac.parse::<MacAddress>().ok();
        let destination = destination
            .filter(|address| address.is_group())
            .ok_or("its MAC-Address is not a multicast address")?;
        let hexadecimal = |text: &str| u32::from_str_radix(text, 16).ok();
        let app_id = hexadecimal(app_id).filter(|app_id| app_ids.contains(app_id));
        let app_id = app_id.ok_or("its APPID is not within the range of its kind")? as u16;
        let vlan = match vlan {
            "" => 0,
            text => {
                hexadecimal(text).filter(|vlan| *vlan < 4095).ok_or("its VLAN-ID is not valid")?
            }
        };
        let priority = match priority {
            "" => PRIORITY,
            text => text.parse().ok().filter(|p| *p < 8).ok_or("its VLAN-PRIORITY is not valid")?,
        };
        Ok((Address { destination, app_id, tag: Tag::new(priority, vlan as u16) }, found))
    }

    /// The logical device of a member of a data set: that of the data set where none is named.
    fn device_of(&self, member: Node<'a, 'i>) -> &'a str {
        match attribute(member, "ldInst") {
            "" => attribute(self.logical, "inst"),
            device => device,
        }
    }

    /// Leads qualities to their values. Devices differ in where they put a quality, and one can be
    /// that of several values or of none, so the data object alone tells which belong together.
    fn pair(&self, members: &[Node<'a, 'i>], values: &mut [Value]) {
        let names = |member: Node<'a, 'i>| {
            let [prefix, class, instance, object, part] =
                ["prefix", "lnClass", "lnInst", "doName", "daName"]
                    .map(|name| attribute(member, name));
            [self.device_of(member), prefix, class, instance, object, part]
        };
        let node = |names: [&'a str; 6]| [names[0], names[1], names[2], names[3]];
        let is_short = |names: &[&str; 6]| names.iter().all(|name| name.len() <= NAME_OCTETS_MAX);
        let all: Vec<[&str; 6]> = members.iter().map(|member| names(*member)).collect();
        let mut qualities = BTreeMap::new();
        for (index, names) in all.iter().enumerate().filter(|(_, names)| is_short(names)) {
            if let Some(object) = quality_of(names[4], names[5]) {
                qualities.entry((node(*names), object)).or_insert(index);
            }
        }
        for (index, names) in all.iter().enumerate().filter(|(_, names)| is_short(names)) {
            let is_quality = matches!(values[index].kind, ValueKind::Quality(_));
            if is_quality || names[5].rsplit('.').next() == Some("t") {
                continue;
            }
            // The innermost data object that has a quality here.
            let mut place = (node(*names), [names[4], names[5]].join("."));
            for _ in 0..DEPTH_MAX {
                let Some(end) = place.1.rfind('.') else { break };
                place.1.truncate(end);
                if let Some(quality) = qualities.get(&place) {
                    if let ValueKind::Quality(of) = &mut values[*quality].kind {
                        of.push(index);
                    }
                    break;
                }
            }
        }
    }

    fn values(&self, set: &str) -> Result<Vec<Value>, String> {
        let found = self.sets.get(set);
        let (found, count) =
            found.ok_or_else(|| format!("its data set `{}` does not exist", as_word(set)))?;
        match *count {
            0 => Err("its data set is empty".into()),
            1..=VALUES_MAX => {
                let members: Vec<Node<'_, '_>> = below(*found, "FCDA").collect();
                let mut values: Vec<Value> =
                    members.iter().map(|member| value(*member, self.device_of(*member))).collect();
                self.pair(&members, &mut values);
                Ok(values)
            }
            many => Err(format!("its data set has {many} values, more than {VALUES_MAX}")),
        }
    }
}

/// The data object that an attribute is the quality of. Part of its name may stand with that of the
/// attribute: `A` and `phsA.q` as well as `A.phsA` and `q`.
fn quality_of(object: &str, part: &str) -> Option<String> {
    let inner = part.strip_suffix('q')?;
    match inner.strip_suffix('.') {
        Some(inner) => Some(format!("{object}.{inner}")),
        None => inner.is_empty().then(|| object.to_owned()),
    }
}

fn value(member: Node<'_, '_>, device: &str) -> Value {
    let class = attribute(member, "lnClass");
    let [object, part] = ["doName", "daName"].map(|name| attribute(member, name));
    let node = [attribute(member, "prefix"), class, attribute(member, "lnInst")].concat();
    let kind = match part {
        "stVal" if SWITCHES.contains(&class) && object == "Pos" => ValueKind::Position,
        _ if quality_of(object, part).is_some() => ValueKind::Quality(Vec::new()),
        _ => ValueKind::Other,
    };
    let parts = [device, &node, object, part].map(as_word);
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Value { path: parts.join("."), kind }
}

/// A whole number of milliseconds, where one is given.
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
    text.trim().parse().map_err(|_| format!("{what} is not a whole number"))
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
