//! The first line of a script names its interpreter. Without that the kernel says that the script
//! itself is not there, which sends users looking in the wrong place; so it is looked for here.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use settings::problems::{Fault, quoted};

/// What the kernel reads of a first line (`BINPRM_BUF_SIZE`).
const LINE_OCTETS_MAX: u64 = 256;

/// Whether the interpreter of a script is there; a program that is none, or that cannot be read, is
/// for the kernel to judge. `search` are the folders of `PATH`, where `env` looks.
pub(super) fn check(program: &Path, written: &str, search: &[PathBuf]) -> Result<(), Fault> {
    let Some((interpreter, by_env)) = named(program) else { return Ok(()) };
    let is_found = |name: &String| search.iter().any(|folder| folder.join(name).is_file());
    let missing = match Path::new(&interpreter).is_file() {
        true => by_env.filter(|name| !is_found(name)),
        false => Some(interpreter),
    };
    let Some(missing) = missing else { return Ok(()) };
    let name = missing.trim_end_matches('\r');
    let (program, interpreter) = (quoted(written), quoted(name));
    let what =
        format!("the program {program} needs the interpreter {interpreter}, which does not exist");
    let fix = if name.len() < missing.len() {
        "it has Windows line endings: save it with Unix line endings"
    } else {
        "install it, or correct the first line of the program"
    };
    Err(Fault::new(what, fix))
}

/// What the kernel starts to interpret a program, and what `env` then starts for it; nothing if the
/// program is no script.
pub fn interpreters(program: &Path) -> Vec<PathBuf> {
    let Some((interpreter, by_env)) = named(program) else { return Vec::new() };
    let search = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |name: String| {
        let mut found = std::env::split_paths(&search).map(|folder| folder.join(&name));
        found.find(|path| path.is_file())
    };
    std::iter::once(interpreter.into()).chain(by_env.and_then(on_path)).collect()
}

/// The interpreter that a script names, and the program that it has `env` start; `None` if this is no
/// script.
fn named(program: &Path) -> Option<(String, Option<String>)> {
    let line = first_line(program)?;
    let mut words = line.split([' ', '\t']).filter(|word| !word.is_empty()).map(str::to_owned);
    let interpreter = words.next()?;
    // Options of env, and variables that it sets, come before the program.
    let mut operands = words.filter(|word| !word.starts_with('-') && !word.contains('='));
    let by_env = if interpreter.ends_with("/env") { operands.next() } else { None };
    Some((interpreter, by_env))
}

/// The first line behind `#!`; `None` if this is no script.
fn first_line(program: &Path) -> Option<String> {
    let mut octets = Vec::new();
    File::open(program).ok()?.take(LINE_OCTETS_MAX).read_to_end(&mut octets).ok()?;
    let text = String::from_utf8_lossy(octets.strip_prefix(b"#!")?).into_owned();
    // A carriage return is part of the name, to the kernel too.
    Some(text.split('\n').next().unwrap_or_default().trim_matches([' ', '\t']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_that_is_missing_is_named_and_line_ends_of_windows_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("poll");
        let search = [folder.path().to_owned()];
        let checked = |text: &str| {
            std::fs::write(&script, text).unwrap();
            check(&script, "poll", &search).map_err(|fault| fault.to_string())
        };
        for good in ["#!/bin/sh\n", "#! /bin/sh -e\n", "#!/usr/bin/env poll\n", "\x7fELF", "", "#!"]
        {
            assert_eq!(checked(good), Ok(()), "{good}");
        }
        let windows = checked("#!/bin/sh\r\necho\r\n").unwrap_err();
        assert!(windows.contains("`/bin/sh`") && windows.contains("Windows"), "{windows}");
        let missing = checked("#!/opt/python9\n").unwrap_err();
        assert!(missing.contains("needs the interpreter `/opt/python9`"), "{missing}");
        let by_env = checked("#!/usr/bin/env -S A=1 python9 -u\n").unwrap_err();
        assert!(by_env.contains("`python9`"), "{by_env}");
    }
}
