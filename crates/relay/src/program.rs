//! What all programs of this crate do first and last: read the command line, and end with an exit code.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use terminal::exit::Exit;

/// The main function of a program: `run` does what its command line says. An error is printed with
/// the name of the program, and means that something is missing on this host.
pub(crate) fn main<C: Parser>(name: &str, run: impl FnOnce(C) -> Result<Exit>) -> ExitCode {
    let arguments = match C::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // A pipe that is closed is no reason to fail differently.
            let _closed = error.print();
            let asked = !error.use_stderr();
            return terminal::exit_code(if asked { Exit::Done } else { Exit::Usage });
        }
    };
    terminal::exit_code(run(arguments).unwrap_or_else(|error| {
        terminal::err!("{name}: {error:#}");
        Exit::BrokenSetup
    }))
}
