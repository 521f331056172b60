//! Reads `events`: what happens to the testbed at which time.

use super::check::World;
use super::model::{Event, Happening, Mention};
use super::network::Part;
use super::plant;
use ::network::plan;
use ::plant::name;
use settings::cursor::{Cursor, Mapping, Placed};
use settings::units;

/// The events of a list, in its order. Points that they set are added to `mentions`.
pub(super) fn read(
    cursors: &[Cursor<'_>],
    world: &World<'_>,
    mentions: &mut Vec<Mention>,
) -> Vec<Event> {
    let forms = cursors.iter().filter_map(Cursor::form);
    forms.filter_map(|form| read_event(&form, world, mentions)).collect()
}

fn read_event(
    event: &Mapping<'_>,
    world: &World<'_>,
    mentions: &mut Vec<Mention>,
) -> Option<Event> {
    let at = event.parse("at", units::time_not_negative);
    if let (Some(at), Some(duration)) = (&at, world.duration)
        && at.value >= duration
    {
        let what = format!("{} is not before the end of the run at {duration}", at.value);
        at.place.wrong(what, "move it earlier, or increase `duration`");
    }
    let what = match event.table.tag() {
        "attack" => attack(event, world),
        "set" => set(event, world, mentions),
        _ => link(event, world),
    };
    Some(Event { at: at?.value, what: what? })
}

fn attack(event: &Mapping<'_>, world: &World<'_>) -> Option<Happening> {
    event.choice("attack");
    let attacker = event.text("by");
    let victims = names_of_pair(event, "between");
    let attacker = attacker.filter(|name| world.expect(name, Part::Attacker));
    let [one, other] = victims?;
    let are_nodes = world.expect_connected_nodes([&one, &other]);
    let attacker = attacker?;
    if are_nodes {
        world.expect_path(&attacker, &one);
    }
    let victims = [one.value, other.value];
    Some(Happening::Network(plan::EventKind::ArpPoison { attacker: attacker.value, victims }))
}

fn set(event: &Mapping<'_>, world: &World<'_>, mentions: &mut Vec<Mention>) -> Option<Happening> {
    let point = event.parse("set", name::point)?;
    world.expect_plant(&point);
    plant::refuse_results(&point);
    let value = event.parse("value", |text| units::value(text, point.value.unit()))?;
    mentions.push(Mention {
        point: point.value.clone(),
        spot: point.place.spot(),
        written: true,
        value: Some((value.value, value.place.spot())),
    });
    Some(Happening::Set { point: point.value, value: value.value })
}

fn link(event: &Mapping<'_>, world: &World<'_>) -> Option<Happening> {
    let state = event.choice("state");
    let [one, other] = names_of_pair(event, "link")?;
    let link = world.expect_link([&one, &other])?;
    let (from, to) = (link.from.clone(), link.to.clone());
    Some(Happening::Network(plan::EventKind::Link { from, to, up: state?.value == "up" }))
}

fn names_of_pair<'a>(event: &Mapping<'a>, key: &str) -> Option<[Placed<'a, String>; 2]> {
    let names = event.cursor(key)?.pair()?.map(|end| end.parse(|name| Ok(name.to_owned())));
    let [one, other] = names;
    Some([one?, other?])
}
