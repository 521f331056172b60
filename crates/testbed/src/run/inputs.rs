//! The files that a run is made of: which they are, their hashes, and copies of them where wanted.
//!
//! The scenario alone does not say what was run: a circuit redirects to other files, a table drives the
//! plant, and a program is a script for an interpreter. All of them are recorded before anything
//! starts, and looked at again at the end: what was edited meanwhile may have been read before or after.
//!
//! What a circuit names is found by its words: every one that is the name of a file is such a file.
//! The commands and properties of OpenDSS that name files are many, and all of them may be shortened.
//! What programs open on their own is not known here.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Context;
use sha2::{Digest, Sha256};

use os::regular;
use report_kit::machine::hexadecimal;
use results::RunFolder;
use results::record::{Input, Role};
use scenario::model::{Program, Scenario};
use scenario::script;

/// Circuits are text of some kilobytes, long tables of some megabytes: what is longer names no files.
const CIRCUIT_OCTETS_MAX: u64 = 16 << 20;
/// An interpreter may be a script again, a few times over (the kernel allows four).
const INTERPRETERS_MAX: usize = 5;

/// The inputs of a run, as they were when it was set up.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    found: Vec<(Input, State)>,
}

/// What changes when somebody writes to a file or puts another in its place.
type State = Option<(u64, SystemTime)>;

impl Inputs {
    /// Finds and hashes all that a scenario names.
    pub(super) fn of(scenario: &Scenario) -> Self {
        let mut all = Finder::default();
        all.add(&scenario.file, Role::Scenario);
        if let Some(plant) = &scenario.plant {
            all.add_circuit(&plant.circuit);
            plant.profiles.iter().for_each(|profile| all.add(&profile.file, Role::Data));
        }
        let nodes = scenario.nodes.iter().enumerate();
        let here = nodes.filter(|(node, _)| scenario.is_here(scenario.host_of(*node)));
        for program in here.flat_map(|(_, node)| &node.programs) {
            all.add_program(program, &scenario.directory);
        }
        let found = all.files.into_iter().map(|(path, role)| {
            let state = state(&path);
            (Input::of(&path, role, hash(&path)), state)
        });
        Self { found: found.collect() }
    }

    pub(super) fn record(&self) -> Vec<Input> {
        self.found.iter().map(|(input, _)| input.clone()).collect()
    }

    /// Copies all of them into the folder of the run.
    pub(super) fn copy(&mut self, folder: &RunFolder) -> anyhow::Result<()> {
        for (input, _) in &mut self.found {
            let Some(sha256) = &input.sha256 else { continue };
            let copy = folder.input_copy(sha256, Path::new(&input.file))?;
            let to = folder.path().join(&copy);
            if !to.exists() {
                let context = || format!("cannot copy {} to {}", input.file, to.display());
                fs::copy(&input.file, &to).with_context(context)?;
                let same = hash(&to).is_ok_and(|(copied, _)| &copied == sha256);
                anyhow::ensure!(
                    same,
                    "{} changes while it is copied; do not modify it during the run",
                    input.file
                );
            }
            input.copy = Some(copy);
        }
        Ok(())
    }

    pub(super) fn changed(&self) -> impl Iterator<Item = &str> {
        let changed = |(input, before): &&(Input, State)| state(Path::new(&input.file)) != *before;
        self.found.iter().filter(changed).map(|(input, _)| &*input.file)
    }
}

fn state(path: &Path) -> State {
    let of = fs::metadata(path).ok()?;
    Some((of.len(), of.modified().ok()?))
}

fn hash(path: &Path) -> io::Result<(String, u64)> {
    let file = regular::open(path)?;
    // As long as it is now: some grow, and those of `/proc` that last for ever are empty.
    let mut file = file.take(fs::metadata(path)?.len());
    let (mut hash, mut piece, mut length) = (Sha256::new(), vec![0; 1 << 16], 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok((hexadecimal(&hash.finalize()), length)),
            octets => {
                hash.update(&piece[..octets]);
                length += octets as u64;
            }
        }
    }
}

#[derive(Debug, Default)]
struct Finder {
    files: BTreeMap<PathBuf, Role>,
}

impl Finder {
    fn add(&mut self, path: &Path, role: Role) {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        self.files.entry(path).or_insert(role);
    }

    /// A circuit with all files that it names, and that those name.
    fn add_circuit(&mut self, circuit: &Path) {
        let first_folder = circuit.parent().unwrap_or(Path::new("/"));
        let mut left = VecDeque::from([circuit.to_owned()]);
        while let Some(path) = left.pop_front() {
            // Files that lead to each other by ways such as `../this/` have one name each.
            let path = path.canonicalize().unwrap_or(path);
            if self.files.contains_key(&path) {
                continue;
            }
            self.add(&path, Role::Circuit);
            // Names count from the file that has them, or, after some commands, from the first.
            let folders = [path.parent().unwrap_or(first_folder), first_folder];
            left.extend(files_in(&text(&path), &folders));
        }
    }

    /// A program with its interpreter, and the files among its arguments.
    fn add_program(&mut self, program: &Program, directory: &Path) {
        let Some((path, arguments)) = program.command.split_first() else { return };
        let mut path = PathBuf::from(path);
        for _ in 0..INTERPRETERS_MAX {
            self.add(&path, Role::Program);
            let mut interpreters = script::interpreters(&path);
            let Some(last) = interpreters.pop() else { break };
            interpreters.iter().for_each(|one| self.add(one, Role::Program));
            path = last;
        }
        for path in arguments.iter().flat_map(|argument| files_in(argument, &[directory])) {
            self.add(&path, Role::Argument);
        }
    }
}

/// The text of a file; empty if it is none.
fn text(path: &Path) -> String {
    let short = fs::metadata(path).is_ok_and(|file| file.len() <= CIRCUIT_OCTETS_MAX);
    let octets = if short { regular::read(path).unwrap_or_default() } else { Vec::new() };
    if octets.contains(&0) { String::new() } else { String::from_utf8_lossy(&octets).into_owned() }
}

/// The files that a text names, in one of the folders.
fn files_in(text: &str, folders: &[&Path]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for line in text.lines() {
        // Words within quotes or brackets may have spaces in them.
        let quoted = line.split(['"', '\'', '(', ')', '[', ']', '{', '}', '=', ',', '|']);
        let words =
            line.split(|letter: char| letter.is_whitespace() || "\"'()[]{}=,|".contains(letter));
        for word in quoted.map(str::trim).chain(words) {
            // Numbers and names of elements are most of the words.
            if word.len() < 2 || word.parse::<f64>().is_ok() {
                continue;
            }
            let name = word.replace('\\', "/");
            let paths = folders.iter().map(|folder| folder.join(&name));
            found.extend(paths.filter(|path| path.is_file()).take(1));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(finder: &Finder) -> Vec<&str> {
        finder.files.keys().filter_map(|path| path.file_name()?.to_str()).collect()
    }

    #[test]
    fn a_circuit_is_all_the_files_that_it_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        fs::create_dir(folder.path().join("sub")).unwrap();
        file(
            "main.dss",
            "Clear\nNew Circuit.x bus1=a\nRedirect sub\\lines.dss\nredir \"two words.dss\"\n",
        );
        file(
            "sub/lines.dss",
            "new loadshape.l npts=2 mult=(file=l.csv)\nbuscoords ../xy.dat ! where\n",
        );
        file("sub/l.csv", "1\n2\n");
        file("xy.dat", "a,1,2\n");
        file("two words.dss", "compile sub/../main.dss\n// a circle\n");
        file("other.dss", "");
        let mut finder = Finder::default();
        finder.add_circuit(&folder.path().join("main.dss"));
        let mut found = names(&finder);
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, ["l.csv", "lines.dss", "main.dss", "two words.dss", "xy.dat"]);
    }

    #[test]
    fn a_script_comes_with_its_interpreter_and_a_call_with_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        file("tool", "#!/bin/sh -e\n");
        file("settings.json", "{}");
        file("data.csv", "");
        let path = folder.path().join("tool").display().to_string();
        let command = vec![path, "settings.json".into(), "--data=data.csv".into(), "none".into()];
        let (name, environment) = ("p".to_owned(), BTreeMap::new());
        let on_exit = scenario::model::OnExit::Fail;
        let mut finder = Finder::default();
        finder.add_program(&Program { name, command, environment, on_exit }, folder.path());
        assert_eq!(names(&finder), ["sh", "data.csv", "settings.json", "tool"]);
    }

    #[test]
    fn a_hash_is_that_of_the_octets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("abc");
        fs::write(&path, "abc").unwrap();
        let (sha256, length) = hash(&path).unwrap();
        assert_eq!((sha256, length), (report_kit::machine::sha256(b"abc"), 3));
    }
}
