//! The folder of points as a program sees it: flat, one file for each point and one for all of
//! them, nothing cached.
//!
//! This decides what each request means. Values are somebody else's: a read that needs a new
//! sample and a write that sets a point are handed back as [`Answer`]s. A sample belongs to one
//! open file: read at offset 0 it is taken again, further on it goes on to its end, so a program
//! that reads in small pieces never sees two values mixed.

use std::collections::BTreeMap;

use vtime::VirtualSpan;

use super::wire::{Attributes, Call, Names, ROOT, Reply, Request, WRITE_MAX};
use super::{ALL, text};
use plant::name::PointName;
use scenario::model::PointFile;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Answer {
    Reply(Reply),
    /// Nothing is to be sent.
    Silence,
    /// Values are needed; pass them to [`Folder::sampled`].
    Sample(Sample),
    /// A point gets a value; on success reply [`Reply::written`] with the length.
    Set {
        file: usize,
        value: f64,
        length: usize,
    },
    /// The write is no number; the reply is `EINVAL`.
    NotANumber {
        file: usize,
        written: String,
    },
    /// The request with this number was interrupted.
    Interrupted(u64),
    /// The mount is gone.
    End,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sample {
    pub(super) file: usize,
    handle: u64,
    offset: u64,
    size: u32,
}

#[derive(Debug)]
pub(super) struct Folder {
    files: Vec<PointFile>,
    owner: (u32, u32),
    open: BTreeMap<u64, Open>,
    handle_next: u64,
}

#[derive(Debug)]
struct Open {
    file: usize,
    sample: Option<String>,
}

/// Files have the numbers after the folder's own; that of all points comes last.
const FIRST_FILE: u64 = ROOT + 1;

impl Folder {
    /// A folder of `files`, owned by `owner` (user and group).
    pub(super) fn new(files: Vec<PointFile>, owner: (u32, u32)) -> Self {
        Self { files, owner, open: BTreeMap::new(), handle_next: 1 }
    }

    pub(super) fn points(&self, file: usize) -> Vec<PointName> {
        self.files_of(file).iter().map(|file| file.point.clone()).collect()
    }

    /// Virtual time that a read of a file takes: of all points, that of the slowest.
    pub(super) fn latency(&self, file: usize) -> VirtualSpan {
        let latencies = self.files_of(file).iter().map(|file| file.latency);
        latencies.max().unwrap_or(VirtualSpan::ZERO)
    }

    pub(super) fn name(&self, file: usize) -> &str {
        self.files.get(file).map_or(ALL, |file| &file.point.0)
    }

    pub(super) fn answer(&mut self, request: &Request<'_>) -> Answer {
        let reply = match request.call {
            Call::Read { handle, offset, size } => return self.read(handle, offset, size),
            Call::Write { data } => return self.write(request.node, data),
            Call::Interrupt { unique } => return Answer::Interrupted(unique),
            Call::Forget => return Answer::Silence,
            Call::Destroy => return Answer::End,
            Call::Init { major } if major < 7 => Reply::error(libc::EPROTO),
            Call::Init { .. } => Reply::init(),
            Call::Lookup { name } => self.lookup(request.node, name),
            Call::GetAttributes => self.attributes_of(request.node),
            Call::SetAttributes { size, ownership } => {
                self.set_attributes(request.node, size, ownership)
            }
            Call::Open { flags } => self.open(request.node, flags),
            Call::Release { handle } => {
                self.open.remove(&handle);
                Reply::done()
            }
            Call::OpenFolder => Reply::opened(0),
            Call::ReadFolder { offset, size } => self.names(offset, size),
            Call::ReleaseFolder => Reply::done(),
            Call::Statistics => Reply::statistics(),
            Call::Reshape => Reply::error(libc::EACCES),
            Call::Other => Reply::error(libc::ENOSYS),
        };
        Answer::Reply(reply)
    }

    /// The reply to a read whose values are here now.
    pub(super) fn sampled(&mut self, read: Sample, values: &[f64]) -> Reply {
        let text = match values {
            [value] if read.file < self.files.len() => text::format(*value),
            _ => self.files.iter().zip(values).map(line).collect(),
        };
        let piece = piece(&text, read.offset, read.size);
        if let Some(open) = self.open.get_mut(&read.handle) {
            open.sample = Some(text);
        }
        Reply::data(piece)
    }

    fn read(&mut self, handle: u64, offset: u64, size: u32) -> Answer {
        let Some(open) = self.open.get(&handle) else {
            return Answer::Reply(Reply::error(libc::EBADF));
        };
        match &open.sample {
            Some(text) if offset > 0 => Answer::Reply(Reply::data(piece(text, offset, size))),
            _ => Answer::Sample(Sample { file: open.file, handle, offset, size }),
        }
    }

    fn write(&mut self, node: u64, data: &[u8]) -> Answer {
        match (self.place(node), text::parse(data)) {
            (None, _) => Answer::Reply(Reply::error(libc::EISDIR)),
            (Some(file), Some(value)) => Answer::Set { file, value, length: data.len() },
            (Some(file), None) => {
                let written = String::from_utf8_lossy(&data[..data.len().min(40)]).into_owned();
                Answer::NotANumber { file, written }
            }
        }
    }

    fn open(&mut self, node: u64, flags: u32) -> Reply {
        let Some(file) = self.place(node) else {
            return Reply::error(libc::EISDIR);
        };
        // The kernel has checked permissions, but not for root, which they do not bind.
        let reads_only = flags.cast_signed() & libc::O_ACCMODE == libc::O_RDONLY;
        if !reads_only && !self.is_writable(file) {
            return Reply::error(libc::EACCES);
        }
        let handle = self.handle_next;
        self.handle_next += 1;
        self.open.insert(handle, Open { file, sample: None });
        Reply::opened(handle)
    }

    fn lookup(&self, folder: u64, name: &[u8]) -> Reply {
        let found = (0..=self.files.len()).find(|file| self.name(*file).as_bytes() == name);
        match found.filter(|_| folder == ROOT) {
            Some(file) => Reply::entry(&self.attributes(file)),
            None => Reply::error(libc::ENOENT),
        }
    }

    fn attributes_of(&self, node: u64) -> Reply {
        let attributes = match self.place(node) {
            Some(file) => self.attributes(file),
            None if node == ROOT => {
                Attributes { node: ROOT, mode: libc::S_IFDIR | 0o555, links: 2, owner: self.owner }
            }
            None => return Reply::error(libc::ENOENT),
        };
        Reply::attributes(&attributes)
    }

    /// Truncating (`>` in a shell) and touching change nothing and are fine.
    fn set_attributes(&self, node: u64, size: Option<u64>, ownership: bool) -> Reply {
        match (self.place(node), size) {
            _ if ownership => Reply::error(libc::EPERM),
            (Some(file), Some(_)) if !self.is_writable(file) => Reply::error(libc::EACCES),
            (_, Some(size)) if size > 0 => Reply::error(libc::EINVAL),
            _ => self.attributes_of(node),
        }
    }

    fn attributes(&self, file: usize) -> Attributes {
        let permissions = if self.is_writable(file) { 0o644 } else { 0o444 };
        Attributes {
            node: node_of(file),
            mode: libc::S_IFREG | permissions,
            links: 1,
            owner: self.owner,
        }
    }

    fn names(&self, offset: u64, size: u32) -> Reply {
        let dots = [(ROOT, libc::S_IFDIR, "."), (ROOT, libc::S_IFDIR, "..")];
        let files =
            (0..=self.files.len()).map(|file| (node_of(file), libc::S_IFREG, self.name(file)));
        let mut names = Names::new(size);
        let skip = usize::try_from(offset).unwrap_or(usize::MAX);
        for (next, (node, kind, name)) in (1..).zip(dots.into_iter().chain(files)).skip(skip) {
            if !names.add(node, next, kind, name.as_bytes()) {
                break;
            }
        }
        names.reply()
    }

    fn place(&self, node: u64) -> Option<usize> {
        let place = usize::try_from(node.checked_sub(FIRST_FILE)?).ok()?;
        (place <= self.files.len()).then_some(place)
    }

    fn files_of(&self, file: usize) -> &[PointFile] {
        self.files.get(file).map_or(&self.files, std::slice::from_ref)
    }

    fn is_writable(&self, file: usize) -> bool {
        self.files.get(file).is_some_and(|file| file.writable)
    }
}

const _: () = assert!(WRITE_MAX >= 4096, "the kernel does not take less");

fn node_of(file: usize) -> u64 {
    FIRST_FILE + file as u64
}

fn line((file, value): (&PointFile, &f64)) -> String {
    format!("{} {}", file.point.0, text::format(*value))
}

fn piece(text: &str, offset: u64, size: u32) -> Vec<u8> {
    let from = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
    let to = from.saturating_add(size as usize).min(text.len());
    text.as_bytes()[from..to].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> Folder {
        let file = |name: &str, writable| PointFile {
            point: PointName(name.into()),
            writable,
            latency: VirtualSpan::ZERO,
        };
        Folder::new(vec![file("generator.wind.kW", false), file("storage.es.kW", true)], (7, 8))
    }

    const WIND: u64 = FIRST_FILE;
    const STORAGE: u64 = FIRST_FILE + 1;

    fn ask(folder: &mut Folder, node: u64, call: Call<'_>) -> Answer {
        folder.answer(&Request { unique: 1, node, thread: 1, call })
    }

    fn refused(errno: i32) -> Answer {
        Answer::Reply(Reply::error(errno))
    }

    fn data(text: &str) -> Answer {
        Answer::Reply(Reply::data(text.into()))
    }

    fn read(folder: &mut Folder, offset: u64, size: u32) -> Answer {
        ask(folder, WIND, Call::Read { handle: 1, offset, size })
    }

    #[test]
    fn names_are_those_of_the_scenario() {
        let mut folder = folder();
        let wind = Attributes { node: WIND, mode: 0o100_444, links: 1, owner: (7, 8) };
        let found = ask(&mut folder, ROOT, Call::Lookup { name: b"generator.wind.kW" });
        assert_eq!(found, Answer::Reply(Reply::entry(&wind)));
        let storage = Attributes { node: STORAGE, mode: 0o100_644, ..wind };
        let shown = ask(&mut folder, STORAGE, Call::GetAttributes);
        assert_eq!(shown, Answer::Reply(Reply::attributes(&storage)));
        let other_case = ask(&mut folder, ROOT, Call::Lookup { name: b"generator.wind.kw" });
        assert_eq!(other_case, refused(libc::ENOENT));
        assert_eq!(ask(&mut folder, 9, Call::GetAttributes), refused(libc::ENOENT));
    }

    #[test]
    fn a_sample_is_read_to_its_end_and_taken_anew_at_the_start() {
        let mut folder = folder();
        ask(&mut folder, WIND, Call::Open { flags: 0 });
        let Answer::Sample(first) = read(&mut folder, 0, 4) else { panic!("no sample") };
        assert_eq!(folder.sampled(first, &[2000.25]), Reply::data(b"2000".into()));
        assert_eq!(read(&mut folder, 4, 4), data(".25\n"));
        assert_eq!(read(&mut folder, 8, 4), data(""));
        assert!(matches!(read(&mut folder, 0, 4), Answer::Sample(_)));
        ask(&mut folder, WIND, Call::Release { handle: 1 });
        assert_eq!(read(&mut folder, 0, 4), refused(libc::EBADF));
    }

    #[test]
    fn a_first_read_in_the_middle_takes_a_sample_too() {
        let mut folder = folder();
        ask(&mut folder, WIND, Call::Open { flags: 0 });
        let Answer::Sample(sample) = read(&mut folder, 3, 100) else { panic!("no sample") };
        assert_eq!(folder.sampled(sample, &[1234.0]), Reply::data(b"4\n".into()));
    }

    #[test]
    fn all_points_are_one_sample() {
        let mut folder = folder();
        let found = ask(&mut folder, ROOT, Call::Lookup { name: b"values" });
        let values = Attributes { node: STORAGE + 1, mode: 0o100_444, links: 1, owner: (7, 8) };
        assert_eq!(found, Answer::Reply(Reply::entry(&values)));
        let writing = Call::Open { flags: libc::O_WRONLY.cast_unsigned() };
        assert_eq!(ask(&mut folder, STORAGE + 1, writing), refused(libc::EACCES));
        ask(&mut folder, STORAGE + 1, Call::Open { flags: 0 });
        let whole = Call::Read { handle: 1, offset: 0, size: 30 };
        let Answer::Sample(sample) = ask(&mut folder, STORAGE + 1, whole) else {
            panic!("no sample")
        };
        assert_eq!(folder.points(sample.file).len(), 2);
        let text = "generator.wind.kW 2000.25\nstorage.es.kW -5\n";
        let reply = folder.sampled(sample, &[2000.25, -5.0]);
        assert_eq!(reply, Reply::data(text[..30].into()));
        let rest = Call::Read { handle: 1, offset: 30, size: 30 };
        assert_eq!(ask(&mut folder, STORAGE + 1, rest), data(&text[30..]));
    }

    #[test]
    fn the_folder_of_one_point_has_its_name_among_all() {
        let mut folder = folder();
        folder.files.truncate(1);
        ask(&mut folder, WIND + 1, Call::Open { flags: 0 });
        let Answer::Sample(sample) = read_of(&mut folder, WIND + 1) else { panic!("no sample") };
        assert_eq!(folder.sampled(sample, &[3.0]), Reply::data(b"generator.wind.kW 3\n".into()));
    }

    fn read_of(folder: &mut Folder, node: u64) -> Answer {
        ask(folder, node, Call::Read { handle: 1, offset: 0, size: 99 })
    }

    #[test]
    fn two_open_files_have_samples_of_their_own() {
        let mut folder = folder();
        for _ in 0..2 {
            ask(&mut folder, WIND, Call::Open { flags: 0 });
        }
        let Answer::Sample(one) = read(&mut folder, 0, 1) else { panic!("no sample") };
        folder.sampled(one, &[11.0]);
        let other = Call::Read { handle: 2, offset: 0, size: 9 };
        let Answer::Sample(other) = ask(&mut folder, WIND, other) else { panic!("no sample") };
        assert_eq!(folder.sampled(other, &[22.0]), Reply::data(b"22\n".into()));
        assert_eq!(read(&mut folder, 1, 9), data("1\n"));
    }

    #[test]
    fn only_numbers_are_written_and_only_where_it_is_allowed() {
        let mut folder = folder();
        let writing = Call::Open { flags: libc::O_WRONLY.cast_unsigned() };
        assert_eq!(ask(&mut folder, WIND, writing), refused(libc::EACCES));
        assert_eq!(ask(&mut folder, STORAGE, writing), Answer::Reply(Reply::opened(1)));
        let set = Answer::Set { file: 1, value: -800.5, length: 7 };
        assert_eq!(ask(&mut folder, STORAGE, Call::Write { data: b"-800.5\n" }), set);
        let words = ask(&mut folder, STORAGE, Call::Write { data: b"full power" });
        assert_eq!(words, Answer::NotANumber { file: 1, written: "full power".into() });
    }

    #[test]
    fn truncating_is_fine_and_everything_else_stays_as_it_is() {
        let mut folder = folder();
        let truncate = |size| Call::SetAttributes { size: Some(size), ownership: false };
        assert!(
            matches!(ask(&mut folder, STORAGE, truncate(0)), Answer::Reply(reply) if reply != Reply::error(libc::EINVAL))
        );
        assert_eq!(ask(&mut folder, STORAGE, truncate(5)), refused(libc::EINVAL));
        assert_eq!(ask(&mut folder, WIND, truncate(0)), refused(libc::EACCES));
        let owner = Call::SetAttributes { size: None, ownership: true };
        assert_eq!(ask(&mut folder, STORAGE, owner), refused(libc::EPERM));
        assert_eq!(ask(&mut folder, ROOT, Call::Reshape), refused(libc::EACCES));
    }

    #[test]
    fn the_folder_lists_its_files_in_pieces() {
        let mut folder = folder();
        let mut offset = 0;
        let mut lengths = Vec::new();
        loop {
            let Answer::Reply(reply) =
                ask(&mut folder, ROOT, Call::ReadFolder { offset, size: 70 })
            else {
                panic!("no reply")
            };
            let length = reply.encode(1).len() - 16;
            if length == 0 {
                break;
            }
            lengths.push(length);
            // Two dots fit in one piece, each file fills one.
            offset += if offset == 0 { 2 } else { 1 };
        }
        assert_eq!(lengths, [64, 48, 40, 32]);
    }
}
