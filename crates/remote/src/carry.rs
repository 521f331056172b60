//! How a program comes to a machine behind ssh(1).
//!
//! One session of ssh does all of it. Its input is the program, then whatever the program reads; its output is
//! whatever a login prints ([`super::login`]), one line that the program may come, one that it is there, then whatever the
//! program writes. Nothing is sent before the first of these lines: a login that asks would take the program for the
//! answer, and one that prints while nobody reads could not take it. A shell on the far side removes the
//! program whatever way the session ends, so that a killed `qcycle`, or a line that broke, leaves nothing there
//! either.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::Target;
use super::login::Login;

/// Names to the program the folder that it lies in, and that it is to remove at its end: who kills the shell
/// that would do so is not to leave it there.
pub const FOLDER: &str = "QCYCLE_CARRIED_IN";

/// How long a machine may take to be reached and its login to be done; ssh itself gives up on a connection before.
const LOGIN_LONGEST: Duration = Duration::from_secs(20);

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

    /// Sends the program to the session once that is there, and waits until the far side has it.
    ///
    /// # Errors
    /// When no shell is reached there soon, or it does not take the program.
    pub fn hand_over(&self, input: &mut impl Write, output: &mut (impl Read + AsFd)) -> Result<()> {
        self.hand_over_within(LOGIN_LONGEST, input, output)
    }

    fn hand_over_within(
        &self,
        longest: Duration,
        input: &mut impl Write,
        output: &mut (impl Read + AsFd),
    ) -> Result<()> {
        let mut login = Login::default();
        login.wait_for(&self.wanted(), output, Instant::now() + longest)?;
        let sent = self.send(input);
        login.read_until(&self.ready(), output)?;
        sent.with_context(|| format!("cannot send {}", self.name))
    }

    fn send(&self, input: &mut impl Write) -> io::Result<()> {
        input.write_all(&self.octets)?;
        input.flush()
    }

    /// What the far side says once the login is over; all before it is what that prints.
    fn wanted(&self) -> String {
        format!("{} may come", self.name)
    }

    /// What it says once the program is there.
    fn ready(&self) -> String {
        format!("{} is there", self.name)
    }

    /// What the far side runs. What a login has printed may have no end of line. There are no single quotes in it, since it stands between them: the
    /// login shell may be any.
    fn script(&self, folder: &str, arguments: &str) -> String {
        let (name, octets) = (self.name, self.octets.len());
        let (wanted, ready) = (self.wanted(), self.ready());
        let script = format!(
            "d=$(mktemp -d {folder}/{name}.XXXXXXXX) || exit 69; \
             trap \"rm -rf $d\" EXIT; trap \"exit 129\" HUP INT TERM PIPE; \
             echo; echo {wanted}; \
             head -c {octets} >$d/{name} && chmod 700 $d/{name} || exit 69; \
             echo {ready}; {FOLDER}=$d $d/{name} {arguments}"
        );
        assert!(!script.contains('\''), "the script stands between single quotes");
        format!("exec /bin/sh -c '{script}'")
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn carried() -> Carried {
        Carried { name: "qctest", octets: b"octets".to_vec() }
    }

    /// What comes of a far side that prints this, and what was sent to it and left of what it printed.
    fn handed_to(printed: &[u8]) -> (Result<()>, Vec<u8>, Vec<u8>) {
        let (mut output, mut far) = io::pipe().unwrap();
        far.write_all(printed).unwrap();
        drop(far);
        let (mut input, mut left) = (Vec::new(), Vec::new());
        let outcome = carried().hand_over(&mut input, &mut output);
        output.read_to_end(&mut left).unwrap();
        (outcome, input, left)
    }

    #[test]
    fn what_a_login_says_is_skipped_and_what_the_program_says_is_left() {
        let (mut output, mut far) = io::pipe().unwrap();
        let (mut taken, mut input) = io::pipe().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                far.write_all(b"Welcome\nqctest may come, perhaps\nx\nqctest may come\n").unwrap();
                let mut octets = [0; 6];
                taken.read_exact(&mut octets).unwrap();
                assert_eq!(octets, *b"octets");
                far.write_all(b"\nqctest is there\n{}").unwrap();
                drop(far);
            });
            carried().hand_over(&mut input, &mut output).unwrap();
            let mut left = String::new();
            output.read_to_string(&mut left).unwrap();
            assert_eq!(left, "{}");
        });
    }

    #[test]
    fn a_login_that_ends_is_refused_with_its_words_and_sent_nothing() {
        for (printed, words) in [
            (&b""[..], "its login ended and printed nothing"),
            (
                b"This account is \x1b[1mnot available.\n\n",
                "its login ended and printed `This account is  [1mnot available.`",
            ),
            (b"one\ntwo", "its login ended and printed `two`"),
        ] {
            let (outcome, sent, _) = handed_to(printed);
            assert_eq!((outcome.unwrap_err().to_string().as_str(), sent.len()), (words, 0));
        }
        let (outcome, sent, _) = handed_to(b"qctest may come\n");
        assert!(outcome.unwrap_err().to_string().contains("ended"));
        assert_eq!(sent, b"octets");
    }

    #[test]
    fn nobody_waits_long_for_a_login_that_asks_or_does_not_end() {
        let longest = Duration::from_millis(50);
        for (printed, words) in [("", "printed nothing"), ("Your name? ", "printed `Your name?`")] {
            let (mut output, mut far) = io::pipe().unwrap();
            far.write_all(printed.as_bytes()).unwrap();
            let mut input = Vec::new();
            let refused = carried().hand_over_within(longest, &mut input, &mut output).unwrap_err();
            let refused = refused.to_string();
            assert!(refused.contains("asks for something") && refused.contains(words), "{refused}");
            assert_eq!(input, b"");
        }
        let (mut output, mut far) = io::pipe().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || while far.write_all(&[b'x'; 4096]).is_ok() {});
            let refused = carried().hand_over_within(longest, &mut Vec::new(), &mut output);
            drop(output);
            assert!(refused.unwrap_err().to_string().contains("printed `xxx"));
        });
    }

    #[test]
    fn the_script_is_heard_behind_whatever_a_login_prints() {
        let folder = std::env::temp_dir().display().to_string();
        let script = format!("printf 'no end of line'; {}", carried().script(&folder, "attend"));
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut shell = shell.spawn().unwrap();
        let (mut input, mut output) = (shell.stdin.take().unwrap(), shell.stdout.take().unwrap());
        carried().hand_over(&mut input, &mut output).unwrap();
        drop(input);
        shell.wait().unwrap();
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
