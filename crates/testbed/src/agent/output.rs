//! Lines that programs write, stamped with the virtual time at which they arrived.

use std::io::{BufRead, BufReader, PipeReader, Read};
use std::sync::Arc;

use super::orders::Report;
use super::owner::Owner;
use crate::domain::Domain;

/// Longest line in octets; a longer one is cut into several.
const LINE_LENGTH_MAX: u64 = 16 * 1024;

/// Reports each line of a program until it closes the pipe.
pub(super) fn report(
    pipe: PipeReader,
    program: &str,
    error: bool,
    domain: &Arc<Domain>,
    owner: &Owner,
) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut pipe).take(LINE_LENGTH_MAX).read_until(b'\n', &mut line) {
            Ok(length) if length > 0 => {}
            _ => return,
        }
        let at_ns = domain.now().as_ns();
        let text = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned();
        owner.tell(&Report::Output { program: program.to_owned(), error, at_ns, text });
    }
}
