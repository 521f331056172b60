//! Values that several parts of a matrix have: cores, times, names and words.

use std::str::FromStr;

use crate::profile::CoreChoice;
use settings::cursor::{Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::{names, suggest, units};

/// Cores: one of these words, or a list.
pub(super) fn cores(keys: &Mapping<'_>, words: &[&'static str]) -> Option<CoreChoice> {
    let allowed = || format!("write `{}`, or cores as `1` or `0-2,5`", words.join("`, `"));
    let read = keys.parse("cores", |text| {
        let choice = match text {
            "all" => CoreChoice::All,
            "half" => CoreChoice::Half,
            "probe" => CoreChoice::Probe,
            "others" => CoreChoice::Others,
            _ => {
                let cores = text.parse().map_err(|error: anyhow::Error| {
                    let instead = suggest::nearest(text, words.iter().copied());
                    let fix = instead.map(|word| format!("did you mean `{word}`?"));
                    Fault::new(error.to_string(), fix.unwrap_or_else(allowed))
                })?;
                return Ok(CoreChoice::These(cores));
            }
        };
        if words.contains(&text) {
            return Ok(choice);
        }
        Err(Fault::new(format!("{} has no meaning here", quoted(text)), allowed()))
    });
    Some(read?.value)
}

/// A word that stands for a variant: the tables of keys take their words from the variants.
pub(super) fn chosen<T: FromStr>(keys: &Mapping<'_>, key: &str) -> Option<T> {
    keys.choice(key)?.value.parse().ok()
}

/// Of SCHED_FIFO; 0 stands for an ordinary thread.
pub(super) fn priority(keys: &Mapping<'_>, key: &str) -> Option<Option<i32>> {
    let priority = i32::try_from(keys.whole(key)?.value).ok()?;
    Some((priority > 0).then_some(priority))
}

pub(super) fn yes(keys: &Mapping<'_>, key: &str) -> Option<bool> {
    Some(keys.choice(key)?.value == "yes")
}

pub(super) fn time_positive(text: &str) -> Result<u64, Fault> {
    Ok(units::time_positive(text)?.as_ns().unsigned_abs())
}

pub(super) fn check_name(name: &Placed<'_, &str>) {
    if let Err(fault) = names::in_paths(name.value) {
        name.place.report(fault);
    }
}
