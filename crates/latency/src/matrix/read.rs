//! Reads matrices as scenarios are read: every problem is reported at once, as file, line, column,
//! key, what is wrong, and the way out. What stands below `platforms` and `profiles` is read by
//! [`platforms`] and [`profiles`].

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::keys::TOP;
use super::values::time_positive;
use super::{Matrix, PlatformSpec, platforms, profiles};
use crate::profile::Profile;
use settings::cursor::{Cursor, Mapping};
use settings::problems::{Problems, quoted};
use settings::{names, suggest, units};

/// Largest file that is read.
const OCTETS_MAX: u64 = 1 << 20;

/// Reads the matrix in a file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read(file: &Path) -> Result<Matrix, Problems> {
    let unreadable = |error: std::io::Error| {
        let what = format!("the matrix cannot be read ({error})");
        Problems::of_file(file, what, "give the path of a matrix")
    };
    let mut octets = Vec::new();
    let opened = File::open(file).map_err(unreadable)?;
    opened.take(OCTETS_MAX + 1).read_to_end(&mut octets).map_err(unreadable)?;
    if octets.len() as u64 > OCTETS_MAX {
        let what = format!("the file has more than {OCTETS_MAX} octets");
        return Err(Problems::of_file(file, what, "a matrix must be shorter"));
    }
    let text = String::from_utf8(octets)
        .map_err(|_| Problems::of_file(file, "it is not UTF-8", "save the file as UTF-8"))?;
    read_text(&text, file)
}

/// Reads a matrix from a text; `file` is where it is from, in the words of problems, and paths in
/// it are relative to the folder of that.
///
/// # Errors
/// Everything that is wrong with it.
pub fn read_text(text: &str, file: &Path) -> Result<Matrix, Problems> {
    let folder = file.parent().unwrap_or(Path::new(""));
    settings::cursor::read(file, text, &TOP, |top| matrix(top, folder))
}

fn matrix(top: &Mapping<'_>, folder: &Path) -> Option<Matrix> {
    let name = top.parse("matrix", names::in_paths);
    let description = top.text("description");
    let duration_ns = top.parse("duration", time_positive);
    let settle_ns =
        top.parse("settle", |text| Ok(units::time_not_negative(text)?.as_ns().unsigned_abs()));
    let built_in = platforms::built_in();
    let platforms = top
        .named("platforms")
        .iter()
        .map(|(name, cursor)| platforms::platform(name, cursor, &built_in, folder))
        .collect::<Vec<Option<PlatformSpec>>>();
    let built_in = profiles::built_in();
    let profiles = top
        .named("profiles")
        .iter()
        .map(|(name, cursor)| profiles::profile(name, cursor, &built_in))
        .collect::<Vec<Option<Profile>>>();
    for (key, count) in [("platforms", platforms.len()), ("profiles", profiles.len())] {
        if let Some(cursor) = top.cursor(key).filter(|_| count == 0) {
            cursor.place.wrong("there is nothing to measure", format!("add some {key}"));
        }
    }
    let limits: Vec<_> = top
        .named("limits")
        .iter()
        .filter_map(|(name, cursor)| {
            Some((name.value.to_owned(), cursor.parse(time_positive)?.value))
        })
        .collect();
    let platforms: Option<Vec<PlatformSpec>> = platforms.into_iter().collect();
    let profiles: Option<Vec<Profile>> = profiles.into_iter().collect();
    let skip = top
        .items("skip")
        .iter()
        .filter_map(|cursor| skip(cursor, platforms.as_deref()?, profiles.as_deref()?))
        .collect();
    let matrix = Matrix {
        name: name?.value,
        description: description?.value,
        duration_ns: duration_ns?.value,
        settle_ns: settle_ns?.value,
        platforms: platforms?,
        profiles: profiles?,
        skip,
        limits,
    };
    check_lengths(top, &matrix);
    Some(matrix)
}

/// A cell has one sample at least.
fn check_lengths(top: &Mapping<'_>, matrix: &Matrix) {
    for profile in &matrix.profiles {
        let duration_ns = profile.duration_ns.unwrap_or(matrix.duration_ns);
        if duration_ns < profile.plan.period_ns {
            let what = format!("profile {} has a period longer than its duration", profile.name);
            top.place.wrong(what, "give a longer `duration`");
        }
    }
}

fn skip(
    cursor: &Cursor<'_>,
    platforms: &[PlatformSpec],
    profiles: &[Profile],
) -> Option<(String, String)> {
    let mapping = cursor.mapping()?;
    let one_of = |key: &str, what: &str, names: Vec<&str>| {
        let found = mapping.text(key)?;
        if names.contains(&found.value.as_str()) {
            return Some(found.value);
        }
        let fix = suggest::instead_of(&found.value, what, names);
        found.place.wrong(format!("{} is not in this matrix", quoted(&found.value)), fix);
        None
    };
    let names = platforms.iter().map(|platform| platform.name.as_str()).collect();
    let platform = one_of("platform", "platforms", names);
    let names = profiles.iter().map(|profile| profile.name.as_str()).collect();
    Some((platform?, one_of("profile", "profiles", names)?))
}
