//! How a program comes to a machine behind ssh(1).
//!
//! One session of ssh does all of it. Its input is the program, then whatever the program reads; its output is
//! one line that the program is there, then whatever the program writes. A shell on the far side removes the
//! program whatever way the session ends, so that a killed `qcycle`, or a line that broke, leaves nothing there
//! either.

use std::io::{self, Read, Write};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use super::Target;

/// Names to the program the folder that it lies in, and that it is to remove at its end: who kills the shell
/// that would do so is not to leave it there.
pub const FOLDER: &str = "QCYCLE_CARRIED_IN";

/// Most octets of what a login may say before the program is there.
const CHATTER_MAX: u64 = 1 << 20;

/// A program that is carried to machines.
#[derive(Clone, Debug)]
pub struct Carried {
    /// Its name over there; letters and digits.
    pub name: &'static str,
    pub octets: Vec<u8>,
}

impl Carried {
    /// The session of ssh that runs it over there with these arguments, which a shell takes apart. What it reads
    /// first has to come by [`Self::hand_over`].
    pub fn session(&self, target: &Target, arguments: &str) -> Command {
        let mut ssh = Command::new("ssh");
        if let Some(config) = &target.config {
            ssh.arg("-F").arg(config);
        }
        if let Some(identity) = &target.identity {
            ssh.arg("-i").arg(identity);
        }
        if let Some(port) = target.port {
            ssh.arg("-p").arg(port.to_string());
        }
        // Nobody is there to be asked for a password, and a line that broke is noticed.
        for option in ["BatchMode=yes", "ConnectTimeout=15", "ServerAliveInterval=15"] {
            ssh.arg("-o").arg(option);
        }
        ssh.arg("-T").arg(&target.destination).arg(self.script(&target.folder, arguments));
        ssh
    }

    /// Sends the program to the session, and waits until the far side has it.
    ///
    /// # Errors
    /// When the far side ends or says something else for too long.
    pub fn hand_over(&self, input: &mut impl Write, output: &mut impl Read) -> Result<()> {
        let sent = self.send(input);
        let ready = self.ready();
        // Octet by octet: what follows is for others, and must not be taken away from them here.
        let mut line = Vec::new();
        let mut octet = [0];
        let mut read = 0;
        while read < CHATTER_MAX && output.read(&mut octet).is_ok_and(|count| count == 1) {
            read += 1;
            if octet[0] != b'\n' {
                line.push(octet[0]);
            } else if line == ready.as_bytes() {
                return sent.with_context(|| format!("cannot send {}", self.name));
            } else {
                line.clear();
            }
        }
        bail!("the remote machine did not accept {}", self.name)
    }

    fn send(&self, input: &mut impl Write) -> io::Result<()> {
        input.write_all(&self.octets)?;
        input.flush()
    }

    /// What the far side says once the program is there; all before it is the chatter of a login.
    fn ready(&self) -> String {
        format!("{} is there", self.name)
    }

    /// What the far side runs. There are no single quotes in it, since it stands between them: the
    /// login shell may be any.
    fn script(&self, folder: &str, arguments: &str) -> String {
        let (name, ready, octets) = (self.name, self.ready(), self.octets.len());
        let script = format!(
            "d=$(mktemp -d {folder}/{name}.XXXXXXXX) || exit 69; \
             trap \"rm -rf $d\" EXIT; trap \"exit 129\" HUP INT TERM PIPE; \
             head -c {octets} >$d/{name} && chmod 700 $d/{name} || exit 69; \
             echo {ready}; {FOLDER}=$d $d/{name} {arguments}"
        );
        assert!(!script.contains('\''), "the script stands between single quotes");
        format!("exec /bin/sh -c '{script}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried() -> Carried {
        Carried { name: "qctest", octets: b"octets".to_vec() }
    }

    #[test]
    fn what_a_login_says_is_skipped_and_what_the_program_says_is_left() {
        let mut output = &b"Welcome\nqctest is there, perhaps\nqctest is there\n{}"[..];
        let mut input = Vec::new();
        carried().hand_over(&mut input, &mut output).unwrap();
        assert_eq!((input.as_slice(), output), (&b"octets"[..], &b"{}"[..]));
    }

    #[test]
    fn a_machine_that_says_something_else_is_refused() {
        let refused = |mut output: &[u8]| {
            carried().hand_over(&mut Vec::new(), &mut output).unwrap_err().to_string()
        };
        assert!(refused(b"").contains("did not accept qctest"));
        assert!(refused(b"This account is not available.\n").contains("did not accept"));
        assert!(refused(&vec![b'x'; 2 << 20]).contains("did not accept"));
    }

    #[test]
    fn options_reach_ssh_as_they_are() {
        let target = Target {
            destination: "lab@board".to_owned(),
            port: Some(2222),
            identity: Some("/keys/a b".into()),
            config: None,
            folder: "/run".to_owned(),
        };
        let session = carried().session(&target, "attend");
        let words: Vec<_> = session.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words[..4], ["-i", "/keys/a b", "-p", "2222"]);
        let [.., destination, script] = &words[..] else { panic!("{words:?}") };
        assert_eq!(destination, "lab@board");
        assert!(script.contains("mktemp -d /run/qctest.") && script.contains("head -c 6 "));
        assert!(script.ends_with("$d/qctest attend'"), "{script}");
    }
}
