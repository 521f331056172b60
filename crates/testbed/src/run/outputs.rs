//! What programs write, each into a file of its own, with the time of the scenario.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;

use anyhow::Context;
use vtime::VirtualSpan;

use crate::agent::orders::Output;
use crate::results::RunFolder;
use crate::results::output::{Channel, OutputLine};
use crate::scenario::model::Scenario;

/// Octets of output taken down for each program. A program that writes without a pause would
/// fill the disk of a long run.
const LOG_OCTETS_MAX: usize = 1 << 30;

/// The files, by program.
#[derive(Debug)]
pub(super) struct Outputs {
    files: BTreeMap<String, Log>,
    settle: VirtualSpan,
}

#[derive(Debug)]
struct Log {
    file: File,
    /// Octets that it may still take.
    left: usize,
}

impl Outputs {
    /// Makes an empty file for each program.
    pub(super) fn create(folder: &RunFolder, scenario: &Scenario) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for program in scenario.nodes.iter().flat_map(|node| &node.programs) {
            let path = folder.program_log(&program.name);
            let file =
                File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            files.insert(program.name.clone(), Log { file, left: LOG_OCTETS_MAX });
        }
        Ok(Self { files, settle: scenario.settle })
    }

    /// Writes lines down. Answers a warning when a program has written too much.
    pub(super) fn write(&mut self, output: &Output) -> Option<String> {
        let log = self.files.get_mut(&output.program).filter(|log| log.left > 0)?;
        let at_ns = (VirtualSpan::from_ns(output.at_ns) - self.settle).as_ns();
        let channel = if output.error { Channel::Err } else { Channel::Out };
        let mut stamped = String::new();
        for line in output.text.split_terminator('\n') {
            let line = OutputLine::new(at_ns, channel, line.as_bytes());
            writeln!(stamped, "{line}").expect("writing to a string cannot fail");
        }
        // A full disk shows in results that matter.
        let _ = log.file.write_all(stamped.as_bytes());
        log.left = log.left.saturating_sub(stamped.len());
        let program = &output.program;
        (log.left == 0).then(|| {
            format!("`{program}` has written {LOG_OCTETS_MAX} octets; what it writes on is lost")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn a_program_that_writes_too_much_is_told_of_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let log = Log { file: File::create(&path).unwrap(), left: 30 };
        let files = BTreeMap::from([("p".to_owned(), log)]);
        let mut outputs = Outputs { files, settle: VirtualSpan::from_ms(1) };
        let text = "one\ntwo\n".to_owned();
        let output = Output { program: "p".to_owned(), error: false, at_ns: 2_000_000, text };
        assert!(outputs.write(&output).unwrap().starts_with("`p` has written"));
        assert_eq!(outputs.write(&output), None);
        let mut written = String::new();
        File::open(&path).unwrap().read_to_string(&mut written).unwrap();
        assert_eq!(written, "    0.001000000 out| one\n    0.001000000 out| two\n");
    }
}
