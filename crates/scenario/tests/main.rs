//! Scenarios read from files, right and wrong ones, and what the documents say of them.

use std::fs;
use std::path::Path;

mod bad;
mod documents;
mod published;
mod read;

/// What stands in a file that is made of what the reader does. With `QCYCLE_BLESS=1` in the environment it
/// is written first; look at the difference before you keep it.
fn published(file: &Path, made: &str) -> String {
    if std::env::var_os("QCYCLE_BLESS").is_some_and(|value| value == "1") {
        fs::write(file, made).expect("the working tree can be written to");
    }
    fs::read_to_string(file).unwrap_or_default()
}
