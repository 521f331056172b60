//! Whom a command means: the name of a domain, of a program in one, or the number of a process.
//!
//! `lab` is a domain. `lab/sensor` is the program that was started under that name, with all that
//! it has started. `4711` is a process: the program that it runs, and nothing that this has
//! started. No domain has a name of digits alone, so the three are never mistaken for each other.

use std::path::Path;
use std::str::FromStr;

use anyhow::bail;

use super::client;
use super::protocol::{Call, Detail, Selector};

/// Whom a command means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Domain(String),
    /// A program of a domain by its name, and all that it has started.
    Program(String, String),
    Process(i32),
}

impl Target {
    /// Whether all of a domain is meant.
    pub const fn is_domain(&self) -> bool {
        matches!(self, Self::Domain(_))
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit()) {
            return match text.parse() {
                Ok(process) if process > 0 => Ok(Self::Process(process)),
                _ => Err(format!("there is no process {text}")),
            };
        }
        match text.split_once('/') {
            None if text.is_empty() => Err("name a domain, a program or a process".to_owned()),
            None => Ok(Self::Domain(text.to_owned())),
            Some(("", _) | (_, "")) => {
                Err(format!("`{text}` does not name a program; write it as DOMAIN/PROGRAM"))
            }
            Some((domain, program)) => Ok(Self::Program(domain.to_owned(), program.to_owned())),
        }
    }
}

/// How a target stands: its domain, with the programs that are meant, on whichever host they are. Processes are
/// those of this machine.
///
/// # Errors
/// When there is none of that name or number.
pub fn query(target: &Target) -> anyhow::Result<Detail> {
    match target {
        Target::Domain(domain) => {
            client::detail(domain, Call::Query { program: None, hosts: true })
        }
        Target::Program(domain, program) => {
            let program = Some(Selector::Name(program.clone()));
            client::detail(domain, Call::Query { program, hosts: true })
        }
        Target::Process(process) => find(*process),
    }
}

/// Changes the time dilation factor of a target: of a domain, or of programs within theirs.
///
/// # Errors
/// As [`query`], and for programs that were detached.
pub fn dilate(target: &Target, tdf: vtime::Tdf) -> anyhow::Result<Detail> {
    let tdf = tdf.to_string();
    match target {
        Target::Domain(domain) => {
            client::call(domain, Call::Dilate { tdf })?;
            query(target)
        }
        Target::Program(domain, program) => {
            let program = Selector::Name(program.clone());
            client::detail(domain, Call::DilateProgram { tdf, program })
        }
        Target::Process(process) => {
            let domain = find(*process)?.status.name;
            let program = Selector::Pid(*process);
            client::detail(&domain, Call::DilateProgram { tdf, program })
        }
    }
}

fn find(process: i32) -> anyhow::Result<Detail> {
    if let Some(detail) = client::of_process(process)? {
        return Ok(detail);
    }
    if Path::new("/proc").join(process.to_string()).exists() {
        bail!(
            "process {process} is not in one of your time domains; `qcycle ps` lists those that \
             are"
        );
    }
    bail!("there is no process {process}; `qcycle ps` lists those in time domains")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_a_process_and_a_slash_makes_a_program() {
        let read = |text: &str| text.parse::<Target>();
        assert_eq!(read("4711"), Ok(Target::Process(4711)));
        assert_eq!(read("lab"), Ok(Target::Domain("lab".into())));
        assert_eq!(read("lab-1/sensor"), Ok(Target::Program("lab-1".into(), "sensor".into())));
        for wrong in ["", "/", "lab/", "/sensor", "0", "99999999999"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
