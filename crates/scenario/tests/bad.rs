//! Bad scenarios and exactly what is said about each: `bad-scenarios/<name>.yaml` and
//! `<name>.expected`.

use std::fs;
use std::path::{Path, PathBuf};

use super::published;
use scenario::{Options, read};

#[test]
fn every_bad_scenario_is_refused_with_all_that_is_wrong_with_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad-scenarios");
    let cases = cases(&folder);
    assert!(cases.len() >= 20, "cases are missing from {}", folder.display());
    let mut wrong = Vec::new();
    for case in cases {
        let problems = read(&case, &Options::default()).expect_err(&case.display().to_string());
        let prefix = format!("{}/", folder.display());
        let said = problems.to_string().replace(&prefix, "") + "\n";
        let expected = published(&case.with_extension("expected"), &said);
        if said != expected {
            wrong.push(format!("{}: said\n{said}but expected\n{expected}", case.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn cases(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the cases are beside this test");
    let entries = entries.map(|entry| entry.expect("a folder can be listed").path());
    let mut cases: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    cases.sort();
    cases
}
