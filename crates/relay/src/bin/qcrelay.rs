//! `qcrelay`.

use std::process::ExitCode;

fn main() -> ExitCode {
    relay::qcrelay()
}
