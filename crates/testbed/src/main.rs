//! `qcycle`: does power-grid control software act in time?

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
