//! `qcprobe`: measures how late a platform lets programs act.

use std::process::ExitCode;

fn main() -> ExitCode {
    probe::cli::main()
}
