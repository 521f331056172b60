//! `make type-tests`: runs all tests and sets and writes the page, or one case of a set by its number.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use terminal::exit::Exit;
use terminal::exit_code;
use type_tests::cases::Case;
use type_tests::page::page;
use type_tests::report::Plan;
use type_tests::sets::SETS;
use type_tests::suite::{self, TESTS};

/// Type tests of protection elements
///
/// Examples:
///
///   type-tests --one-of 20 --cases 500
///
///   type-tests --test swing
///
///   type-tests --set cvt --case 1867
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// Run one of so many cases of each matrix; all with 1
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    one_of: u64,
    /// Drawn cases of each set, and faults to be located
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u64).range(1..))]
    cases: u64,
    /// Only this test, and no set
    #[arg(long, value_parser = TESTS.map(|(name, _)| name), conflicts_with = "set")]
    test: Option<String>,
    /// Only this set, and no test
    #[arg(long, value_parser = SETS.map(|set| set.name))]
    set: Option<String>,
    /// Show one case of the set instead
    #[arg(long, requires = "set")]
    case: Option<u64>,
    /// File to write the page of all tests and sets to, instead of standard output; pictures go beside it
    #[arg(long, conflicts_with_all = ["test", "set"])]
    page: Option<PathBuf>,
    /// Folder of the pictures, as the page names it
    #[arg(long, default_value = "type-tests", requires = "page")]
    pictures: String,
}

fn main() -> ExitCode {
    terminal::exit::abort_on_panic();
    let arguments = Arguments::parse();
    let sets: Vec<_> = SETS
        .into_iter()
        .filter(|set| arguments.set.as_deref().is_none_or(|name| name == set.name))
        .filter(|_| arguments.test.is_none())
        .collect();
    if let Some(seed) = arguments.case {
        let case = Case::draw(seed, sets[0].choice);
        terminal::out!("{case:#?}\n{}\n{:#?}", case.settings(), case.run());
        return exit_code(Exit::Done);
    }
    let tests: Vec<_> = TESTS
        .into_iter()
        .filter(|(test, _)| arguments.test.as_deref().is_none_or(|name| name == *test))
        .filter(|_| arguments.set.is_none())
        .collect();
    let plan = Plan { one_of: arguments.one_of, cases: arguments.cases };
    let sections = suite::run(&tests, plan, |name| terminal::err!("type-tests: {name}"));
    let mut shown = Vec::new();
    for set in sets {
        terminal::err!("type-tests: {} cases of {}", arguments.cases, set.name);
        shown.push((set, set.run(0..arguments.cases)));
    }
    let is_whole = plan.one_of == 1 && arguments.set.is_none() && arguments.test.is_none();
    // What is known and said on the page is no news.
    let news = suite::news(&sections, is_whole);
    for each in &news {
        terminal::err!("type-tests: {each}");
    }
    let is_wrong = !news.is_empty() || shown.iter().any(|(_, shown)| !shown.wrong.is_empty());
    let text = page(&sections, &shown, plan, &arguments.pictures);
    let Some(path) = arguments.page else {
        terminal::out!("{text}");
        return exit_code(if is_wrong { Exit::Missed } else { Exit::Done });
    };
    let folder = path.parent().unwrap_or(Path::new("")).join(&arguments.pictures);
    let pictures = sections.iter().flat_map(|section| &section.pictures);
    let mut files: Vec<_> =
        pictures.map(|p| (folder.join(format!("{}.svg", p.name)), &p.svg)).collect();
    files.push((path, &text));
    for (path, content) in files {
        if let Err(e) = std::fs::write(&path, content) {
            terminal::err!(
                "type-tests: {}: {e}; name a file in a folder that is there and can be written to",
                path.display()
            );
            return exit_code(Exit::CannotWrite);
        }
    }
    exit_code(if is_wrong { Exit::Missed } else { Exit::Done })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_of_all_tests_and_sets() {
        let is_accepted = |arguments: &str| {
            Arguments::try_parse_from(format!("type-tests {arguments}").split(' ')).is_ok()
        };
        for refused in [
            "--page a.md --test swing",
            "--page a.md --set cvt",
            "--test swing --set cvt",
            "--pictures folder",
            "--case 7",
            "--one-of 0",
            "--cases 0",
        ] {
            assert!(!is_accepted(refused), "{refused}");
        }
        assert!(is_accepted("--page a.md --pictures folder --one-of 20 --cases 500"));
        assert!(is_accepted("--set cvt --case 7") && is_accepted("--test swing"));
    }
}
