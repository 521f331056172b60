//! The reference pages of settings are those of the readers: their examples are read, and their
//! tables of keys are drawn from the tables of the readers, again with `QCYCLE_BLESS=1` in the
//! environment. The schemas are those of the same tables.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use settings::reference::fill;
use settings::table::Table;
use substation::settings::merging_unit::{self, MERGING_UNIT};
use substation::settings::quorum::{self, BREAKER_NODE, REJUVENATOR, RELAY_NODE};
use substation::settings::{self as relay, RELAY};

use crate::support::running::run;
use crate::support::{has, not_measured};

const QCRELAY: &str = env!("CARGO_BIN_EXE_qcrelay");

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> PathBuf {
    repository().join("docs/reference").join(name)
}

fn examples(name: &str) -> Vec<String> {
    examples_of(&page(name))
}

fn examples_of(page: &Path) -> Vec<String> {
    let page = fs::read_to_string(page).expect("it is there");
    let blocks = page.split("```yaml\n").skip(1);
    blocks.map(|block| block.split_once("```").expect("it ends").0.to_owned()).collect()
}

#[test]
fn the_examples_are_read() {
    let relay = relay::read("relay.yaml", &examples("relay.md")[0]).expect("the example is good");
    assert_eq!(relay.subscriptions["breaker"].entries.len(), 4);
    assert_eq!(relay.subscriptions["neighbour"].entries.len(), 4);
    assert_eq!(relay.host.task.core, Some(3));
    assert_eq!(relay.protection.groups.count(), 2);
    let reclosing = relay::read("relay.yaml", &examples("../relay.md")[1]).expect("it is good");
    assert_eq!(reclosing.protection.trips.single_pole["Q0"], ["Z1"]);
    let unit = merging_unit::read("unit.yaml", &examples("merging-unit.md")[0]);
    let unit = unit.unwrap_or_else(|p| panic!("{p}"));
    assert_eq!((unit.sources.len(), unit.streams.len(), unit.disturbances.len()), (4, 1, 1));
    assert!(unit.breaker.is_some());
    let [node, breaker, rejuvenation] = &examples("quorum.md")[..] else { panic!("three") };
    quorum::read_node("a.yaml", node).expect("a node");
    quorum::read_breaker("a.yaml", breaker).expect("a breaker node");
    quorum::read_rejuvenation("a.yaml", rejuvenation).expect("a rejuvenator");
}

#[test]
fn each_key_is_on_its_page_as_its_table_has_it() {
    let of_relay = RELAY.reachable();
    let quorum = [&RELAY_NODE, &BREAKER_NODE, &REJUVENATOR];
    for (name, tops, elsewhere) in [
        ("relay.md", &[&RELAY][..], &[][..]),
        ("merging-unit.md", &[&MERGING_UNIT], &[]),
        ("quorum.md", &quorum, &of_relay),
    ] {
        let mut tables: Vec<&'static Table> = Vec::new();
        for table in tops.iter().flat_map(|top| top.reachable()) {
            let known = tables.iter().chain(elsewhere);
            if !known.copied().any(|known| std::ptr::eq(known, table)) {
                tables.push(table);
            }
        }
        let written = fs::read_to_string(page(name)).expect("it is there");
        let filled = fill(&written, &tables).unwrap_or_else(|why| panic!("{name}: {why}"));
        if std::env::var_os("QCYCLE_BLESS").is_some_and(|value| value == "1") {
            fs::write(page(name), &filled).expect("it writes");
        }
        let written = fs::read_to_string(page(name)).expect("it is there");
        assert!(written == filled, "{name}: run this test with QCYCLE_BLESS=1");
    }
}

#[test]
fn the_line_of_the_guide_is_read() {
    let guide = examples_of(&repository().join("docs/relay.md"));
    let [line, ..] = &guide[..] else { panic!("there is one") };
    let line = relay::read("line.yaml", line).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(line.protection.elements["Z2"].guards, ["FF", "PS"]);
    assert_eq!(line.protection.trips.elements_by_breaker["Q0"].len(), 4);
}

/// By a validator of others: the schemas are some, settings of scenarios, tests and pages pass, and
/// each stops passing once a key is added that nobody knows.
#[test]
fn settings_pass_their_schemas() {
    let data = "crates/substation/tests/data";
    let (feeder, resilient) = ("scenarios/feeder-fault", "scenarios/resilient-feeder");
    let quorum = examples("quorum.md");
    let read = |folder: &str, name: &str| {
        fs::read_to_string(repository().join(folder).join(name)).expect(name)
    };
    // What its program writes for the capitals.
    let alone = read(resilient, "relay.yaml").replace("PICK_UP", "500 A");
    let (node, unit) = ("node.yaml", "merging_unit.yaml");
    let kinds = [
        (
            "relay",
            vec![
                read(feeder, "relay.yaml"),
                read(data, "relay.yaml"),
                read(data, "line.yaml"),
                alone,
            ],
        ),
        ("node", vec![read(resilient, node), quorum[0].clone()]),
        ("breaker", vec![read(resilient, "breaker.yaml"), quorum[1].clone()]),
        ("rejuvenate", vec![quorum[2].clone()]),
        ("merging-unit", vec![read(feeder, unit), read(resilient, unit), read(data, unit)]),
    ];
    let judged = kinds.map(|(kind, mut texts)| {
        texts.extend(match kind {
            "relay" => {
                [examples("relay.md"), examples_of(&repository().join("docs/relay.md"))].concat()
            }
            "merging-unit" => examples("merging-unit.md"),
            _ => Vec::new(),
        });
        let (code, schema, said) = run(QCRELAY, Path::new("."), ["schema", kind]);
        assert_eq!((code, said.as_str()), (Some(0), ""), "{kind}");
        let schema: Value = serde_json::from_str(&schema).expect("it is JSON");
        json!({"kind": kind, "schema": schema, "texts": texts})
    });
    if !has("jsonschema") || !has("ruamel.yaml") {
        not_measured("schemas of settings", "there is no validator");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("judged.json"), json!(judged).to_string()).expect("it writes");
    let judge = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/judge_schemas.py");
    let (code, out, said) =
        run("python3", folder.path(), [judge.as_os_str(), "judged.json".as_ref()]);
    assert_eq!(code, Some(0), "{out}{said}");
}
