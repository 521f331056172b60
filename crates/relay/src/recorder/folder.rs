//! The folder of records, written by a thread of its own: a disk that is slow keeps that thread alone.
//!
//! A record appears under its name when it is complete and on the disk: it is written under another
//! name, synchronised and renamed, the data before the configuration, because who looks for records looks
//! for configurations. What a relay that was killed has left of one is removed at the next start. The
//! oldest records make room for new ones.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use iec61850::comtrade::date;

/// Ending of a file that is not complete.
const PART: &str = "part";

/// A record before it is in the folder.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Files {
    /// The name of both files without what comes behind the last dot.
    pub(super) name: String,
    pub(super) configuration: String,
    pub(super) data: Vec<u8>,
}

/// Where records are, and how many of them may be.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// What the names of all records of this relay begin with.
    prefix: String,
    octets_max: u64,
    keep: usize,
}

impl Folder {
    /// Makes the folder if it is not there, and removes what is incomplete in it.
    pub(super) fn open(path: &Path, relay: &str, octets_max: u64, keep: u64) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let prefix = format!("{}-", file_name(relay));
        let folder = Self { path: path.to_owned(), prefix, octets_max, keep: keep as usize };
        for name in folder.names()? {
            let is_alone =
                name.strip_suffix(".dat").is_some_and(|name| !folder.at(name, "cfg").exists());
            if is_alone || name.ends_with(&format!(".{PART}")) {
                fs::remove_file(folder.path.join(name))?;
            }
        }
        Ok(folder)
    }

    /// The name of a record whose trigger was then; records of several rates have the rate behind it.
    pub(super) fn name(&self, trigger_ns: u64, rate: Option<u16>) -> String {
        let seconds = trigger_ns / 1_000_000_000;
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let us = trigger_ns % 1_000_000_000 / 1000;
        let rate = rate.map_or(String::new(), |rate| format!("-{rate}Hz"));
        let day = 10_000 * year + 100 * month + day;
        let second = 10_000 * hour + 100 * minute + second;
        format!("{}{day}T{second:06}_{us:06}Z{rate}", self.prefix)
    }

    /// Writes a record, all of it or nothing.
    pub(super) fn write(&self, files: &Files) -> io::Result<()> {
        self.make_room((files.configuration.len() + files.data.len()) as u64);
        let written = self
            .write_file(&files.name, "dat", &files.data)
            .and_then(|()| self.write_file(&files.name, "cfg", files.configuration.as_bytes()));
        if written.is_err() {
            for ending in ["cfg", "dat", &part("cfg"), &part("dat")] {
                let _gone = fs::remove_file(self.at(&files.name, ending));
            }
        }
        written
    }

    fn write_file(&self, name: &str, ending: &str, octets: &[u8]) -> io::Result<()> {
        let hidden = self.at(name, &part(ending));
        let mut file = File::create(&hidden)?;
        file.write_all(octets)?;
        file.sync_all()?;
        fs::rename(hidden, self.at(name, ending))?;
        File::open(&self.path)?.sync_all()
    }

    /// Removes the oldest records, until there are fewer than are kept and this many octets fit.
    fn make_room(&self, octets: u64) {
        let mut records: Vec<String> = self.names().unwrap_or_default();
        records.retain_mut(|name| {
            let is_record = name.ends_with(".cfg");
            name.truncate(name.len() - if is_record { 4 } else { 0 });
            is_record
        });
        // Names begin with the time.
        records.sort();
        let size = |name: &String| -> u64 {
            let of = |ending| self.at(name, ending).metadata().map_or(0, |about| about.len());
            of("cfg") + of("dat")
        };
        let mut sum = octets + records.iter().map(size).sum::<u64>();
        let mut count = records.len() + 1;
        for name in &records {
            if count <= self.keep && sum <= self.octets_max {
                break;
            }
            (sum, count) = (sum - size(name), count - 1);
            for ending in ["cfg", "dat"] {
                let _gone = fs::remove_file(self.at(name, ending));
            }
        }
    }

    /// Names of this relay's files.
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let name = name.to_str().filter(|name| self.is_own(name));
            names.extend(name.map(str::to_owned));
        }
        Ok(names)
    }

    /// Whether a file is a record of this relay, and not of one whose name begins with this one's.
    fn is_own(&self, name: &str) -> bool {
        let time = name.strip_prefix(&self.prefix).and_then(|rest| rest.split_once('T'));
        time.is_some_and(|(day, _)| {
            day.len() == 8 && day.bytes().all(|octet| octet.is_ascii_digit())
        })
    }

    fn at(&self, name: &str, ending: &str) -> PathBuf {
        self.path.join(format!("{name}.{ending}"))
    }
}

fn part(ending: &str) -> String {
    format!("{ending}.{PART}")
}

/// A name without what means something in paths.
fn file_name(name: &str) -> String {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    name.chars().map(|letter| if is_kept(letter) { letter } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(name: String) -> Files {
        Files { name, configuration: "station".into(), data: vec![0; 93] }
    }

    fn there(path: &Path) -> Vec<String> {
        let entries = fs::read_dir(path).expect("it is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("a file").file_name().into_string().expect("a text"))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_oldest_records_make_room_and_others_stay() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("records");
        let folder = Folder::open(&path, "bay/1", 350, 10).expect("it opens");
        let second = |second: u64| folder.name(second * 1_000_000_000 + 1000, None);
        assert_eq!(second(1_582_934_400), "bay_1-20200229T000000_000001Z");
        fs::write(path.join("bay_1-notes.cfg"), "of somebody else").expect("it writes");
        for each in 1..=5 {
            folder.write(&files(second(each))).expect("it writes");
        }
        let kept =
            |names: Vec<String>| names.into_iter().filter(|name| name.ends_with("cfg")).collect();
        let records: Vec<String> = kept(there(&path));
        let expected = [3, 4, 5].map(|each| format!("{}.cfg", second(each)));
        assert_eq!(records, [&expected[..], &["bay_1-notes.cfg".to_owned()]].concat());
        let folder = Folder::open(&path, "bay/1", 1000, 2).expect("it opens");
        folder.write(&files(second(6))).expect("it writes");
        assert_eq!(kept(there(&path)).len(), 3);
    }

    #[test]
    fn what_a_killed_relay_left_is_removed_and_records_stay() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path();
        let folder = Folder::open(path, "bay", 1000, 10).expect("it opens");
        let [whole, alone, begun] =
            [1, 2, 3].map(|second| folder.name(second * 1_000_000_000, None));
        folder.write(&files(whole.clone())).expect("it writes");
        for left in [format!("{alone}.dat"), format!("{begun}.dat.part"), "other.part".to_owned()] {
            fs::write(path.join(left), "half").expect("it writes");
        }
        Folder::open(path, "bay", 1000, 10).expect("it opens");
        assert_eq!(
            there(path),
            [format!("{whole}.cfg"), format!("{whole}.dat"), "other.part".into()]
        );
    }

    #[test]
    fn a_record_that_cannot_be_written_leaves_nothing() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(place.path(), "bay", 1000, 10).expect("it opens");
        let name = folder.name(1, None);
        // The place of the configuration is taken.
        fs::create_dir(place.path().join(format!("{name}.cfg.part"))).expect("it makes");
        folder.write(&files(name.clone())).expect_err("it cannot be written");
        assert_eq!(there(place.path()), [format!("{name}.cfg.part")]);
    }
}
