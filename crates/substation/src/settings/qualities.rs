//! Whose quality a value of a message is. `quality` is that of the value before it, `quality of 1 3`
//! that of the first and the third value: devices differ in where they put qualities, and one can be
//! that of several values.

use ::settings::Fault;
use ::settings::cursor::{Mapping, Place, Placed};
use ::settings::problems::quoted;

const OF: &str = "quality of ";

/// A value of a message as it is written.
pub(super) struct Written<'a> {
    /// Nothing where something else than a text stands, which is reported.
    text: Option<Placed<'a, String>>,
}

impl<'a> Written<'a> {
    /// The values below a key, in their order.
    pub(super) fn all(map: &Mapping<'a>, key: &str) -> Vec<Self> {
        let items = map.items(key);
        let text = |item: &::settings::cursor::Cursor<'a>| item.parse(|text| Ok(text.to_owned()));
        items.iter().map(|item| Self { text: text(item) }).collect()
    }

    pub(super) fn is_quality(&self) -> bool {
        let text = self.text.as_ref().map(|text| text.value.as_str());
        text.is_some_and(|text| text == "quality" || text.starts_with(OF))
    }

    /// What `parser` makes of it.
    pub(super) fn parse<T>(&self, parser: impl FnOnce(&str) -> Result<T, Fault>) -> Option<T> {
        let Placed { value, place } = self.text.as_ref()?;
        Some(Place::clone(place).parse(value, parser)?.value)
    }
}

/// Numbers, from 0, of the values whose quality the one at `index` is, which is a quality.
///
/// # Errors
/// When one of them is not there or is a quality itself.
pub(super) fn guarded(text: &str, index: usize, all: &[Written<'_>]) -> Result<Vec<usize>, Fault> {
    let Some(numbers) = text.strip_prefix(OF) else {
        let before = index.checked_sub(1).filter(|before| !all[*before].is_quality());
        return before.map(|before| vec![before]).ok_or_else(|| {
            let fix = "write it after the value whose quality it is, or name that by its number: \
                       `quality of 2`";
            Fault::new("there is no value before this `quality`", fix)
        });
    };
    let number = |text: &str| {
        let index = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let index = index.filter(|index| all.get(*index).is_some_and(|value| !value.is_quality()));
        index.ok_or_else(|| {
            let fix = format!(
                "give numbers of values, from 1 to {} and separated by spaces: `quality of 1 2`",
                all.len()
            );
            Fault::new(format!("{} is not the number of a value", quoted(text)), fix)
        })
    };
    let numbers = numbers.split_whitespace().map(number).collect::<Result<Vec<_>, _>>()?;
    if numbers.is_empty() {
        return Err(Fault::new("no value is named", "write such as `quality of 1 2`"));
    }
    Ok(numbers)
}
