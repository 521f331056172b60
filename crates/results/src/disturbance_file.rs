//! `disturbances.csv`: what kept programs from acting in time, a line each as the run goes on.
//!
//! The last line of a run that was killed may be torn; it is left out. Names come from a scenario
//! and hold no commas.

use std::fs::File;
use std::io::{self, BufRead, Write};
use std::path::Path;

use super::disturbance::Disturbance;
use os::files;

/// Name of the file.
pub const NAME: &str = "disturbances.csv";
const HEAD: &str = "from_ns,to_ns,node,who,cause,longest_ns,lost_ns";

/// Writes the file, a line for each disturbance.
#[derive(Debug)]
pub struct DisturbanceWriter {
    file: File,
    octets: u64,
}

impl DisturbanceWriter {
    /// Writes the head of the file.
    pub fn begin(mut file: File) -> io::Result<Self> {
        writeln!(file, "{HEAD}")?;
        Ok(Self { file, octets: HEAD.len() as u64 + 1 })
    }

    /// Adds a line for each of these.
    pub fn write(&mut self, disturbances: &[Disturbance]) -> io::Result<()> {
        let lines: String = disturbances.iter().map(line).collect();
        self.file.write_all(lines.as_bytes())?;
        self.octets += lines.len() as u64;
        Ok(())
    }

    /// Whether this path leads to what was written, and to all of it.
    pub fn is_as_written(&self, path: &Path) -> bool {
        files::is_as_written(&self.file, path, self.octets)
    }
}

fn line(one: &Disturbance) -> String {
    let Disturbance { from_ns, to_ns, node, who, cause, longest_ns, lost_ns } = one;
    let (node, cause) = (node.as_deref().unwrap_or_default(), cause.name());
    format!("{from_ns},{to_ns},{node},{who},{cause},{longest_ns},{lost_ns}\n")
}

/// Reads the lines that are whole.
pub fn read(file: impl BufRead) -> io::Result<Vec<Disturbance>> {
    let mut all = Vec::new();
    for line in file.split(b'\n') {
        all.extend(parse(&String::from_utf8_lossy(&line?)));
    }
    Ok(all)
}

fn parse(line: &str) -> Option<Disturbance> {
    let [from, to, node, who, cause, longest, lost] =
        <[&str; 7]>::try_from(line.split(',').collect::<Vec<_>>()).ok()?;
    Some(Disturbance {
        from_ns: from.parse().ok()?,
        to_ns: to.parse().ok()?,
        node: (!node.is_empty()).then(|| node.to_owned()),
        who: who.to_owned(),
        cause: cause.parse().ok()?,
        longest_ns: longest.parse().ok()?,
        lost_ns: lost.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::disturbance::Cause;
    use super::*;

    #[test]
    fn what_was_written_is_read_and_a_torn_line_is_left_out() {
        let one = |node: Option<&str>, cause| Disturbance {
            from_ns: -5,
            to_ns: 1_000_000,
            node: node.map(str::to_owned),
            who: "controller".into(),
            cause,
            longest_ns: 900,
            lost_ns: 1200,
        };
        let all: Vec<_> = <Cause as strum::IntoEnumIterator>::iter()
            .flat_map(|c| [one(Some("n1"), c), one(None, c)])
            .collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let mut writer = DisturbanceWriter::begin(File::create(&path).unwrap()).unwrap();
        writer.write(&all).unwrap();
        let mut text = std::fs::read(&path).unwrap();
        assert_eq!(read(&text[..]).unwrap(), all);
        text.extend_from_slice(b"1,2,n1,control\xff");
        assert_eq!(read(&text[..]).unwrap(), all);
    }
}
