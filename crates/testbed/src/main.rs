//! `qcycle`: does power-grid control software act in time?

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    terminal::exit::abort_on_panic();
    cli::main()
}
