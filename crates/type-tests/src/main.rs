//! `make type-tests`: runs all sets and writes the page, or one case by its number.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use terminal::exit::Exit;
use terminal::exit_code;
use type_tests::cases::Case;
use type_tests::locate;
use type_tests::page::page;
use type_tests::sets::SETS;

/// Type tests of distance and direction
///
/// Examples:
///
///   type-tests --cases 2000
///
///   type-tests --set cvt --case 1867
#[derive(Parser)]
#[command(verbatim_doc_comment)]
struct Arguments {
    /// Cases of each set
    #[arg(long, default_value_t = 2000)]
    cases: u64,
    /// Only this set: plain, harmonics, frequency, samples, resistance, cvt
    #[arg(long, value_parser = SETS.map(|set| set.name))]
    set: Option<String>,
    /// Show one case of the set instead
    #[arg(long, requires = "set")]
    case: Option<u64>,
    /// File to write the page to, instead of standard output
    #[arg(long)]
    page: Option<PathBuf>,
}

fn main() -> ExitCode {
    terminal::exit::abort_on_panic();
    let arguments = Arguments::parse();
    let sets: Vec<_> = SETS
        .into_iter()
        .filter(|set| arguments.set.as_deref().is_none_or(|name| name == set.name))
        .collect();
    if let Some(seed) = arguments.case {
        let case = Case::draw(seed, sets[0].choice);
        terminal::out!("{case:#?}\n{}\n{:#?}", case.settings(), case.run());
        return exit_code(Exit::Done);
    }
    let mut shown = Vec::new();
    for set in sets {
        terminal::err!("type-tests: {} cases of {}", arguments.cases, set.name);
        shown.push((set, set.run(0..arguments.cases)));
    }
    let is_wrong = shown.iter().any(|(_, shown)| !shown.wrong.is_empty());
    let mut page = page(&shown);
    if arguments.set.is_none() {
        terminal::err!("type-tests: {} faults to be located", arguments.cases);
        page.push_str(&locate::section(&locate::study(0..arguments.cases)));
    }
    match arguments.page {
        None => terminal::out!("{page}"),
        Some(path) => {
            if let Err(e) = std::fs::write(&path, page) {
                terminal::err!(
                    "type-tests: {}: {e}; name a file in a folder that can be written to",
                    path.display()
                );
                return exit_code(Exit::CannotWrite);
            }
        }
    }
    exit_code(if is_wrong { Exit::Missed } else { Exit::Done })
}
