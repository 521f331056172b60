//! `/dev/urandom` and `/dev/random` of a node whose runs are to be the same: a file in their place, from which
//! each program reads what follows from its seed. random(4)
//!
//! Each open file has numbers of its own, which depend on the program that opens it and on how many it has
//! opened before, and not on what others read. What is written there goes nowhere.

use std::collections::BTreeMap;
use std::io::{self, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use random::Random;
use rustix::mount::mount_bind;

use super::device::{Device, Next};
use super::mount;
use super::wire::{self, Attributes, Call, ROOT, Reply, Request};
use domain::{Domain, poll_until, readable};
use runtime::launch::members;

const URANDOM: &str = "/dev/urandom";
const RANDOM: &str = "/dev/random";

/// Puts the file in the place of both devices in the mount namespace of the calling thread, and answers
/// the FUSE device to pass to [`Randomness::serve`].
///
/// # Errors
/// As [`mount_here`](super::mount_here).
pub fn mount_random_here() -> io::Result<OwnedFd> {
    let device = mount::mount_file_here(Path::new(URANDOM))?;
    mount_bind(URANDOM, RANDOM).map_err(|error| {
        let error = io::Error::from(error);
        io::Error::new(error.kind(), format!("cannot mount {URANDOM} on {RANDOM}: {error}"))
    })?;
    Ok(device)
}

/// A file of random numbers that is served until this is dropped.
#[derive(Debug)]
pub struct Randomness {
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl Randomness {
    /// Serves the file on a mounted device, for programs of a domain. Who is none of them reads what
    /// follows from `others`.
    ///
    /// # Errors
    /// When the kernel has no descriptors or threads left.
    pub fn serve(fd: OwnedFd, domain: Arc<Domain>, others: u64) -> io::Result<Self> {
        let (stopped, stop) = io::pipe()?;
        let mut file = File { open: BTreeMap::new(), opened: 0, others: Random::new(others) };
        let seed =
            move |thread| domain.program(members::program_of(&domain, thread)?)?.opens_random();
        let thread = std::thread::Builder::new().name("random-file".into()).spawn(move || {
            let device = Device::new(fd);
            let mut buffer = vec![0; wire::BUFFER];
            // When it ends, readers are told that the file is gone.
            while matches!(serve_one(&device, &stopped, &mut file, &seed, &mut buffer), Ok(true)) {}
        })?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Randomness {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic aborts the process, so there is no error to pass on.
            let _ = thread.join();
        }
    }
}

/// Serves a request when there is one; whether there may be more.
fn serve_one(
    device: &Device,
    stopped: &impl AsFd,
    file: &mut File,
    seed: &impl Fn(i32) -> Option<Random>,
    buffer: &mut [u8],
) -> io::Result<bool> {
    let mut fds = [readable(device.as_fd()), readable(stopped.as_fd())];
    poll_until(&mut fds, None)?;
    if !fds[1].revents().is_empty() {
        return Ok(false);
    }
    match device.next(buffer)? {
        Next::Request(Request { call: Call::Destroy, .. }) | Next::End => return Ok(false),
        Next::Request(request) => {
            if let Some(reply) = file.answer(&request, seed) {
                device.send(request.unique, &reply)?;
            }
        }
        Next::Nothing => {}
    }
    Ok(true)
}

/// The file, as the kernel asks for it.
struct File {
    open: BTreeMap<u64, Random>,
    opened: u64,
    others: Random,
}

impl File {
    /// `seed` answers from what the program of a thread is to read. `None` if no reply is wanted.
    fn answer(
        &mut self,
        request: &Request<'_>,
        seed: &impl Fn(i32) -> Option<Random>,
    ) -> Option<Reply> {
        Some(match request.call {
            Call::Init { major } if major < 7 => Reply::error(libc::EPROTO),
            Call::Init { .. } => Reply::init(),
            Call::GetAttributes | Call::SetAttributes { .. } => attributes(),
            Call::Open { .. } => {
                self.opened += 1;
                let random =
                    seed(request.thread).unwrap_or_else(|| Random::new(self.others.number()));
                self.open.insert(self.opened, random);
                Reply::opened(self.opened)
            }
            Call::Read { handle, size, .. } => match self.open.get_mut(&handle) {
                Some(random) => Reply::data(octets(random, size)),
                None => Reply::error(libc::EBADF),
            },
            Call::Write { data } => Reply::written(data.len()),
            Call::Release { handle } => {
                self.open.remove(&handle);
                Reply::done()
            }
            Call::Statistics => Reply::statistics(),
            Call::Interrupt { .. } | Call::Forget | Call::Destroy => return None,
            Call::Lookup { .. }
            | Call::OpenFolder
            | Call::ReadFolder { .. }
            | Call::ReleaseFolder
            | Call::Reshape
            | Call::Other => Reply::error(libc::ENOSYS),
        })
    }
}

fn attributes() -> Reply {
    Reply::attributes(&Attributes {
        node: ROOT,
        mode: libc::S_IFREG | 0o666,
        links: 1,
        owner: mount::user(),
    })
}

fn octets(random: &mut Random, size: u32) -> Vec<u8> {
    let mut octets = vec![0; size as usize];
    for piece in octets.chunks_mut(size_of::<u64>()) {
        piece.copy_from_slice(&random.number().to_ne_bytes()[..piece.len()]);
    }
    octets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(file: &mut File, call: Call<'_>) -> Option<Reply> {
        let request = Request { unique: 1, node: ROOT, thread: 7, call };
        file.answer(&request, &|thread| (thread == 7).then_some(Random::new(3)))
    }

    #[test]
    fn each_open_file_is_read_on_whatever_the_offset() {
        let mut file = File { open: BTreeMap::new(), opened: 0, others: Random::new(1) };
        let whole = octets(&mut Random::new(3), 24);
        for handle in [1, 2] {
            assert_eq!(ask(&mut file, Call::Open { flags: 0 }), Some(Reply::opened(handle)));
        }
        let mut read = |handle, size| ask(&mut file, Call::Read { handle, offset: 0, size });
        assert_eq!(read(1, 8), Some(Reply::data(whole[..8].to_vec())));
        assert_eq!(read(2, 16), Some(Reply::data(whole[..16].to_vec())));
        assert_eq!(read(1, 16), Some(Reply::data(whole[8..].to_vec())));
        assert_eq!(read(3, 16), Some(Reply::error(libc::EBADF)));
    }

    #[test]
    fn what_is_written_goes_nowhere_and_a_piece_may_have_any_length() {
        let mut file = File { open: BTreeMap::new(), opened: 0, others: Random::new(1) };
        assert_eq!(ask(&mut file, Call::Write { data: b"seed" }), Some(Reply::written(4)));
        assert_eq!(octets(&mut Random::new(3), 0), [0; 0]);
        assert_eq!(octets(&mut Random::new(3), 11).len(), 11);
    }
}
