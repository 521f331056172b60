//! Captures of frames as pcapng files, stamped in virtual `CLOCK_REALTIME` with nanoseconds.
//!
//! One file for each node, with one section and one interface, so that any tool for captures
//! reads them (draft-ietf-opsawg-pcapng). Each frame says whether the node sent or received it.
//! [`section`] and [`packet`] make blocks out of values; [`Recorder`] collects blocks and hands
//! them to a thread of its own, because a slow disk must not delay frames. Files are written in
//! whole blocks every tenth of a second, so a killed run leaves readable ones.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use super::stats::LostFrames;
use vtime::{HostSpan, HostTime};

/// Whether a node received or sent a frame, as the flags of a packet have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum Heading {
    Inbound = 1,
    Outbound = 2,
}

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const LINKTYPE_ETHERNET: u16 = 1;

const OPT_END: u16 = 0;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_TSRESOL: u16 = 9;
const EPB_FLAGS: u16 = 2;

const APPLICATION: &str = concat!("quartercycle ", env!("CARGO_PKG_VERSION"));

/// The blocks at the beginning of a file: section header and interface.
pub fn section(interface: &str, description: &str) -> Vec<u8> {
    let mut octets = Vec::new();
    block(&mut octets, SECTION_HEADER, |body| {
        body.extend_from_slice(&BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend_from_slice(&1u16.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        // The length of the section is not known yet.
        body.extend_from_slice(&u64::MAX.to_le_bytes());
        option(body, SHB_USERAPPL, APPLICATION.as_bytes());
        option(body, OPT_END, &[]);
    });
    block(&mut octets, INTERFACE_DESCRIPTION, |body| {
        body.extend_from_slice(&LINKTYPE_ETHERNET.to_le_bytes());
        body.extend_from_slice(&0u16.to_le_bytes());
        // No limit to the length of packets.
        body.extend_from_slice(&0u32.to_le_bytes());
        option(body, IF_NAME, interface.as_bytes());
        option(body, IF_DESCRIPTION, description.as_bytes());
        // Stamps count 10^-9 s.
        option(body, IF_TSRESOL, &[9]);
        option(body, OPT_END, &[]);
    });
    octets
}

/// Appends the block of one frame. Stamps before 1970 cannot be written and count as 1970.
pub fn packet(octets: &mut Vec<u8>, realtime_ns: i64, heading: Heading, frame: &[u8]) {
    let stamp = u64::try_from(realtime_ns).unwrap_or(0);
    let length = u32::try_from(frame.len()).expect("a frame is shorter than 4 GiB");
    block(octets, ENHANCED_PACKET, |body| {
        // The first interface, and the length in the file and on the wire.
        for word in [0, (stamp >> 32) as u32, stamp as u32, length, length] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        body.extend_from_slice(frame);
        pad(body, frame.len());
        option(body, EPB_FLAGS, &(heading as u32).to_le_bytes());
        option(body, OPT_END, &[]);
    });
}

/// Type, length, body, length. The length counts all four and is a multiple of 4.
fn block(octets: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = octets.len();
    octets.extend_from_slice(&kind.to_le_bytes());
    octets.extend_from_slice(&[0; 4]);
    body(octets);
    let length = u32::try_from(octets.len() - begin + 4).expect("a block is shorter than 4 GiB");
    octets[begin + 4..begin + 8].copy_from_slice(&length.to_le_bytes());
    octets.extend_from_slice(&length.to_le_bytes());
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = value.len().min(usize::from(u16::MAX));
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(length as u16).to_le_bytes());
    body.extend_from_slice(&value[..length]);
    pad(body, length);
}

fn pad(body: &mut Vec<u8>, length: usize) {
    body.extend_from_slice(&[0; 3][..length.next_multiple_of(4) - length]);
}

/// How often collected blocks are handed to the writing thread, in host time: a killed run loses
/// no more than this, and a busy one does not wake the thread for every frame.
const WRITE_EVERY: HostSpan = HostSpan::from_ms(100);

/// Collected octets that are handed over at once, to bound memory.
const COLLECTED_OCTETS_MAX: usize = 256 * 1024;

/// Octets that may wait for the disk. A disk slower than the network must not take all memory:
/// frames beyond are missing in the captures, and the run says how many.
const WAITING_OCTETS_MAX: usize = 256 * 1024 * 1024;

/// Blocks for the file with this number, and the stamp of the first frame in them.
type Batch = (usize, i64, Vec<u8>);

/// Several captures that are written beside the frames' way.
#[derive(Debug)]
pub struct Recorder {
    /// By station, which capture is its own; none for those of other hosts.
    of_station: Vec<Option<usize>>,
    captures: Vec<Capture>,
    due: Option<HostTime>,
    /// Octets handed over and not yet written.
    waiting: Arc<AtomicUsize>,
    blocks: mpsc::Sender<Batch>,
    writer: JoinHandle<Vec<Option<(i64, String)>>>,
}

#[derive(Debug, Default)]
struct Capture {
    name: String,
    /// Blocks that were not handed over, and the stamp of the first frame in them.
    collected: Vec<u8>,
    first: Option<i64>,
    /// Frames that found no room, and the stamp of the first of them.
    missing: u64,
    missing_from: Option<i64>,
}

impl Recorder {
    /// Begins `<name>.pcapng` in `folder` for each station that has a name here.
    pub fn begin(folder: &Path, names: &[Option<String>]) -> io::Result<Self> {
        let mut files = Vec::new();
        for name in names.iter().flatten() {
            let path = folder.join(format!("{name}.pcapng"));
            let with_path =
                |error: io::Error| io::Error::new(error.kind(), format!("{path:?}: {error}"));
            let mut file = File::create(&path).map_err(with_path)?;
            let description = format!("eth0 of {name}, stamped in virtual time");
            file.write_all(&section("eth0", &description)).map_err(with_path)?;
            files.push((path, file));
        }
        let (blocks, received) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let writer = {
            let waiting = Arc::clone(&waiting);
            let thread = thread::Builder::new().name("captures".into());
            thread.spawn(move || write(files, &received, &waiting))?
        };
        let capture = |name: &String| Capture { name: name.clone(), ..Capture::default() };
        let captures = names.iter().flatten().map(capture).collect();
        let number = |(station, name): (usize, &Option<String>)| {
            name.is_some().then(|| names[..station].iter().flatten().count())
        };
        let of_station = names.iter().enumerate().map(number).collect();
        Ok(Self { of_station, captures, due: None, waiting, blocks, writer })
    }

    /// Records one frame in the capture of a station; `host` is the host time now.
    pub fn record(
        &mut self,
        station: usize,
        realtime_ns: i64,
        heading: Heading,
        frame: &[u8],
        host: HostTime,
    ) {
        let Some(index) = self.of_station[station] else { return };
        let capture = &mut self.captures[index];
        if self.waiting.load(Ordering::Relaxed) > WAITING_OCTETS_MAX {
            capture.missing_from.get_or_insert(realtime_ns);
            capture.missing += 1;
            return;
        }
        capture.first.get_or_insert(realtime_ns);
        packet(&mut capture.collected, realtime_ns, heading, frame);
        self.due.get_or_insert(host + WRITE_EVERY);
        if capture.collected.len() >= COLLECTED_OCTETS_MAX {
            self.flush(index);
        }
    }

    /// When [`Recorder::write_due`] has to be called; `None` if nothing was collected.
    pub const fn due(&self) -> Option<HostTime> {
        self.due
    }

    /// Hands what was collected to the writing thread if it is time to.
    pub fn write_due(&mut self, host: HostTime) {
        if self.due.is_some_and(|due| due <= host) {
            self.due = None;
            (0..self.captures.len()).for_each(|index| self.flush(index));
        }
    }

    /// Writes all there is. Returns which files lack frames, and from when on.
    #[must_use]
    pub fn finish(mut self) -> Vec<LostFrames> {
        (0..self.captures.len()).for_each(|index| self.flush(index));
        drop(self.blocks);
        let ended = |_| vec![Some((0, "its thread ended".to_owned())); self.captures.len()];
        let failed = self.writer.join().unwrap_or_else(ended);
        let of = |(capture, failed): (&Capture, Option<(i64, String)>)| {
            let count = capture.missing;
            let slow = |from| (from, format!("{count} frames are missing: the disk was too slow"));
            let slow = capture.missing_from.map(slow);
            let (realtime_ns, why) = failed.into_iter().chain(slow).min_by_key(|lost| lost.0)?;
            let file = format!("captures/{}.pcapng", capture.name);
            Some(LostFrames { reason: format!("{file} lacks frames: {why}"), file, realtime_ns })
        };
        self.captures.iter().zip(failed).filter_map(of).collect()
    }

    fn flush(&mut self, index: usize) {
        let capture = &mut self.captures[index];
        if let Some(first) = capture.first.take() {
            let blocks = std::mem::take(&mut capture.collected);
            self.waiting.fetch_add(blocks.len(), Ordering::Relaxed);
            // The thread ends after the sender only; if it could not be, `finish` says so.
            let _ = self.blocks.send((index, first, blocks));
        }
    }
}

/// Writes blocks until there are no more. A file that fails once is left as it is: what comes after
/// frames that are missing would hide that. It ends in the middle of a block, so that it shows in the
/// file itself, even if the agent is killed before it can report it.
fn write(
    files: Vec<(std::path::PathBuf, File)>,
    received: &mpsc::Receiver<Batch>,
    waiting: &AtomicUsize,
) -> Vec<Option<(i64, String)>> {
    let mut failed = vec![None; files.len()];
    for (index, first, blocks) in received {
        let (_, file) = &files[index];
        if failed[index].is_none() {
            let whole = file.metadata().map_or(0, |file| file.len());
            if let Err(error) = (&*file).write_all(&blocks) {
                let now = file.metadata().map_or(whole, |file| file.len());
                if now == whole {
                    // Nothing of it was taken: the end of the last block makes room for no more.
                    let _ = file.set_len(whole.saturating_sub(1));
                }
                failed[index] = Some((first, error.to_string()));
            }
        }
        waiting.fetch_sub(blocks.len(), Ordering::Relaxed);
    }
    failed
}

#[cfg(test)]
pub(super) mod reader {
    //! Reads back what the writer above can have written, and nothing else.

    use super::*;

    #[derive(Clone, PartialEq, Eq, Debug)]
    pub(crate) struct Packet {
        pub(crate) realtime_ns: u64,
        pub(crate) heading: Heading,
        pub(crate) frame: Vec<u8>,
    }

    fn u32_at(octets: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(octets[at..at + 4].try_into().unwrap())
    }

    /// The blocks of a file: kind and body.
    pub(crate) fn blocks(mut octets: &[u8]) -> Vec<(u32, &[u8])> {
        let mut blocks = Vec::new();
        while !octets.is_empty() {
            let (kind, length) = (u32_at(octets, 0), u32_at(octets, 4) as usize);
            assert_eq!(length % 4, 0);
            assert_eq!(u32_at(octets, length - 4) as usize, length);
            blocks.push((kind, &octets[8..length - 4]));
            octets = &octets[length..];
        }
        blocks
    }

    pub(crate) fn packets(octets: &[u8]) -> Vec<Packet> {
        let blocks = blocks(octets);
        assert_eq!((blocks[0].0, blocks[1].0), (SECTION_HEADER, INTERFACE_DESCRIPTION));
        blocks[2..].iter().map(|(kind, body)| packet_of(*kind, body)).collect()
    }

    fn packet_of(kind: u32, body: &[u8]) -> Packet {
        assert_eq!((kind, u32_at(body, 0)), (ENHANCED_PACKET, 0));
        let (length, original) = (u32_at(body, 12) as usize, u32_at(body, 16) as usize);
        assert_eq!(length, original);
        let options = 20 + length.next_multiple_of(4);
        assert_eq!(u32_at(body, options), u32::from(EPB_FLAGS) | 4 << 16);
        assert_eq!(body.len(), options + 12);
        Packet {
            realtime_ns: u64::from(u32_at(body, 4)) << 32 | u64::from(u32_at(body, 8)),
            heading: match u32_at(body, options + 4) {
                1 => Heading::Inbound,
                _ => Heading::Outbound,
            },
            frame: body[20..20 + length].to_vec(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reader::{Packet, blocks, packets};
    use super::*;
    use proptest::prelude::*;
    use std::process::Command;

    #[test]
    fn a_section_names_program_and_interface() {
        let octets = section("eth0", "eth0 of relay");
        let blocks = blocks(&octets);
        assert_eq!(blocks.len(), 2);
        let has = |body: &[u8], text: &str| {
            body.windows(text.len()).any(|window| window == text.as_bytes())
        };
        assert!(has(blocks[0].1, APPLICATION));
        assert!(has(blocks[1].1, "eth0 of relay"));
        assert!(blocks[1].1.windows(8).any(|window| window == [9, 0, 1, 0, 9, 0, 0, 0]));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            written in proptest::collection::vec(
                (0..=i64::MAX, any::<bool>(), proptest::collection::vec(any::<u8>(), 0..100)),
                0..10,
            ),
        ) {
            let mut octets = section("eth0", "");
            let mut expected = Vec::new();
            for (realtime_ns, inbound, frame) in written {
                let heading = if inbound { Heading::Inbound } else { Heading::Outbound };
                packet(&mut octets, realtime_ns, heading, &frame);
                let realtime_ns = realtime_ns.unsigned_abs();
                expected.push(Packet { realtime_ns, heading, frame });
            }
            prop_assert_eq!(packets(&octets), expected);
        }
    }

    fn recorded(folder: &Path) -> Recorder {
        let mut recorder =
            Recorder::begin(folder, &[None, Some("relay".into()), Some("meter".into())]).unwrap();
        let stamp_ns = 1_700_000_000_123_456_789;
        let mut frame = [0u8; 60];
        frame[12..14].copy_from_slice(&0x88b5u16.to_be_bytes());
        // Of a station on another host.
        recorder.record(0, stamp_ns, Heading::Outbound, &frame, HostTime::ZERO);
        recorder.record(1, stamp_ns, Heading::Outbound, &frame, HostTime::ZERO);
        recorder.record(1, stamp_ns + 1, Heading::Inbound, &frame[..59], HostTime::ZERO);
        recorder
    }

    #[test]
    fn files_are_readable_while_the_run_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = recorded(folder.path());
        let read = |name: &str| packets(&std::fs::read(folder.path().join(name)).unwrap());
        assert_eq!(recorder.due(), Some(HostTime::ZERO + WRITE_EVERY));
        recorder.write_due(HostTime::ZERO);
        assert_eq!(read("relay.pcapng"), []);
        recorder.write_due(HostTime::ZERO + WRITE_EVERY);
        while read("relay.pcapng").is_empty() {
            thread::yield_now();
        }
        assert_eq!(recorder.finish(), []);
        let frames: Vec<_> = read("relay.pcapng").iter().map(|p| p.frame.len()).collect();
        assert_eq!(frames, [60, 59]);
        assert_eq!(read("meter.pcapng"), []);
    }

    #[test]
    fn a_disk_that_is_too_slow_costs_frames_and_not_memory() {
        let folder = tempfile::tempdir().unwrap();
        let mut recorder = recorded(folder.path());
        recorder.waiting.fetch_add(WAITING_OCTETS_MAX + 1, Ordering::Relaxed);
        recorder.record(1, 1, Heading::Outbound, &[0; 60], HostTime::ZERO);
        let lost = recorder.finish();
        assert!(lost[0].reason.contains("1 frames are missing: the disk was too slow"), "{lost:?}");
        let file = std::fs::read(folder.path().join("relay.pcapng")).unwrap();
        assert_eq!(packets(&file).len(), 2);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let error =
            Recorder::begin(Path::new("/nowhere/at/all"), &[Some("relay".into())]).unwrap_err();
        assert!(error.to_string().contains("/nowhere/at/all/relay.pcapng"));
    }

    #[test]
    fn tshark_reads_the_same() {
        let folder = tempfile::tempdir().unwrap();
        assert!(recorded(folder.path()).finish().is_empty());
        let output = Command::new("tshark")
            .args(["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len"])
            .args(["-e", "frame.packet_flags_direction", "-e", "frame.interface_name", "-r"])
            .arg(folder.path().join("relay.pcapng"))
            .output();
        let Ok(output) = output else {
            eprintln!("not run: tshark is not installed");
            return;
        };
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert_eq!(lines.len(), 2, "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(lines[0][0], "1700000000.123456789");
        assert_eq!((lines[0][1], lines[1][1]), ("60", "59"));
        assert_eq!(lines[0][3], "eth0");
        assert_ne!(lines[0][2], lines[1][2]);
    }
}
