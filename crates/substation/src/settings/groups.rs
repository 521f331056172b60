//! Reads `groups`: other sets of settings of the same elements, of which one is active at a time
//! (SGCB, IEC 61850-7-2).
//!
//! Group 1 is `elements`; another one says in what it differs. It is read as a whole, with the ranges
//! and cross checks of a first one, those between elements included. What an element is and what it
//! looks at is the same in all groups.
//! So are elements that keep what values of now no longer show, a fuse that has blown, a swing, a
//! breaker that was told to open: with new settings they would begin at rest, and forget it.

use std::collections::BTreeMap;

use ::settings::cursor::{Cursor, Mapping};
use ::settings::names::Names::Foreign;
use ::settings::table::{Key, Need, Shape, Table, key};

use super::elements::{self, ELEMENT, logic};
use super::model::{Element, Groups};
use super::names::Names;
use super::texts::{is_name, known};

/// What a group may be called; most relays have 4 to 8.
pub(super) const NUMBERS: Shape = Shape::Whole { min: 1, max: 8 };

/// Functions whose settings are the same in all groups.
const SAME: [&str; 10] = [
    "breaker_failure",
    "breaker_supervision",
    "ct_supervision",
    "fuse_failure",
    "pole_discordance",
    "power_swing",
    "reclosing",
    "switch_onto_fault",
    "teleprotection",
    "thermal",
];

const fn group(name: &'static str, meaning: &'static str) -> Key {
    const CHANGES: Shape = Shape::Changes(&ELEMENT);
    key(name, Shape::Named(Foreign, &CHANGES), Need::Optional, meaning)
}

pub(super) static GROUPS: Table = Table {
    what: "setting groups",
    name: "groups",
    keys: &[
        group("2", "elements that differ from `elements`, by name"),
        group("3", "the same of group 3"),
        group("4", "the same of group 4"),
        group("5", "the same of group 5"),
        group("6", "the same of group 6"),
        group("7", "the same of group 7"),
        group("8", "the same of group 8"),
    ],
};

/// Groups of a relay whose `elements` were read.
pub(super) fn read(
    top: &Mapping<'_>,
    names: &Names<'_>,
    first: &BTreeMap<String, Element>,
) -> Option<Groups> {
    let map = top.mapping_or_empty("groups")?;
    let bases = top.named("elements");
    let base = |name: &str| bases.iter().find(|(base, _)| base.value == name).map(|(_, at)| at);
    let mut others = Vec::new();
    for (index, number) in GROUPS.names().enumerate() {
        if !map.has(number) {
            continue;
        }
        if index != others.len() {
            let before = index + 1;
            let what = format!("there is no group {before}");
            map.wrong(number, what, "number groups without a gap");
        }
        let mut group = BTreeMap::new();
        for (name, cursor) in map.named(number) {
            let Some(base) = base(name.value) else {
                let unknown = known(name.value, ["element", "elements"], &names.elements);
                unknown.err().into_iter().for_each(|fault| name.place.report(fault));
                continue;
            };
            // What is wrong with it in group 1 is reported there.
            if let Some(element) = first.get(name.value)
                && let Some(other) = one(&cursor, base, names)
                && other.as_ref() != Some(element)
            {
                logic::check_change(&cursor, name.value, other.as_ref(), first);
                group.insert(name.value.to_owned(), other);
            }
        }
        others.push(group);
    }
    let active = top.whole("active_group")?.value as u8;
    let groups = Groups { others, active };
    if active > groups.count() {
        let fix = format!("the groups are 1 to {}", groups.count());
        top.wrong("active_group", format!("there is no group {active}"), fix);
    }
    Some(groups)
}

/// An element in another group, off or with all its settings.
fn one(cursor: &Cursor<'_>, base: &Cursor<'_>, names: &Names<'_>) -> Option<Option<Element>> {
    let table = base.form()?.table;
    if SAME.contains(&table.name) {
        let what = format!("{} keeps what settings of another group would forget", table.what);
        cursor.place.wrong(what, "leave it out: it is the same in all groups");
        return None;
    }
    if cursor.is_off() {
        return Some(None);
    }
    let fixed = |name: &str| table.find(name).is_some_and(|key| is_name(&key.shape));
    for (_, place) in cursor.keys().filter(|(name, _)| fixed(name)) {
        place.wrong("this is the same in all groups", "leave it out, or add another element");
    }
    cursor.over(base, |map| elements::element(map, names)).map(Some)
}
