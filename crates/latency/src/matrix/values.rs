//! Values that several parts of a matrix have: cores, times and names.

use crate::profile::CoreChoice;
use settings::cursor::{Mapping, Placed};
use settings::problems::{Fault, quoted};
use settings::{names, suggest, units};

/// Cores: one of these words, or a list.
pub(super) fn cores(keys: &Mapping<'_>, words: &[&'static str]) -> Option<CoreChoice> {
    let read = keys.parse("cores", |text| {
        let choice = match text {
            "all" => CoreChoice::All,
            "half" => CoreChoice::Half,
            "probe" => CoreChoice::Probe,
            "others" => CoreChoice::Others,
            _ => {
                let cores = text.parse().map_err(|error: anyhow::Error| {
                    let instead = suggest::nearest(text, words.iter().copied());
                    let fix = match instead {
                        Some(word) => format!("did you mean `{word}`?"),
                        None => {
                            format!("write `{}`, or cores as `1` or `0-2,5`", words.join("`, `"))
                        }
                    };
                    Fault::new(error.to_string(), fix)
                })?;
                return Ok(CoreChoice::These(cores));
            }
        };
        if words.contains(&text) {
            return Ok(choice);
        }
        let what = format!("{} has no meaning here", quoted(text));
        Err(Fault::new(what, format!("write `{}`, or cores as `1` or `0-2,5`", words.join("`, `"))))
    });
    Some(read?.value)
}

pub(super) fn time_positive(text: &str) -> Result<u64, Fault> {
    Ok(ns(units::time_positive(text)?.as_ns()))
}

pub(super) fn ns(ns: i64) -> u64 {
    ns.unsigned_abs()
}

pub(super) fn check_name(name: &Placed<'_, &str>) {
    if let Err(fault) = names::in_paths(name.value) {
        name.place.report(fault);
    }
}
