//! `qchostile`.

use std::process::ExitCode;

fn main() -> ExitCode {
    relay::qchostile()
}
