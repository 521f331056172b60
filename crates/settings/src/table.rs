//! Tables of keys: what may stand at a key, what holds without it, and what it means.
//!
//! One table for three uses, so that they cannot drift apart: the reader refuses keys that are
//! not in it and takes defaults from it, and the JSON Schema and the reference page are drawn
//! from it. What no table can say (cross references, files) is checked by the readers.

use super::names::Names;
use super::problems::{Fault, listed, quoted};
use super::suggest;
use super::units::{self, Dimension};

/// The keys of one kind of mapping.
#[derive(Debug)]
pub struct Table {
    /// What the mapping describes, with its article.
    pub what: &'static str,
    /// Name in the schema, and the heading in the reference.
    pub name: &'static str,
    /// Keys that it may have, in the order of the reference page.
    pub keys: &'static [Key],
}

/// Mappings of several forms. The first key of each form's table distinguishes it: the key is
/// there in this form only, or the form is chosen by its word.
#[derive(Debug)]
pub struct Forms {
    /// What the forms are, in the plural.
    pub what: &'static str,
    /// What one mapping of any form is.
    pub item: &'static str,
    pub forms: &'static [&'static Table],
}

/// One key of a mapping.
#[derive(Debug)]
pub struct Key {
    pub name: &'static str,
    pub shape: Shape,
    pub need: Need,
    /// What it means: the end of a sentence that the key begins.
    pub meaning: &'static str,
}

/// What holds when a key is not given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Need {
    Required,
    /// Nothing; the meaning says so.
    Optional,
    /// This text, as if it had been written.
    Default(&'static str),
}

/// What stands at a key.
#[derive(Debug)]
pub enum Shape {
    /// Any text, taken as written.
    Text,
    /// A name that follows the rule of its kind.
    Name(Names),
    Time,
    /// Bits per second with the unit.
    Rate,
    /// A value in the unit of what it is compared with.
    Quantity,
    /// A value of a dimension from the smallest to the largest, each in the base unit.
    Within(Dimension, f64, f64),
    /// A text that the reader's crate knows how to read.
    Written(&'static Syntax),
    /// A whole number within limits, decimal or hexadecimal.
    Whole {
        min: u64,
        max: u64,
    },
    /// A time dilation factor.
    Factor,
    /// A part of a whole, from 0 to less than 1.
    Share,
    /// When programs are frozen.
    Freeze,
    /// A moment of UTC.
    Instant,
    Point,
    /// A path, relative to the folder of the scenario.
    File,
    /// An IPv4 address and its prefix length.
    Address,
    Choice(&'static [&'static str]),
    /// A list of words, or a text that is split as a shell splits it.
    Words,
    List(&'static Shape),
    /// One of these, or a list of one or more.
    Several(&'static Shape),
    /// A list of exactly two of these.
    Pair(&'static Shape),
    /// A mapping from names that the user gives.
    Named(Names, &'static Shape),
    Of(&'static Table),
    OneOf(&'static Forms),
    /// Keys in which a mapping of one of these forms differs from one at another place, or `off`.
    Changes(&'static Forms),
}

/// What stands in place of a mapping with the keys that differ, where there is no such thing at all.
pub(crate) const OFF: &str = "off";

/// A kind of text with a syntax of its own.
#[derive(Debug)]
pub struct Syntax {
    /// What it is, with its article, and how it may be written.
    pub what: &'static str,
    /// Refuses what is no such text.
    pub check: fn(&str) -> Result<(), Fault>,
}

/// A key of a table, on one line.
pub const fn key(name: &'static str, shape: Shape, need: Need, meaning: &'static str) -> Key {
    Key { name, shape, need, meaning }
}

use Shape::{
    Address, Changes, Choice, Factor, File, Freeze, Instant, List, Name, Named, Of, OneOf, Pair,
    Point, Quantity, Rate, Several, Share, Text, Time, Whole, Within, Words, Written,
};

impl Table {
    /// The key of this name.
    pub fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name)
    }

    /// Names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let keys: &'static [Key] = self.keys;
        keys.iter().map(|key| key.name)
    }

    /// Keys that must be given.
    pub fn required(&self) -> impl Iterator<Item = &'static Key> + use<> {
        let keys: &'static [Key] = self.keys;
        keys.iter().filter(|key| key.need == Need::Required)
    }

    /// This table and all that it names, each once.
    pub fn reachable(&'static self) -> Vec<&'static Self> {
        let mut found = vec![self];
        let mut at = 0;
        while let Some(&table) = found.get(at) {
            for below in table.keys.iter().flat_map(|key| key.shape.tables()) {
                if !found.iter().any(|known| std::ptr::eq(*known, below)) {
                    found.push(below);
                }
            }
            at += 1;
        }
        found
    }

    /// The key that distinguishes this form from others.
    pub fn tag(&self) -> &'static str {
        self.keys[0].name
    }
}

impl Forms {
    /// The one key whose word chooses the form, if there is such a key.
    pub fn chosen_by(&self) -> Option<&'static Key> {
        let key = &self.forms[0].keys[0];
        self.forms[1..].iter().all(|form| form.tag() == key.name).then_some(key)
    }

    /// The words, or the keys, by which forms are chosen.
    pub fn tags(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let (forms, by_word) = (self.forms, self.chosen_by().is_some());
        forms.iter().map(move |form| if by_word { form.name } else { form.tag() })
    }
}

impl Shape {
    /// Refuses a scalar that is not of this shape, as far as tables can say.
    ///
    /// # Errors
    /// What is wrong with the text, and the fix.
    pub fn check(&self, text: &str) -> Result<(), Fault> {
        match self {
            Within(..) => self.quantity()(text).map(drop),
            Whole { min, max } => units::whole(text, *min, *max).map(drop),
            Choice(words) => choice(text, words).map(drop),
            Written(syntax) => (syntax.check)(text),
            _ => Ok(()),
        }
    }

    /// Tables that it names itself.
    fn tables(&self) -> Vec<&'static Table> {
        match self {
            List(item) | Several(item) | Pair(item) | Named(_, item) => item.tables(),
            Of(table) => vec![table],
            OneOf(forms) | Changes(forms) => forms.forms.to_vec(),
            _ => Vec::new(),
        }
    }

    /// The parser of a quantity.
    pub(crate) fn quantity(&self) -> impl Fn(&str) -> Result<f64, Fault> + use<> {
        let Within(dimension, min, max) = *self else { unreachable!("{self:?} is no quantity") };
        move |text| units::quantity(text, dimension, min, max)
    }

    /// What stands there, with its article, and how it may be written.
    pub fn what(&self) -> String {
        match self {
            Text => "a text".into(),
            Name(_) => "a name".into(),
            Time => "a time, such as `12 ms`".into(),
            Rate => "a rate, such as `100 Mbit/s`".into(),
            Quantity => "a value with its unit, such as `300 kW`".into(),
            Whole { .. } => "a whole number".into(),
            Within(dimension, ..) => {
                format!("a {}, such as {}", dimension.name(), dimension.example("12"))
            }
            Written(syntax) => syntax.what.into(),
            Several(item) => format!("{}, or a list of such", item.what()),
            Factor => "a number, such as `0.5`".into(),
            Share => "a share from 0 to less than 1, such as `0.001`".into(),
            Freeze => "`off`, `strict` or a time, such as `5 ms`".into(),
            Instant => "a UTC time, such as `2019-06-03T12:00:00Z`".into(),
            Point => "a point name, such as `bus.680.v1`".into(),
            File => "a path".into(),
            Address => "an address, such as `10.0.0.4/24`".into(),
            Choice(words) => listed(words.iter().copied(), " or "),
            Words => "a list of words, or text that is split like a shell command".into(),
            List(_) => "a list".into(),
            Pair(_) => "a list of two names, such as `[a, b]`".into(),
            Named(..) => "a mapping, such as `name: ...`".into(),
            Of(table) => {
                let names: Vec<&str> = table.names().collect();
                format!("a mapping with the keys {}", names.join(", "))
            }
            Changes(forms) => {
                format!("`{OFF}`, or a mapping with the keys of this {} that differ", forms.item)
            }
            OneOf(forms) => {
                let tags: Vec<&str> = forms.tags().collect();
                match forms.chosen_by() {
                    Some(key) => format!("a mapping with `{}`: {}", key.name, tags.join(", ")),
                    None => format!("a mapping with one of the keys {}", tags.join(", ")),
                }
            }
        }
    }
}

/// The one of these words that the text is.
///
/// # Errors
/// When the text is none of them.
pub fn choice(text: &str, words: &[&'static str]) -> Result<&'static str, Fault> {
    words.iter().find(|word| **word == text).copied().ok_or_else(|| {
        let what = format!("{} is not one of the allowed words", quoted(text));
        Fault::new(what, suggest::instead_of(text, "words", words.iter().copied()))
    })
}
