//! The documents of the scenario format say what the reader does. With `QCYCLE_BLESS=1` in the
//! environment they are rewritten.

use std::fs;
use std::path::{Path, PathBuf};

use scenario::{self, Options};

fn document(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name)
}

fn is_blessing() -> bool {
    std::env::var_os("QCYCLE_BLESS").is_some_and(|value| value == "1")
}

#[test]
fn the_published_schema_is_the_one_of_the_reader() {
    let schema = scenario::schema();
    let file = document("scenario.schema.json");
    if is_blessing() {
        let text = serde_json::to_string_pretty(&schema).unwrap();
        fs::write(&file, text + "\n").unwrap();
    }
    let published: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(published == schema, "run this test with QCYCLE_BLESS=1");
}

#[test]
fn the_reference_page_is_the_one_of_the_reader() {
    let page = scenario::reference();
    let file = document("scenario.md");
    if is_blessing() {
        fs::write(&file, &page).unwrap();
    }
    assert!(fs::read_to_string(&file).unwrap() == page, "run this test with QCYCLE_BLESS=1");
}

#[test]
fn the_examples_of_the_reference_page_are_a_scenario() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("feeder.dss"), "new circuit.feeder\n").unwrap();
    fs::write(folder.path().join("wind.csv"), "t_s,kw\n0,2000\n1,2010\n").unwrap();
    fs::write(folder.path().join("scenario.yaml"), scenario::example()).unwrap();
    for variant in scenario::variants(folder.path()).unwrap() {
        let options = Options { variant: Some(variant), ..Options::default() };
        let problems = scenario::read(folder.path(), &options).err();
        assert!(problems.is_none(), "{}", problems.unwrap());
    }
}
