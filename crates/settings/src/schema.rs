//! The JSON Schema (draft 2020-12) of a file, for editors that complete and underline.
//!
//! It is drawn from the table of keys and says what a table can say; cross references, files
//! and limits of quantities are for the reader. What the reader takes as written (a number as
//! a text) the schema takes too.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::names::Names;
use super::table::{Key, Need, OFF, Shape, Table};
use super::units::Dimension::{Current, Power, Rate, ReactivePower, Time, Voltage};
use super::units::{self, Dimension};

/// A number without its unit, as the reader takes it.
const NUMBER: &str = r"-?[0-9]+(\.[0-9]+)?";

/// The schema of a file at whose top this table stands.
///
/// # Panics
/// Never: the table is defined before it is taken.
#[must_use]
pub fn schema(of: &'static Table, title: &str) -> Value {
    let mut definitions = BTreeMap::new();
    define(of, &mut definitions);
    let mut top = definitions.remove(of.name).expect("it was defined first");
    top["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    top["title"] = json!(title);
    top["$defs"] = json!(definitions);
    top
}

/// Adds the schema of a table and of all it names.
fn define(table: &'static Table, definitions: &mut BTreeMap<&'static str, Value>) {
    if definitions.contains_key(table.name) {
        return;
    }
    // Its place is taken first, since a table may be named again by what it names.
    definitions.insert(table.name, Value::Null);
    let properties: Map<String, Value> =
        table.keys.iter().map(|key| (key.name.to_owned(), property(key, definitions))).collect();
    let required: Vec<&str> = table.required().map(|key| key.name).collect();
    let definition = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    definitions.insert(table.name, definition);
}

fn property(key: &'static Key, definitions: &mut BTreeMap<&'static str, Value>) -> Value {
    let mut property = of_shape(&key.shape, definitions);
    property["description"] = json!(key.meaning);
    if let Need::Default(text) = key.need {
        let number: Option<Value> = match key.shape {
            Shape::Whole { .. } | Shape::Factor | Shape::Share => serde_json::from_str(text).ok(),
            _ => None,
        };
        property["default"] = number.unwrap_or_else(|| json!(text));
    }
    property
}

fn of_shape(shape: &'static Shape, definitions: &mut BTreeMap<&'static str, Value>) -> Value {
    match shape {
        Shape::Text | Shape::Written(_) => json!({"type": ["string", "number", "boolean"]}),
        Shape::Name(names) => name(*names),
        Shape::File => json!({"type": "string"}),
        Shape::Time => quantity(&[Time]),
        Shape::Rate => quantity(&[Rate]),
        Shape::Quantity => {
            let with_unit = quantity(&[Time, Voltage, Power, ReactivePower, Current]);
            json!({"anyOf": [with_unit, {"type": "number"}]})
        }
        Shape::Within(Dimension::Number, min, max) => {
            json!({"type": "number", "minimum": min, "maximum": max})
        }
        Shape::Within(dimension, ..) => quantity(&[*dimension]),
        Shape::Whole { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Factor => json!({"type": "number", "minimum": 0.01, "maximum": 1000}),
        Shape::Share => json!({"type": "number", "minimum": 0, "exclusiveMaximum": 1}),
        Shape::Freeze => {
            json!({"type": "string", "pattern": r"^(off|strict|[0-9]+\s*(us|ms|s))$"})
        }
        Shape::Instant => {
            let pattern =
                "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]{1,9})?Z$";
            json!({"type": "string", "pattern": pattern})
        }
        Shape::Point => point(),
        Shape::Address => {
            let octet = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";
            let prefix = "(30|[12][0-9]|[1-9])";
            json!({"type": "string", "pattern": format!("^({octet}\\.){{3}}{octet}/{prefix}$")})
        }
        Shape::Choice(words) => json!({"enum": words}),
        Shape::Words => {
            let word = of_shape(&Shape::Text, definitions);
            json!({"anyOf": [{"type": "string"}, {"type": "array", "items": word, "minItems": 1}]})
        }
        Shape::Several(item) => {
            let item = of_shape(item, definitions);
            json!({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})
        }
        Shape::List(item) => json!({"type": "array", "items": of_shape(item, definitions)}),
        Shape::Pair(item) => {
            let item = of_shape(item, definitions);
            json!({"type": "array", "items": item, "minItems": 2, "maxItems": 2})
        }
        Shape::Named(names, value) => {
            let value = of_shape(value, definitions);
            let mut named = json!({"type": "object", "additionalProperties": value});
            if let Some(pattern) = names.pattern() {
                named["propertyNames"] = json!({"pattern": pattern});
            }
            named
        }
        Shape::Of(table) => {
            define(table, definitions);
            let reference = refer(table);
            // The reader takes nothing at all for a mapping that needs no key.
            match table.required().next() {
                Some(_) => reference,
                None => json!({"anyOf": [reference, {"type": "null"}]}),
            }
        }
        Shape::OneOf(forms) => {
            forms.forms.iter().for_each(|form| define(form, definitions));
            let forms: Vec<Value> = forms.forms.iter().map(|form| refer(form)).collect();
            json!({"oneOf": forms})
        }
        Shape::Changes(forms) => {
            let changes = forms.forms.iter().map(|form| changes(form, definitions));
            let mut either = vec![json!({"const": OFF})];
            either.extend(changes);
            json!({"anyOf": either})
        }
    }
}

/// Some keys of a form but the one that tells its word; one without a value takes it away.
fn changes(form: &'static Table, definitions: &mut BTreeMap<&'static str, Value>) -> Value {
    let mut property = |key: &'static Key| {
        let value = property(key, definitions);
        (key.name.to_owned(), json!({"anyOf": [value, {"type": "null"}]}))
    };
    let properties: Map<String, Value> = form.keys[1..].iter().map(&mut property).collect();
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn refer(table: &Table) -> Value {
    json!({"$ref": format!("#/$defs/{}", table.name)})
}

fn quantity(dimensions: &[Dimension]) -> Value {
    let units = units::names_of(dimensions).join("|");
    json!({"type": "string", "pattern": format!("^{NUMBER}\\s*({units})$")})
}

/// A name; editors see one of digits only, and `yes`, as what YAML takes them for.
fn name(names: Names) -> Value {
    match names.pattern() {
        None => json!({"type": ["string", "number", "boolean"]}),
        Some(pattern) => {
            json!({"type": ["string", "integer", "boolean"], "pattern": pattern, "minimum": 0})
        }
    }
}

/// A name of a point, as the reader takes it: of a bus only voltages are points.
fn point() -> Value {
    json!({
        "type": "string",
        "pattern": r"^%?[A-Za-z][A-Za-z0-9_]*\.[A-Za-z0-9_-]+\.%?[A-Za-z][A-Za-z0-9_]*$",
        "if": {"pattern": r"^[Bb][Uu][Ss]\."},
        "then": {"pattern": r"\.[Vv][Aa]?[1-3]$"},
    })
}
