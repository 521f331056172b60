//! The scenarios of this repository are right in every variant, and the one in the README is the
//! file that it says it is.

use std::fs;
use std::path::{Path, PathBuf};

use scenario::{Options, read, variants};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn every_scenario_can_be_run_in_every_variant() {
    let folders = fs::read_dir(project().join("scenarios")).unwrap();
    let entries = folders.map(|entry| entry.unwrap().path());
    // Beside them lie modules that they share, and what Python makes of those.
    let is_scenario = |path: &PathBuf| path.is_dir() && !path.ends_with("__pycache__");
    let folders: Vec<PathBuf> = entries.filter(is_scenario).collect();
    assert!(!folders.is_empty());
    for folder in folders {
        // Those in host time, on a process bus, have tests and runners of their own, and so have those
        // that make their folder first.
        if !folder.join("scenario.yaml").exists() {
            let readme = fs::read_to_string(folder.join("README.md")).unwrap();
            let is_on_a_bus = readme.contains("`qcycle bus`");
            assert!(is_on_a_bus || folder.join("run.py").exists(), "{}", folder.display());
            continue;
        }
        let variants = variants(&folder).unwrap_or_else(|problems| panic!("{problems}"));
        let mut cases: Vec<Option<String>> = variants.into_iter().map(Some).collect();
        if cases.is_empty() {
            cases.push(None);
        }
        for variant in cases {
            let options = Options { variant, ..Options::default() };
            let problems = read(&folder, &options).err();
            assert!(problems.is_none(), "{}", problems.unwrap());
        }
    }
}

#[test]
fn the_readme_shows_the_minimal_scenario_as_it_is() {
    let readme = fs::read_to_string(project().join("README.md")).unwrap();
    let shown = readme.split("```yaml\n").nth(1).expect("the README shows a scenario");
    let shown = shown.split("```").next().unwrap();
    let file = fs::read_to_string(project().join("scenarios/minimal/scenario.yaml")).unwrap();
    assert_eq!(shown, file);
}
