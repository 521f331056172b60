//! The schema has the keys that the reader knows.

use std::collections::BTreeMap;

use settings::table::{Shape, Table};

use crate::keys::SCENARIO;
use crate::schema;

/// All tables that can be reached from one, by name.
fn collect(table: &'static Table, tables: &mut BTreeMap<&'static str, &'static Table>) {
    if let Some(other) = tables.insert(table.name, table) {
        assert!(std::ptr::eq(other, table), "two tables are called {}", table.name);
        return;
    }
    table.keys.iter().for_each(|key| collect_shape(&key.shape, tables));
}

fn collect_shape(shape: &'static Shape, tables: &mut BTreeMap<&'static str, &'static Table>) {
    match shape {
        Shape::List(inner) | Shape::Pair(inner) | Shape::Named(_, inner) => {
            collect_shape(inner, tables);
        }
        Shape::Of(table) => collect(table, tables),
        Shape::OneOf(forms) => forms.forms.iter().for_each(|form| collect(form, tables)),
        _ => (),
    }
}

#[test]
fn the_properties_of_the_schema_are_the_keys_that_the_reader_knows() {
    let mut tables = BTreeMap::new();
    collect(&SCENARIO, &mut tables);
    let schema = schema();
    assert_eq!(schema["$defs"].as_object().unwrap().len(), tables.len() - 1);
    for (name, table) in tables {
        let definition = if name == "scenario" { &schema } else { &schema["$defs"][name] };
        let properties = definition["properties"].as_object().unwrap();
        let mut keys: Vec<&str> = table.names().collect();
        keys.sort_unstable();
        let mut properties: Vec<&str> = properties.keys().map(String::as_str).collect();
        properties.sort_unstable();
        assert_eq!(properties, keys, "{name}");
    }
}
