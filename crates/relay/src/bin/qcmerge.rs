//! `qcmerge`.

use std::process::ExitCode;

fn main() -> ExitCode {
    relay::qcmerge()
}
