//! The documents of the scenario format say what the reader does.

use std::fs;
use std::path::Path;

use super::published;
use scenario::{self, Options};

fn check(name: &str, made: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(name);
    assert!(published(&file, made) == made, "run this test with QCYCLE_BLESS=1");
}

#[test]
fn the_published_schema_is_the_one_of_the_reader() {
    let text = serde_json::to_string_pretty(&scenario::schema()).unwrap();
    check("scenario.schema.json", &(text + "\n"));
}

#[test]
fn the_reference_page_is_the_one_of_the_reader() {
    check("scenario.md", &scenario::reference());
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
