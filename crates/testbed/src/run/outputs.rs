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

/// The files, by program.
#[derive(Debug)]
pub(super) struct Outputs {
    files: BTreeMap<String, File>,
    settle: VirtualSpan,
}

impl Outputs {
    /// Makes an empty file for each program.
    pub(super) fn create(folder: &RunFolder, scenario: &Scenario) -> anyhow::Result<Self> {
        let mut files = BTreeMap::new();
        for program in scenario.nodes.iter().flat_map(|node| &node.programs) {
            let path = folder.program_log(&program.name);
            let file =
                File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
            files.insert(program.name.clone(), file);
        }
        Ok(Self { files, settle: scenario.settle })
    }

    /// Writes lines down.
    pub(super) fn write(&mut self, output: &Output) {
        let Some(file) = self.files.get_mut(&output.program) else { return };
        let at_ns = (VirtualSpan::from_ns(output.at_ns) - self.settle).as_ns();
        let channel = if output.error { Channel::Err } else { Channel::Out };
        let mut stamped = String::new();
        for line in output.text.split_terminator('\n') {
            let line = OutputLine::new(at_ns, channel, line.as_bytes());
            writeln!(stamped, "{line}").expect("writing to a string cannot fail");
        }
        // A full disk shows in results that matter.
        let _ = file.write_all(stamped.as_bytes());
    }
}
