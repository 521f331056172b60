//! What programs of the project print.
//!
//! Two things can go wrong with a line for a terminal. Part of it may come from somebody else (the
//! name of a process, a path, what a device says of itself), and a terminal obeys control
//! characters: such a name could hide a line or write one of its own. And anyone who reads may stop
//! reading (`| head`), which is no reason to abort in the midst of something. So all that is printed
//! goes through here: control characters are shown instead of obeyed, and a closed output swallows
//! what comes. Output that fails for another reason, as on a full disk, is reported once, and the
//! program ends with [`Exit::CannotWrite`].

pub mod exit;
mod shown;

use std::fmt::Arguments;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU8, Ordering};

use exit::Exit;
pub use shown::{Shown, json, shown};

static STATE: AtomicU8 = AtomicU8::new(OPEN);
const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const FAILED: u8 = 2;

/// Prints a line for people on standard output, as `println!`.
#[macro_export]
macro_rules! out {
    ($($what:tt)*) => { $crate::print(format_args!("{}\n", format_args!($($what)*))) };
}

/// Prints a line for people on standard error, as `eprintln!`.
#[macro_export]
macro_rules! err {
    ($($what:tt)*) => { $crate::complain(format_args!($($what)*)) };
}

/// Prints text for people on standard output: lines that are ended already.
pub fn print(text: Arguments<'_>) {
    let text = shown::lines(&text.to_string()).to_string();
    say(&mut io::stdout().lock(), text.as_bytes());
}

/// Prints JSON on standard output, followed by the end of the line.
pub fn print_json(text: &str) {
    let text = json(text) + "\n";
    say(&mut io::stdout().lock(), text.as_bytes());
}

/// Prints text for people from the top of an empty screen, where standard output is a terminal.
pub fn print_page(text: &str) {
    let text = format!("\x1b[H\x1b[2J{}", shown::lines(text));
    say(&mut io::stdout().lock(), text.as_bytes());
}

/// Prints a line for people on standard error. Nothing can be said of it where that fails.
pub fn complain(what: Arguments<'_>) {
    let mut text = shown::lines(&what.to_string()).to_string();
    text.push('\n');
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Whether nobody reads standard output any more, so that a program whose only work is to print
/// may end.
pub fn is_closed() -> bool {
    STATE.load(Ordering::Relaxed) != OPEN
}

/// The exit code of a program that would end with this one: [`Exit::CannotWrite`] if standard output
/// could not be written.
#[must_use]
pub fn exit_code(exit: Exit) -> ExitCode {
    ExitCode::from(actual(exit) as u8)
}

fn actual(exit: Exit) -> Exit {
    if STATE.load(Ordering::Relaxed) == FAILED { Exit::CannotWrite } else { exit }
}

fn say(out: &mut dyn Write, octets: &[u8]) {
    if is_closed() {
        return;
    }
    let Err(error) = out.write_all(octets).and_then(|()| out.flush()) else { return };
    let state = if error.kind() == io::ErrorKind::BrokenPipe { CLOSED } else { FAILED };
    if STATE.swap(state, Ordering::Relaxed) == OPEN && state == FAILED {
        complain(format_args!("{}: cannot write to standard output: {error}", program()));
    }
}

fn program() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    std::path::Path::new(&path).file_name().unwrap_or(&path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken(io::ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// One test, as a process has one standard output.
    #[test]
    fn a_closed_output_is_no_failure_and_a_full_one_is() {
        let mut written = Vec::new();
        say(&mut written, b"one");
        assert!(!is_closed());
        say(&mut Broken(io::ErrorKind::BrokenPipe), b"two");
        assert!(is_closed());
        assert_eq!(actual(Exit::NotMeasured), Exit::NotMeasured);
        say(&mut written, b"three");
        assert_eq!(written, b"one", "nobody reads any more");
        STATE.store(OPEN, Ordering::Relaxed);
        say(&mut Broken(io::ErrorKind::StorageFull), b"four");
        assert_eq!(actual(Exit::Done), Exit::CannotWrite);
        STATE.store(OPEN, Ordering::Relaxed);
    }
}
