//! What a login prints before the first line of a session that is its own: a greeting, the reason why it is refused, or a
//! question that nobody answers. All of it is passed over, whatever it is and however much; the last of it is told to
//! the user if nothing comes behind it.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::Instant;

use anyhow::{Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Octets that are read at once.
const READ_OCTETS: usize = 4096;
/// Most octets of a line that are kept; no line that is waited for is as long.
const LINE_MAX: usize = 240;

/// The end of what was printed.
#[derive(Debug, Default)]
pub(super) struct Login {
    /// The line that has no end yet.
    line: Vec<u8>,
    /// The last one that had something on it.
    last: Vec<u8>,
}

impl Login {
    /// Reads until this line comes, behind which nothing may follow unasked; until then at most.
    ///
    /// # Errors
    /// When it does not come.
    pub(super) fn wait_for(
        &mut self,
        awaited: &str,
        output: &mut (impl Read + AsFd),
        until: Instant,
    ) -> Result<()> {
        let begun = Instant::now();
        let mut octets = [0; READ_OCTETS];
        while Instant::now() < until && is_readable(output, until)? {
            let count = output.read(&mut octets)?;
            if count == 0 {
                bail!("its login ended and {}", self.printed());
            }
            if octets[..count].iter().fold(false, |_, octet| self.takes(*octet, awaited)) {
                return Ok(());
            }
        }
        bail!(
            "no shell was reached within {:.0?}: its login {}; see whether it asks for something, or prints without an end",
            begun.elapsed(),
            self.printed()
        )
    }

    /// Reads until this line comes, and nothing behind it: that is for others.
    ///
    /// # Errors
    /// When it does not come.
    pub(super) fn read_until(&mut self, awaited: &str, output: &mut impl Read) -> Result<()> {
        let mut octet = [0];
        while output.read(&mut octet)? == 1 {
            if self.takes(octet[0], awaited) {
                return Ok(());
            }
        }
        bail!("its shell ended and {}", self.printed())
    }

    /// Takes an octet. Returns whether it ends the line that is waited for.
    fn takes(&mut self, octet: u8, awaited: &str) -> bool {
        if octet != b'\n' {
            if self.line.len() < LINE_MAX {
                self.line.push(octet);
            }
            return false;
        }
        let line = std::mem::take(&mut self.line);
        let is_awaited = line == awaited.as_bytes();
        if !is_awaited && !line.trim_ascii().is_empty() {
            self.last = line;
        }
        is_awaited
    }

    /// The last of it, in words.
    fn printed(&self) -> String {
        let line = if self.line.trim_ascii().is_empty() { &self.last } else { &self.line };
        let visible = |c: char| if c.is_control() { ' ' } else { c };
        let text: String = String::from_utf8_lossy(line).chars().map(visible).collect();
        match text.trim() {
            "" => "printed nothing".to_owned(),
            text => format!("printed `{text}`"),
        }
    }
}

/// Whether something can be read before that.
fn is_readable(output: &impl AsFd, until: Instant) -> io::Result<bool> {
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
