//! Reads what stands below `profiles`: a name alone means a built-in one, and `like` takes the
//! values of one for the keys that are not given.

use std::path::Path;

use probe::WiredLines;

use super::keys::ALL_BUILT_IN;
use super::values::{check_name, chosen, cores, priority, time_positive, yes};
use crate::profile::{Load, Neighbours, Profile};
use settings::cursor::{Cursor, Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::table::Shape;
use settings::{suggest, words};

/// A period shorter than this is over before a wake-up is; cyclictest stops there too.
const PERIOD_NS_MIN: u64 = 10_000;

/// The built-in profiles, in the order in which they are listed.
pub fn built_in() -> Vec<Profile> {
    let text = include_str!("profiles.yaml");
    let whole = settings::cursor::read(Path::new("profiles.yaml"), text, &ALL_BUILT_IN, |top| {
        let mut profiles: Vec<Profile> = Vec::new();
        for (name, cursor) in top.named("profiles") {
            profiles.push(profile(&name, &cursor, &profiles)?);
        }
        Some(profiles)
    });
    whole.expect("the built-in profiles are right, which a test reads")
}

/// Reads one profile. Where there is no `like`, the values of the table hold for what is not given.
pub(super) fn profile(
    name: &Placed<'_, &str>,
    cursor: &Cursor<'_>,
    built_in: &[Profile],
) -> Option<Profile> {
    check_name(name);
    let find = |wanted: &str| built_in.iter().find(|profile| profile.name == wanted);
    let names = || built_in.iter().map(|profile| profile.name.as_str());
    if cursor.is_empty() {
        let found = find(name.value).cloned();
        if found.is_none() {
            let what = format!("{} is not a built-in profile", quoted(name.value));
            let fix = suggest::instead_of(name.value, "built-in profiles", names());
            name.place.wrong(what, format!("{fix}; or describe it under its name"));
        }
        return found;
    }
    let keys = cursor.mapping()?;
    let base = keys.text("like").and_then(|like| {
        let found = find(&like.value);
        if found.is_none() {
            let what = format!("{} is not a built-in profile", quoted(&like.value));
            like.place.wrong(what, suggest::instead_of(&like.value, "built-in profiles", names()));
        }
        found
    });
    let mut profile = Profile { name: name.value.to_owned(), ..base.cloned().unwrap_or_default() };
    let mut reader = Inherited { keys: &keys, has_base: base.is_some(), is_complete: true };
    let plan = &mut profile.plan;
    reader.read("description", &mut profile.description, text);
    reader.read("source", &mut profile.source, text);
    reader.read("probe", &mut plan.probe, chosen);
    reader.read("priority", &mut plan.priority, priority);
    reader.read("period", &mut plan.period_ns, |keys, key| Some(keys.parse(key, period)?.value));
    reader.read("cores", &mut profile.cores, |keys, _| cores(keys, &["all", "half"]));
    let pinned = |keys: &Mapping<'_>, key: &str| Some(keys.choice(key)?.value == "pinned");
    reader.read("affinity", &mut plan.pinned, pinned);
    reader.read("lock_memory", &mut plan.lock_memory, yes);
    reader.read("hold_awake", &mut plan.hold_awake, yes);
    reader.read("stall_meter", &mut plan.stall_meter, yes);
    reader.read("split", &mut plan.split, yes);
    reader.read("gpio", &mut plan.gpio, |keys, key| optional(keys, key, wired));
    reader.read("loads", &mut profile.loads, |keys, _| loads(keys));
    reader.read("neighbours", &mut profile.neighbours, |keys, key| optional(keys, key, neighbours));
    let duration = |keys: &Mapping<'_>, key: &str| Some(keys.parse(key, time_positive).map(value));
    reader.read("duration", &mut profile.duration_ns, duration);
    reader.is_complete.then_some(profile)
}

/// Keys of a profile over those of the one that it is like.
struct Inherited<'a> {
    keys: &'a Mapping<'a>,
    has_base: bool,
    /// Whether all that was read could be.
    is_complete: bool,
}

impl Inherited<'_> {
    /// Reads the value of a key, or its default; what the base has stays where the key is not given.
    fn read<T>(
        &mut self,
        key: &str,
        to: &mut T,
        read: impl FnOnce(&Mapping<'_>, &str) -> Option<T>,
    ) {
        if self.has_base && !self.keys.has(key) {
            return;
        }
        match read(self.keys, key) {
            Some(value) => *to = value,
            None => self.is_complete = false,
        }
    }
}

fn value<T>(placed: Placed<'_, T>) -> T {
    placed.value
}

fn text(keys: &Mapping<'_>, key: &str) -> Option<String> {
    keys.text(key).map(value)
}

/// A mapping that may be left out.
fn optional<T>(
    keys: &Mapping<'_>,
    key: &str,
    read: impl FnOnce(&Mapping<'_>) -> Option<T>,
) -> Option<Option<T>> {
    keys.mapping(key).map_or(Some(None), |keys| read(&keys).map(Some))
}

fn wired(keys: &Mapping<'_>) -> Option<WiredLines> {
    let line = |key| u32::try_from(keys.whole(key)?.value).ok();
    let (chip, output, input) = (text(keys, "chip"), line("output"), line("input"));
    Some(WiredLines { chip: chip?, output: output?, input: input? })
}

fn neighbours(keys: &Mapping<'_>) -> Option<Neighbours> {
    let count = keys.whole("count").and_then(|count| usize::try_from(count.value).ok());
    Some(Neighbours { count: count?, loads: loads(keys)? })
}

fn loads(keys: &Mapping<'_>) -> Option<Vec<Load>> {
    // All are read before one that is wrong ends it, so that each mistake is reported.
    let loads: Vec<Option<Load>> = keys.items("loads").iter().map(load).collect();
    loads.into_iter().collect()
}

fn load(cursor: &Cursor<'_>) -> Option<Load> {
    let keys = cursor.mapping()?;
    let run = keys.cursor("run").and_then(|cursor| {
        let words = if cursor.is_list() {
            list(&cursor)
        } else {
            cursor.parse(words::split).map(|words| words.value)
        };
        let words = words?;
        if words.first().is_none_or(String::is_empty) {
            cursor.place.wrong("no program is given", "write the program and its arguments");
            return None;
        }
        Some(words)
    });
    let cores = cores(&keys, &["all", "probe", "others"]);
    let package = keys.text("package");
    let words = run?;
    let package = package.map(|package| package.value).filter(|package| !package.is_empty());
    let package = package.unwrap_or_else(|| words[0].clone());
    Some(Load { cores: cores?, package, words })
}

fn list(cursor: &Cursor<'_>) -> Option<Vec<String>> {
    static TEXT: Shape = Shape::Text;
    static LIST: Shape = Shape::List(&TEXT);
    let items = cursor.as_shape(&LIST).items()?;
    items.iter().map(|item| Some(item.parse(|text| Ok(text.to_owned()))?.value)).collect()
}

fn period(text: &str) -> Result<u64, Fault> {
    let period_ns = time_positive(text)?;
    if period_ns < PERIOD_NS_MIN {
        let what = format!("{} is shorter than a wake-up takes", quoted(text));
        return Err(Fault::new(what, "give `10 us` or more"));
    }
    Ok(period_ns)
}
