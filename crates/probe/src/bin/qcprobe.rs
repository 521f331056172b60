//! `qcprobe`: measures how late a platform lets programs act.

use std::process::ExitCode;

fn main() -> ExitCode {
    terminal::exit::abort_on_panic();
    probe::cli::main()
}
