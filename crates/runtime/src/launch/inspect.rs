//! What a program asks for by a call that is reported, in words for people: which program an exec
//! is to run, who traces a thread, whether a child still has the memory of its parent.
//!
//! Memory of programs is read here, which may take as long as the program likes. So only a thread
//! that works for that program alone asks.

use std::fs;
use std::path::Path;

use libc::pid_t;
use vtime::masks;

use super::tracee::read_memory;
use os::process::{field, name_of, parent_of, share_memory, signal_set, status_of};
use os::seccomp::Notification;

const PATH_LENGTH_MAX: usize = 4096;
/// Longest path that is shown, in letters.
const SHOWN_MAX: usize = 200;
/// Memory is read in pieces that lie within one page, as what follows may not be mapped.
const PIECE: u64 = 256;

/// The file that an exec is to run, if it can be read.
pub(super) fn program_of(exec: &Notification) -> Option<String> {
    let thread = exec.thread.cast_signed();
    let [first, second, ..] = exec.args;
    if exec.call() == libc::SYS_execve {
        return path_at(thread, first);
    }
    let path = path_at(thread, second)?;
    if !path.is_empty() {
        return Some(path);
    }
    let file = fs::read_link(format!("/proc/{thread}/fd/{}", first as u32)).ok()?;
    Some(printable(file.as_os_str().as_encoded_bytes()))
}

pub(super) fn running(thread: pid_t) -> String {
    let file = fs::read_link(format!("/proc/{thread}/exe"));
    file.map_or_else(|_| thread.to_string(), |path| printable(path.as_os_str().as_encoded_bytes()))
}

/// Why a program of which the file lies here cannot be put into virtual time, although it looks as
/// any other.
pub(super) fn unsuited(file: &str) -> Option<&'static str> {
    let folder = Path::new(file).parent()?.file_name()?;
    (folder == "valgrind").then_some(
        "Valgrind runs its program on a simulated processor, with calls, signals and memory that \
         the image would need; run it outside the domain",
    )
}

fn path_at(thread: pid_t, address: u64) -> Option<String> {
    let mut octets = Vec::new();
    while octets.len() < PATH_LENGTH_MAX {
        let from = address.checked_add(octets.len() as u64)?;
        let mut piece = [0; PIECE as usize];
        let count =
            read_memory(thread, from, &mut piece[..(PIECE - from % PIECE) as usize]).ok()?;
        let read = &piece[..count];
        if let Some(end) = read.iter().position(|octet| *octet == 0) {
            octets.extend_from_slice(&read[..end]);
            return Some(printable(&octets));
        }
        octets.extend_from_slice(read);
        if read.is_empty() {
            return None;
        }
    }
    None
}

/// Octets of a program as a line can show them.
fn printable(octets: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(octets).chars().take(SHOWN_MAX).collect();
    text.chars().map(|letter| if letter.is_control() { '\u{fffd}' } else { letter }).collect()
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Tracer {
    Nobody,
    Ourselves,
    Another(String),
}

/// `None` if the thread is gone.
pub(super) fn tracer_of(thread: pid_t) -> Option<Tracer> {
    Some(match field(&status_of(thread), "TracerPid")? {
        "0" => Tracer::Nobody,
        tracer if Path::new("/proc/self/task").join(tracer).exists() => Tracer::Ourselves,
        tracer => Tracer::Another(printable(name_of(tracer.parse().ok()?).as_bytes())),
    })
}

/// The parent of a thread, if the two have one and the same memory: the parent waits in `vfork`
/// until the other has run another program.
pub(super) fn parent_with_same_memory(thread: pid_t) -> Option<pid_t> {
    let parent = parent_of(thread).filter(|parent| *parent > 0)?;
    share_memory(thread, parent).then_some(parent)
}

/// Whether a thread's process has a handler of SIGSYS, which can be the image only.
pub(super) fn has_image(thread: pid_t) -> bool {
    signal_set(&status_of(thread), "SigCgt") & masks::SIGSYS_BIT != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn a_path_is_read_whole_however_it_lies_and_shown_without_what_a_terminal_obeys() {
        let own = rustix::thread::gettid().as_raw_pid();
        for length in [0usize, 1, 127, 300, 2000] {
            let path = CString::new(vec![b'x'; length]).unwrap();
            let read = path_at(own, path.as_ptr() as u64).unwrap();
            assert_eq!(read.len(), length.min(SHOWN_MAX));
        }
        let path = CString::new(b"/a\x1b[2J\n\xff".to_vec()).unwrap();
        let read = path_at(own, path.as_ptr() as u64);
        assert_eq!(read.as_deref(), Some("/a\u{fffd}[2J\u{fffd}\u{fffd}"));
        for nowhere in [0, 1, u64::MAX, u64::MAX - 10] {
            assert_eq!(path_at(own, nowhere), None);
        }
    }

    #[test]
    fn tools_of_valgrind_are_known_by_where_they_lie() {
        assert!(unsuited("/usr/libexec/valgrind/memcheck-amd64-linux").is_some());
        for file in ["/usr/bin/valgrind", "/bin/true", "4711", "", "/"] {
            assert_eq!(unsuited(file), None, "{file}");
        }
    }

    #[test]
    fn this_thread_is_traced_by_nobody_and_has_memory_of_its_own() {
        let own = rustix::thread::gettid().as_raw_pid();
        assert_eq!(tracer_of(own), Some(Tracer::Nobody));
        assert_eq!(parent_with_same_memory(own), None);
    }
}
