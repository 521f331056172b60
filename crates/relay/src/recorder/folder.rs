//! The folder of records, written by a thread of its own: a disk that is slow keeps that thread alone.
//!
//! A record is what is kept of one disturbance: a pair of files, or one for each rate of its streams. It is
//! counted once, and removed with all its pairs.
//!
//! A pair appears under its name when it is complete and on the disk: it is written under another
//! name, synchronised and renamed, the data before the configuration, because who looks for records looks
//! for configurations. What a relay that was killed has left of one is removed at the next start. The
//! oldest records make room for new ones; a new one for which there is none at all removes nothing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use iec61850::comtrade::{date, time_of_day};
use sha2::{Digest as _, Sha256};

/// Ending of a file that is not complete.
const PART: &str = "part";
/// Letters of a relay's name in those of files, which may have 255 with all that is behind it.
const NAME_MAX: usize = 64;

/// A pair of files before it is in the folder.
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

    /// The name of a pair whose trigger was then; where there are several rates, it has its own behind it.
    pub(super) fn name(&self, trigger_ns: u64, rate: Option<u16>) -> String {
        let (seconds, us) = (trigger_ns / 1_000_000_000, trigger_ns % 1_000_000_000 / 1000);
        let (year, month, day) = date(seconds / 86_400);
        let (hour, minute, second) = time_of_day(seconds);
        let (day, time) =
            (year * 10_000 + month * 100 + day, hour * 10_000 + minute * 100 + second);
        let (prefix, rate) =
            (&self.prefix, rate.map_or(String::new(), |rate| format!("-{rate}Hz")));
        format!("{prefix}{day:08}T{time:06}_{us:06}Z{rate}")
    }

    /// Writes the pairs of a record, each of them whole or not at all; an error says why one is not
    /// there, and what to do.
    pub(super) fn write(&self, pairs: &[Files]) -> Result<(), String> {
        let octets: usize =
            pairs.iter().map(|files| files.configuration.len() + files.data.len()).sum();
        if octets as u64 > self.octets_max {
            let max = self.octets_max;
            return Err(format!(
                "it has {octets} octets, and all records together may have {max}: give a larger \
                 `size_max`, or a shorter `length_max`; older records stay"
            ));
        }
        self.make_room(octets as u64);
        // One that fails keeps none of the others from the disk.
        let mut failures: Vec<io::Error> =
            pairs.iter().filter_map(|files| self.write_one(files).err()).collect();
        failures.pop().map_or(Ok(()), |error| {
            Err(format!("{error}: free disk space, or give another `folder`; all else goes on"))
        })
    }

    fn write_one(&self, files: &Files) -> io::Result<()> {
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

    /// Removes the oldest records, until one more of this many octets fits.
    fn make_room(&self, octets: u64) {
        // Names begin with the time.
        let mut records = BTreeMap::<&str, Vec<&str>>::new();
        let names = self.names().unwrap_or_default();
        for pair in names.iter().filter_map(|name| name.strip_suffix(".cfg")) {
            records.entry(self.without_rate(pair)).or_default().push(pair);
        }
        let size = |pair: &&str| -> u64 {
            let of = |ending| self.at(pair, ending).metadata().map_or(0, |about| about.len());
            of("cfg") + of("dat")
        };
        let mut sum = octets + records.values().flatten().map(size).sum::<u64>();
        let mut count = records.len() + 1;
        for pairs in records.values() {
            if count <= self.keep && sum <= self.octets_max {
                break;
            }
            (sum, count) = (sum - pairs.iter().map(size).sum::<u64>(), count - 1);
            for (pair, ending) in pairs.iter().flat_map(|pair| [(pair, "cfg"), (pair, "dat")]) {
                let _gone = fs::remove_file(self.at(pair, ending));
            }
        }
    }

    /// What the names of all pairs of a record have in common.
    fn without_rate<'n>(&self, pair: &'n str) -> &'n str {
        let behind = pair.get(self.prefix.len()..).and_then(|rest| rest.find('-'));
        behind.map_or(pair, |at| &pair[..self.prefix.len() + at])
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

/// A name without what means something in paths; where that changed it, with a hash of it, so that no
/// two relays take their records for each other's.
fn file_name(name: &str) -> String {
    let is_kept = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-');
    let letters = name.chars().take(NAME_MAX);
    let kept: String = letters.map(|letter| if is_kept(letter) { letter } else { '_' }).collect();
    if kept == name {
        return kept;
    }
    let hash = Sha256::digest(name);
    let hash: String = hash.iter().take(4).map(|octet| format!("{octet:02x}")).collect();
    format!("{kept}_{hash}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(name: String) -> [Files; 1] {
        [Files { name, configuration: "station".into(), data: vec![0; 93] }]
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
        assert_eq!(second(1_582_934_400), "bay_1_f2085d00-20200229T000000_000001Z");
        assert_eq!(
            folder.name(1_782_021_845_720_410_999, Some(4800)),
            "bay_1_f2085d00-20260621T060405_720410Z-4800Hz"
        );
        fs::write(path.join("bay_1_f2085d00-notes.cfg"), "of somebody else").expect("it writes");
        for each in 1..=5 {
            folder.write(&files(second(each))).expect("it writes");
        }
        let kept =
            |names: Vec<String>| names.into_iter().filter(|name| name.ends_with("cfg")).collect();
        let records: Vec<String> = kept(there(&path));
        let expected = [3, 4, 5].map(|each| format!("{}.cfg", second(each)));
        assert_eq!(records, [&expected[..], &["bay_1_f2085d00-notes.cfg".to_owned()]].concat());
        let folder = Folder::open(&path, "bay/1", 1000, 2).expect("it opens");
        folder.write(&files(second(6))).expect("it writes");
        assert_eq!(kept(there(&path)).len(), 3);
    }

    #[test]
    fn a_record_for_which_there_is_no_room_at_all_removes_none() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(place.path(), "bay", 250, 10).expect("it opens");
        let name = |second: u64, rate| folder.name(second * 1_000_000_000, rate);
        folder.write(&files(name(1, None))).expect("it fits");
        let before = there(place.path());
        let rates = [1, 2, 3].map(|rate| files(name(2, Some(rate))).into_iter().next());
        let rates: Vec<Files> = rates.into_iter().flatten().collect();
        let why = folder.write(&rates).expect_err("300 octets are too many");
        assert!(why.contains("300 octets") && why.contains("`size_max`"), "{why}");
        assert_eq!(there(place.path()), before);
        folder.write(&rates[..2]).expect("two fit, without the one before");
        let names: Vec<String> = there(place.path());
        let written = [1, 2].map(|rate| name(2, Some(rate)));
        let expected: Vec<String> = written
            .iter()
            .flat_map(|name| [format!("{name}.cfg"), format!("{name}.dat")])
            .collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn a_record_of_several_rates_is_counted_once_and_removed_whole() {
        let place = tempfile::tempdir().expect("a folder");
        let pairs = |folder: &Folder, second: u64| -> Vec<Files> {
            let name = |rate| folder.name(second * 1_000_000_000, Some(rate));
            [4000, 4800].into_iter().flat_map(|rate| files(name(rate))).collect()
        };
        let kept = || there(place.path()).iter().filter(|name| name.ends_with("cfg")).count();
        // A dash in the relay's name is none before a rate.
        let folder = Folder::open(place.path(), "bay-Q01", 10_000, 2).expect("it opens");
        for second in 1..=2 {
            folder.write(&pairs(&folder, second)).expect("it writes");
        }
        assert_eq!(kept(), 4);
        folder.write(&pairs(&folder, 3)).expect("it writes");
        assert_eq!(kept(), 4, "two records of two rates");
        // Too many octets in all: no half of a record stays.
        let folder = Folder::open(place.path(), "bay-Q01", 450, 10).expect("it opens");
        folder.write(&pairs(&folder, 4)).expect("it writes");
        let first = &pairs(&folder, 3)[0].name;
        assert_eq!((kept(), there(place.path())[0].as_str()), (4, &*format!("{first}.cfg")));
        folder.write(&files(folder.name(5_000_000_000, None))).expect("it writes");
        assert_eq!(kept(), 3);
    }

    #[test]
    fn no_two_relays_share_the_names_of_files() {
        let names = ["bay 1", "bay/1", "bay_1", "bay.1", &"b".repeat(300), &"b".repeat(301)];
        let files: std::collections::BTreeSet<String> = names.map(file_name).into();
        assert_eq!(files.len(), names.len(), "{files:?}");
        assert!(files.iter().all(|name| name.len() < 100), "{files:?}");
        assert_eq!(file_name("bay_1"), "bay_1");
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
