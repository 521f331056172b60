use std::fs;
use std::io::Read as _;
use std::process::Command;

use super::*;

/// What a machine under any load does within.
const PATIENCE: Duration = Duration::from_secs(20);

const ROTATION: Rotation =
    Rotation { size_octets_max: 4 << 20, age_max: Duration::from_secs(3600), keep: 3 };

fn open(path: &Path) -> Lines {
    Lines::open("qctest", Some(path), ROTATION).expect("the file")
}

fn account(lines: &Lines) -> Account {
    lines.account().expect("there is a file")
}

/// Waits until this holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Hands lines over one by one until more were lost than were before.
fn overflow(lines: &mut Lines) {
    let line = "a line of a kilobyte ".repeat(50);
    let lost = account(lines).lost;
    while account(lines).lost == lost {
        (0..1000).for_each(|_| lines.add(&line));
        lines.write();
    }
}

fn pipe(folder: &Path) -> PathBuf {
    let path = folder.join("pipe");
    let made = Command::new("mkfifo").arg(&path).status().expect("mkfifo is there");
    assert!(made.success());
    path
}

#[test]
fn lines_come_behind_those_that_were_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("records.jsonl");
    fs::write(&path, "before\n").expect("a file");
    let mut lines = open(&path);
    lines.add(1);
    lines.add("two");
    lines.write();
    lines.write();
    lines.add("three");
    lines.finish();
    assert_eq!(fs::read_to_string(&path).expect("the file"), "before\n1\ntwo\nthree\n");
    let all = Account { lost: 0, write_errors: 0, is_writing: true, warning: None };
    assert_eq!(account(&lines), all);
}

#[test]
fn lines_that_find_no_room_are_tried_again_and_counted_at_the_end() {
    let mut lines = open(Path::new("/dev/full"));
    lines.add("longer than there is room");
    lines.write();
    until("the second attempt", || account(&lines).write_errors >= 2);
    assert!(!account(&lines).is_writing);
    lines.add("another");
    lines.finish();
    let all = account(&lines);
    assert_eq!(all.lost, 2, "{all:?}");
    assert!(all.warning.is_some_and(|why| why.contains("No space left")));
}

#[test]
fn what_waits_is_bounded() {
    let mut lines = open(Path::new("/dev/full"));
    overflow(&mut lines);
    let waiting = lines.shared.as_ref().expect("a file").lock().text.len();
    assert!(lines.text.is_empty() && waiting <= WAITING_OCTETS_MAX, "{waiting}");
}

#[test]
fn a_pipe_that_nobody_reads_keeps_nobody_and_is_written_when_somebody_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = pipe(folder.path());
    let mut lines = open(&path);
    lines.add("first");
    lines.write();
    until("it is told", || !account(&lines).is_writing);
    let mut reader = fs::File::open(&path).expect("the pipe");
    until("it is written", || account(&lines).is_writing);
    // Somebody who is there and does not read: a pipe holds less than what may wait.
    overflow(&mut lines);
    until("a slow reader is told", || {
        lines.write();
        !account(&lines).is_writing
    });
    let begin = Instant::now();
    lines.finish();
    assert!(begin.elapsed() < LAST_LINES_MAX + SLOW, "the end waits for a reader");
    let mut first = [0; 6];
    reader.read_exact(&mut first).expect("what was written");
    assert_eq!(&first, b"first\n");
    assert!(account(&lines).lost > 0);
}

#[test]
fn a_gap_is_named_where_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = pipe(folder.path());
    let mut lines = open(&path);
    overflow(&mut lines);
    let lost = account(&lines).lost;
    let mut reader = fs::File::open(&path).expect("the pipe");
    let read = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("text");
        text
    });
    until("it is written", || account(&lines).is_writing);
    lines.add("after the gap");
    lines.finish();
    drop(lines);
    let text = read.join().expect("it reads");
    let last: Vec<_> = text.lines().rev().take(2).collect();
    assert_eq!(last[0], "after the gap");
    assert!(last[1].contains(&format!("\"lost\":{lost},")), "{}", last[1]);
}

#[test]
fn a_reader_that_leaves_costs_no_whole_line_and_the_next_one_begins_with_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = pipe(folder.path());
    let mut lines = open(&path);
    let mut reader = fs::File::open(&path).expect("the pipe");
    lines.add("first");
    lines.write();
    reader.read_exact(&mut [0; 6]).expect("the first line");
    drop(reader);
    lines.add("second");
    lines.write();
    until("it is told", || !account(&lines).is_writing);
    let mut reader = fs::File::open(&path).expect("the pipe");
    let mut second = [0; 7];
    reader.read_exact(&mut second).expect("the second line");
    assert_eq!(&second, b"second\n");
    assert_eq!(account(&lines).lost, 0);
}

#[test]
fn a_file_that_vanishes_is_made_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = folder.path().join("disk");
    fs::create_dir(&inner).expect("a folder");
    let path = inner.join("records.jsonl");
    let mut lines = open(&path);
    let read = || fs::read_to_string(&path).unwrap_or_default();
    lines.add("one");
    lines.write();
    until("it is written", || read() == "one\n");
    fs::remove_dir_all(&inner).expect("it goes");
    lines.add("two");
    lines.write();
    until("it is told", || !account(&lines).is_writing);
    fs::create_dir(&inner).expect("it comes back");
    until("it is written again", || account(&lines).is_writing);
    lines.finish();
    assert_eq!((read().as_str(), account(&lines).lost), ("two\n", 0));
}

#[test]
fn a_line_that_was_torn_is_not_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("records.jsonl");
    fs::write(&path, "whole\nto").expect("a file");
    let mut lines = open(&path);
    lines.add("next");
    lines.finish();
    assert_eq!(fs::read_to_string(&path).expect("the file"), "whole\nto\nnext\n");
}

#[test]
fn a_file_that_cannot_be_written_names_itself_and_the_fix() {
    let error = Lines::open("qctest", Some(Path::new("/dev/null/records.jsonl")), ROTATION)
        .expect_err("no folder");
    let said = error.to_string();
    assert!(said.contains("/dev/null/records.jsonl") && said.contains("use a different file"));
}

/// The path of a file that was put aside.
fn aside(path: &Path, number: u32) -> PathBuf {
    PathBuf::from(format!("{}.{number}", path.display()))
}

/// Runs a program that adds lines of an octet each to files of at most 8 octets.
fn run_with(path: &Path, keep: u64, lines: impl IntoIterator<Item = u32>) {
    let rotation = Rotation { size_octets_max: 8, keep, ..ROTATION };
    for line in lines {
        let mut one = Lines::open("qctest", Some(path), rotation).expect("the file");
        one.add(line);
        one.finish();
        assert_eq!(account(&one).lost, 0);
    }
}

#[test]
fn a_file_that_is_full_is_put_aside_and_the_oldest_removed_whoever_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("records.jsonl");
    run_with(&path, 3, (0..20).map(|number| number % 10));
    let read = |path: &Path| fs::read_to_string(path).expect("the file").replace('\n', "");
    assert_eq!(read(&path), "6789");
    let put_aside = [1, 2, 3].map(|number| read(&aside(&path, number)));
    assert_eq!(put_aside, ["2345", "8901", "4567"]);
    assert!(!aside(&path, 4).exists());
    // Fewer are kept from now on.
    run_with(&path, 1, [0]);
    assert_eq!((read(&path), read(&aside(&path, 1))), ("0".into(), "6789".into()));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 2);
}

#[test]
fn a_file_that_is_old_is_put_aside_by_the_time_of_its_first_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("records.jsonl");
    let now_ns = time::common().ns();
    for (age_s, is_old) in [(3000, false), (4000, true)] {
        let first = format!("{{\"realtime_ns\":{}}}\n", now_ns - age_s * 1_000_000_000);
        fs::write(&path, &first).expect("a file");
        let mut lines = open(&path);
        lines.add("new");
        lines.finish();
        assert_eq!(aside(&path, 1).exists(), is_old);
        let whole = if is_old { "new\n".into() } else { first + "new\n" };
        assert_eq!(fs::read_to_string(&path).expect("the file"), whole);
    }
}

#[test]
fn a_file_that_cannot_be_put_aside_is_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("records.jsonl");
    // No file takes the place of a folder.
    fs::create_dir(aside(&path, 1)).expect("a folder");
    run_with(&path, 1, 0..6);
    assert_eq!(fs::read_to_string(&path).expect("the file"), "0\n1\n2\n3\n4\n5\n");
}

#[test]
fn a_link_stays_and_what_it_names_is_put_aside() {
    let folder = tempfile::tempdir().expect("a folder");
    let (link, path) = (folder.path().join("link"), folder.path().join("records.jsonl"));
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    run_with(&link, 3, 0..5);
    assert_eq!(fs::read_to_string(&path).expect("the file"), "4\n");
    assert!(aside(&path, 1).exists() && link.is_symlink());
}
