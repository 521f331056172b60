//! The reference page of `scenario.yaml`, drawn from the table of keys. The examples of its
//! sections put together are a scenario, which a test reads.

use std::fmt::Write as _;

use super::told::Statistic;
use crate::keys::{
    BUS, COMPUTE, EVENTS, FLOW, HOST, LINK, MEASURES, NODE, PLANT, POINT_FILE, PORT_FLOW, PROFILE,
    PROGRAM, RECORD, REQUIREMENT, SCENARIO, VARIANT,
};
use serde_json::Value;
use settings::reference::{write_forms, write_table};
use settings::table::Shape;

const INTRODUCTION: &str = "\
# scenario.yaml

A scenario is one YAML file in a folder with its data and programs. The whole file is checked before anything starts, and all errors are reported at once, each as `file:line:column: key: what is wrong; the fix`. What only the plant's engine knows, such as whether a point exists, is checked last, when nothing else is wrong. `qcycle run --dry-run SCENARIO` does only these checks: it compiles the circuit, checks that every point exists, and starts nothing. Scenario time is zero when the plant's recorded data begin, after \
`settle`.

This page and [the JSON Schema](scenario.schema.json) are generated from the same table as the parser. Editors with a YAML language server use the schema after a first line such as
`# yaml-language-server: $schema=../../docs/reference/scenario.schema.json`.

## How values are written

| Type | Written as |
|---|---|
| time | a decimal number and `ns`, `us`, `ms`, `s`, `min` or `h`: `12 ms`; exact to the nanosecond, at most ten years |
| rate | a decimal number and `bit/s`, `kbit/s`, `Mbit/s` or `Gbit/s`; whole bits per second |
| value | a decimal number with a unit of the same dimension as the point or measure: `V`, `kV`; `W`, `kW`, `MW`; `kvar`; a time; plain numbers for counts and points without a known unit |
| point | `bus.<name>.v1` to `v3` (phase-to-neutral volts) and `va1` to `va3` (their angles in degrees); `<class>.<name>.i1` to `i3` (amperes into the first terminal of an element) and `ia1` to `ia3`; `<class>.<name>.closed` (1, or 0 when the first terminal is open; it can be set); or `<class>.<name>.<property>` such as `load.d611.kW`; integer properties (`regcontrol.reg1.tapnum`, `load.d611.model`) take whole numbers, and yes and no (`load.d611.enabled`) are 1 and 0; properties that are words or lists cannot be points; names are case-insensitive |
| name | letters, digits and `-` (programs: `_` and `.` too); at most 15 on the network (Linux's limit for interfaces), else 64 |
| path | relative to the folder of the scenario |
| words | a list, or text that is split like a POSIX shell command; nothing is expanded |

Aliases, tags and further documents are rejected. A mapping without required keys may be left empty (`name:`).

The examples below form one scenario.
";

struct Section {
    heading: &'static str,
    text: &'static str,
    example: &'static str,
    /// What stands at which path of the section.
    tables: &'static [(&'static str, Shape)],
}

static SECTIONS: [Section; 8] = [
    Section {
        heading: "The top of the file",
        text: "",
        example: "\
scenario: feeder
description: A controller follows the wind.
duration: 30 s
settle: 2 s
seed: 7
tdf: 0.5
pace: skip
kernel_timers: late
order: together
freeze: 5 ms
stall_guard: 1 ms
capture: all
start: 2019-06-03T12:00:00Z
",
        tables: &[("", Shape::Of(&SCENARIO))],
    },
    Section {
        heading: "plant",
        text: "Times in profiles must increase and cells must be finite numbers; both are checked \
               before the run. A row applies until the next.",
        example: "\
plant:
  engine: opendss
  circuit: feeder.dss
  step: 1 ms
  unconverged_share: 0.001
  profiles:
    - {file: wind.csv, time: t_s, columns: {kw: generator.wind.kW}}
  record:
    every: 10 ms
    points: [bus.680.v1, storage.es.kW]
",
        tables: &[
            ("", Shape::Of(&PLANT)),
            ("plant.profiles", Shape::Of(&PROFILE)),
            ("plant.record", Shape::Of(&RECORD)),
        ],
    },
    Section {
        heading: "hosts",
        text: "A mapping from the name of a host to how it is reached. All have one virtual time: a node sees \
               the same, at the same times, wherever it is. A host that ssh reaches needs no installation: \
               `qcycle` is copied there, runs while the run goes on, and is removed. It must have the same kind \
               of processor and the programs of its nodes, and ssh must not ask for a password. Hosts connect to \
               each other by TCP, encrypted, the later in the file to the earlier, and this machine to all; \
               frames on a link between two hosts must take 100 ns or more. Switches and attackers are where their \
               shortest links lead. Measured in [several hosts](../internals/hosts.md).",
        example: "\
sync: granted
hosts:
  bench-a:
    ssh: lab@192.0.2.11
    port: 22
    identity: keys/lab
    config: ssh_config
    folder: /run
    address: 10.1.0.11
    directory: /opt/feeder
    bus:
      chip: pinctrl-bcm2711
      output: 17
      input: 27
      input_released: 22
      active: low
      drive: open-drain
      debounce: 20 us
      through: module
    on_loss: go-on
  desk: {}
",
        tables: &[("", Shape::Of(&HOST)), ("hosts.*.bus", Shape::Of(&BUS))],
    },
    Section {
        heading: "nodes",
        text: "A mapping from the name of a node to:",
        example: "\
nodes:
  sensor:
    kind: process
    host: bench-a
    address: 10.0.0.4/24
    files:
      - {point: generator.wind.kW, access: read, latency: 1 ms}
    programs:
      - {name: sensor, run: sh sensor.sh --port 5020}
  controller:
    host: desk
    address: 10.0.0.1/24
    compute: {per_wakeup: 50 us, per_processor_time: 8}
    files:
      - {point: storage.es.kW, access: write}
    programs:
      - name: controller
        run: [sh, controller.sh, --sensor, 10.0.0.4]
        environment: {VERBOSE: 1}
        on_exit: ignore
",
        tables: &[
            ("", Shape::Of(&NODE)),
            ("nodes.*.compute", Shape::Of(&COMPUTE)),
            ("nodes.*.files", Shape::Of(&POINT_FILE)),
            ("nodes.*.programs", Shape::Of(&PROGRAM)),
        ],
    },
    Section {
        heading: "switches, attackers, links",
        text: "`switches` and `attackers` are lists of names. Links have the same properties in \
               both directions. There is no spanning tree protocol, so switches must not form a \
               loop, and there is no router, so all nodes are in one subnet.",
        example: "\
switches: [s1]
attackers: [mallory]
links:
  - {from: sensor, to: s1, delay: 2 ms, rate: 100 Mbit/s, queue: 100, loss: 0.001}
  - {from: controller, to: s1, delay: 500 us}
  - {from: mallory, to: s1}
",
        tables: &[("links", Shape::Of(&LINK))],
    },
    Section {
        heading: "events",
        text: "A list; each event has one of the forms below and must be before the end of the run.",
        example: "\
events:
  - {at: 5 s, set: load.d692.kW, value: 300 kW}
  - {at: 12 s, link: [sensor, s1], state: down}
  - {at: 12.5 s, link: [sensor, s1], state: up}
",
        tables: &[("", Shape::OneOf(&EVENTS))],
    },
    Section {
        heading: "requirements",
        text: "A list. Points that are measured must be recorded. Windows are `[from, to)` in \
               scenario time; without `from` or `to` they are open. If a run is shortened on the \
               command line, events at or after its end are left out; requirements remain.",
        example: "\
requirements:
  - name: the voltage stays high
    measure: {minimum: bus.680.v1, from: 1 s}
    at_least: 2.37 kV
  - name: the voltage stays low enough
    measure: {maximum: bus.680.v1}
    at_most: 2415 V
  - name: the storage begins to charge
    measure: {first_below: storage.es.kW, value: 0 kW}
    at_least: 5 s
    at_most: 8 s
  - name: the storage ends charging
    measure: {last_below: storage.es.kW, value: 0 kW, from: 8 s, to: 20 s}
    at_most: 12.5 s
  - name: the storage is not driven to and fro
    measure: {changes: storage.es.kW}
    at_most: 250
  - name: the controller polls
    measure: {longest_gap: {from: controller, to: sensor, port: 5020}, to: 12 s}
    at_most: 130 ms
    disturbed_above: 20 ms
    depends_on: [controller, sensor]
  - name: the controller answers in time
    measure: {told: answer_us, by: controller, statistic: p99.9}
    at_most: 4.167 ms
  - name: no answer is late
    measure: {told: answer_us, by: controller, statistic: count, above: 10 ms}
    at_most: 0
",
        tables: &[
            ("", Shape::Of(&REQUIREMENT)),
            ("measure", Shape::OneOf(&MEASURES)),
            ("received", Shape::Of(&FLOW)),
            ("longest_gap", Shape::Of(&PORT_FLOW)),
        ],
    },
    Section {
        heading: "variants",
        text: "A mapping from the name of a variant to what it adds:",
        example: "\
variants:
  normal:
  attack:
    events:
      - {at: 20 s, attack: arp-poison, by: mallory, between: [sensor, controller]}
    requirements:
      - name: the controller hears nothing
        measure: {received: {from: sensor, to: controller}, from: 21 s}
        at_most: 0
",
        tables: &[("", Shape::Of(&VARIANT))],
    },
];

/// The JSON Schema of `scenario.yaml`.
#[must_use]
pub fn schema() -> Value {
    settings::schema::schema(&SCENARIO, "Quartercycle scenario")
}

/// The page, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for section in &SECTIONS {
        let _ = write!(page, "\n## {}\n\n", section.heading);
        if !section.text.is_empty() {
            let _ = write!(page, "{}\n\n", section.text);
        }
        let _ = write!(page, "```yaml\n{}```\n", section.example);
        for (path, tables) in section.tables {
            if !path.is_empty() {
                let _ = write!(page, "\n### {path}\n");
            }
            match tables {
                Shape::Of(table) => write_table(&mut page, table),
                Shape::OneOf(forms) => write_forms(&mut page, forms),
                other => unreachable!("{other:?} has no keys"),
            }
        }
        if section.heading == "requirements" {
            page.push_str(&lines_needed());
        }
    }
    page
}

/// How many lines each statistic of reported numbers needs.
fn lines_needed() -> String {
    let mut text = String::from(
        "\n### told: lines that a statistic needs\n\n\
         A percentile of few values is unreliable: even the largest of them may be below the true \
         percentile. With fewer lines in the window than listed here, a requirement is not \
         measured.\n\n\
         | `statistic` | Lines |\n|---|---:|\n",
    );
    for name in Statistic::NAMES {
        let needed = Statistic::named(name).map_or(1, Statistic::lines_needed);
        let _ = writeln!(text, "| `{name}` | {needed} |");
    }
    text
}

/// The examples of the page, put together.
#[must_use]
pub fn example() -> String {
    SECTIONS.iter().map(|section| section.example).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Options, read};
    use settings::document::{self, Content, Value};
    use settings::problems::Collector;
    use settings::table::Table;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;
    use std::path::Path;

    /// The example as JSON, which is YAML too.
    fn json(value: &Value) -> serde_json::Value {
        match &value.content {
            Content::Empty => serde_json::Value::Null,
            Content::Text(text) => text.as_str().into(),
            Content::List(items) => items.iter().map(json).collect(),
            Content::Mapping(entries) => {
                entries.iter().map(|(key, value)| (key.text.clone(), json(value))).collect()
            }
        }
    }

    /// Pointers (RFC 6901) to all texts below a value, and all keys.
    fn walk(
        value: &serde_json::Value,
        pointer: &str,
        pointers: &mut Vec<String>,
        keys: &mut BTreeSet<String>,
    ) {
        match value {
            serde_json::Value::String(_) => pointers.push(pointer.to_owned()),
            serde_json::Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{pointer}/{index}"), pointers, keys);
                }
            }
            serde_json::Value::Object(entries) => {
                for (key, value) in entries {
                    keys.insert(key.clone());
                    walk(value, &format!("{pointer}/{key}"), pointers, keys);
                }
            }
            _ => (),
        }
    }

    /// A key in the table that no reader asks for would be accepted and have no effect.
    #[test]
    fn every_value_of_the_example_is_read() {
        let collector = Collector::new(Path::new("example"));
        let example = json(&document::parse(&example(), &SCENARIO, &collector).unwrap());
        let (mut pointers, mut keys) = (Vec::new(), BTreeSet::new());
        walk(&example, "", &mut pointers, &mut keys);

        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("feeder.dss"), "new circuit.feeder\n").unwrap();
        fs::write(folder.path().join("wind.csv"), "t_s,kw\n0,2000\n1,2010\n").unwrap();
        for pointer in pointers {
            let mut damaged = example.clone();
            *damaged.pointer_mut(&pointer).unwrap() = serde_json::json!({"a": []});
            fs::write(folder.path().join("scenario.yaml"), damaged.to_string()).unwrap();
            let options = Options { variant: Some("attack".into()), ..Options::default() };
            let problems = read(folder.path(), &options).expect_err(&pointer);
            let normal = |text: &str| text.replace(['[', '/'], ".").replace([']', '`'], "");
            let path = normal(&pointer[1..]);
            let found = problems.iter().any(|problem| normal(&problem.key).starts_with(&path));
            assert!(found, "{path}:\n{problems}");
        }
        for table in SECTIONS.iter().flat_map(|section| section.tables) {
            let tables = match &table.1 {
                Shape::Of(table) => std::slice::from_ref(table),
                Shape::OneOf(forms) => forms.forms,
                other => panic!("{other:?} has no keys"),
            };
            for key in tables.iter().flat_map(|table| table.names()) {
                assert!(keys.contains(key), "no example shows `{key}`");
            }
        }
    }

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
}
