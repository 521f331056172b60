//! The kernel's side of FUSE, in octets: the few requests that a flat folder of small files
//! gets, or a single file, and the replies to them. Layouts are those of `linux/fuse.h` at protocol 7.31, in the
//! byte order of the host; kernels newer than that speak it too.
//!
//! The protocol is spoken here rather than through a FUSE library because the server must wait
//! for requests, for virtual time and for its own end in one place.

const MAJOR: u32 = 7;
const MINOR: u32 = 31;

/// Largest write in one request. No number is longer.
pub(super) const WRITE_MAX: u32 = 4096;

/// The kernel refuses to hand requests to a smaller buffer (`FUSE_MIN_READ_BUFFER`).
pub(super) const BUFFER: usize = 8192;

/// The folder itself (`FUSE_ROOT_ID`).
pub(super) const ROOT: u64 = 1;

const IN_HEADER: usize = 40;
const OUT_HEADER: usize = 16;
/// Reads and writes go to the server, not to the page cache (`FOPEN_DIRECT_IO`).
const DIRECT_IO: u32 = 1;
/// `FATTR_MODE`, `FATTR_UID` and `FATTR_GID`.
const SETATTR_OWNERSHIP: u32 = 0b111;
/// `FATTR_SIZE`.
const SETATTR_SIZE: u32 = 1 << 3;

/// A request with the number that its reply must carry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request<'a> {
    pub(super) unique: u64,
    pub(super) node: u64,
    /// The thread that makes it, as the mount's namespace of processes has it; 0 of others.
    pub(super) thread: i32,
    pub(super) call: Call<'a>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Call<'a> {
    /// The first request of a mount.
    Init {
        major: u32,
    },
    Lookup {
        name: &'a [u8],
    },
    GetAttributes,
    /// Change of attributes; the size if that is to change, and whether mode or owner are.
    SetAttributes {
        size: Option<u64>,
        ownership: bool,
    },
    Open {
        flags: u32,
    },
    Read {
        handle: u64,
        offset: u64,
        size: u32,
    },
    Write {
        data: &'a [u8],
    },
    /// The last close of an open file.
    Release {
        handle: u64,
    },
    OpenFolder,
    /// Names in the folder, from a place on.
    ReadFolder {
        offset: u64,
        size: u32,
    },
    ReleaseFolder,
    /// Size of the file system.
    Statistics,
    /// Who made that request has a signal to see to.
    Interrupt {
        unique: u64,
    },
    /// The kernel forgets a name; it wants no reply.
    Forget,
    /// Making, removing or renaming files.
    Reshape,
    /// The mount ends, and no request follows.
    Destroy,
    /// A request that this file system does not know, which the kernel then does without.
    Other,
}

/// Takes a request apart; `None` if it is shorter than it says or must be.
pub(super) fn decode(octets: &[u8]) -> Option<Request<'_>> {
    let length = usize::try_from(u32_at(octets, 0)?).ok()?;
    let body = octets.get(IN_HEADER..length)?;
    let call = match u32_at(octets, 4)? {
        1 => Call::Lookup { name: body.split_last().filter(|(zero, _)| **zero == 0)?.1 },
        2 | 42 => Call::Forget,
        3 => Call::GetAttributes,
        4 => {
            let valid = u32_at(body, 0)?;
            let size = u64_at(body, 16)?;
            Call::SetAttributes {
                size: (valid & SETATTR_SIZE != 0).then_some(size),
                ownership: valid & SETATTR_OWNERSHIP != 0,
            }
        }
        6 | 8..=13 | 35 | 45 | 51 => Call::Reshape,
        14 => Call::Open { flags: u32_at(body, 0)? },
        15 => Call::Read {
            handle: u64_at(body, 0)?,
            offset: u64_at(body, 8)?,
            size: u32_at(body, 16)?,
        },
        16 => {
            let size = usize::try_from(u32_at(body, 16)?).ok()?;
            Call::Write { data: body.get(40..)?.get(..size)? }
        }
        17 => Call::Statistics,
        18 => Call::Release { handle: u64_at(body, 0)? },
        26 => Call::Init { major: u32_at(body, 0)? },
        27 => Call::OpenFolder,
        28 => Call::ReadFolder { offset: u64_at(body, 8)?, size: u32_at(body, 16)? },
        29 => Call::ReleaseFolder,
        36 => Call::Interrupt { unique: u64_at(body, 0)? },
        38 => Call::Destroy,
        _ => Call::Other,
    };
    let thread = u32_at(octets, 32)?.cast_signed();
    Some(Request { unique: u64_at(octets, 8)?, node: u64_at(octets, 16)?, thread, call })
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Reply {
    error: i32,
    body: Vec<u8>,
}

/// What `stat` shows of a file or the folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Attributes {
    pub(super) node: u64,
    pub(super) mode: u32,
    pub(super) links: u32,
    pub(super) owner: (u32, u32),
}

impl Reply {
    pub(super) fn done() -> Self {
        Self { error: 0, body: Vec::new() }
    }

    pub(super) fn error(errno: i32) -> Self {
        Self { error: -errno, body: Vec::new() }
    }

    pub(super) fn data(body: Vec<u8>) -> Self {
        Self { error: 0, body }
    }

    /// The terms of the mount: requests one by one, no caches and nothing optional.
    pub(super) fn init() -> Self {
        // `max_background` and its threshold for congestion, two u16: the kernel's defaults.
        let limits = u32::from_ne_bytes(two(12, 9));
        let body = Body::default().u32(MAJOR).u32(MINOR).u32(0).u32(0).u32(limits);
        Self::data(body.u32(WRITE_MAX).u32(1).u32(0).u32(0).zeros(7 * 4).0)
    }

    /// A name found. It and its attributes are not to be remembered.
    pub(super) fn entry(attributes: &Attributes) -> Self {
        let body = Body::default().u64(attributes.node).u64(1).u64(0).u64(0).u32(0).u32(0);
        Self::data(body.attributes(attributes).0)
    }

    /// Attributes, not to be remembered.
    pub(super) fn attributes(attributes: &Attributes) -> Self {
        Self::data(Body::default().u64(0).u32(0).u32(0).attributes(attributes).0)
    }

    /// An open file, past the page cache.
    pub(super) fn opened(handle: u64) -> Self {
        Self::data(Body::default().u64(handle).u32(DIRECT_IO).u32(0).0)
    }

    pub(super) fn written(count: usize) -> Self {
        let count = u32::try_from(count).expect("a request is shorter than 4 GiB");
        Self::data(Body::default().u32(count).u32(0).0)
    }

    /// An empty file system without limits.
    pub(super) fn statistics() -> Self {
        Self::data(Body::default().zeros(5 * 8).u32(4096).u32(255).u32(4096).zeros(4 + 6 * 4).0)
    }

    pub(super) fn encode(&self, unique: u64) -> Vec<u8> {
        let length = u32::try_from(OUT_HEADER + self.body.len());
        let head = Body::default().u32(length.expect("a reply is shorter than 4 GiB"));
        head.u32(self.error.cast_unsigned()).u64(unique).octets(&self.body).0
    }
}

/// Names of a folder, as many as fit.
#[derive(Debug)]
pub(super) struct Names {
    body: Body,
    size: usize,
}

impl Names {
    /// No names yet, and room for `size` octets.
    pub(super) fn new(size: u32) -> Self {
        Self { body: Body::default(), size: usize::try_from(size).unwrap_or(usize::MAX) }
    }

    /// Adds a name; `next` is the place after it. Whether it fitted.
    pub(super) fn add(&mut self, node: u64, next: u64, kind: u32, name: &[u8]) -> bool {
        let length = (24 + name.len()).next_multiple_of(8);
        if self.body.0.len() + length > self.size {
            return false;
        }
        // Types of entries are the upper bits of the mode.
        let letters = u32::try_from(name.len()).expect("a name is short");
        let body = std::mem::take(&mut self.body).u64(node).u64(next).u32(letters);
        self.body = body.u32(kind >> 12).octets(name).zeros(length - 24 - name.len());
        true
    }

    pub(super) fn reply(self) -> Reply {
        Reply::data(self.body.0)
    }
}

/// Octets put together in the host's order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Body(Vec<u8>);

impl Body {
    fn octets(mut self, octets: &[u8]) -> Self {
        self.0.extend_from_slice(octets);
        self
    }

    fn u32(self, value: u32) -> Self {
        self.octets(&value.to_ne_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.octets(&value.to_ne_bytes())
    }

    fn zeros(mut self, count: usize) -> Self {
        self.0.resize(self.0.len() + count, 0);
        self
    }

    /// `struct fuse_attr`: size 0, as in /proc, since what a read gives is not known before.
    fn attributes(self, of: &Attributes) -> Self {
        let body = self.u64(of.node).zeros(5 * 8 + 3 * 4).u32(of.mode).u32(of.links);
        body.u32(of.owner.0).u32(of.owner.1).zeros(3 * 4)
    }
}

fn two(first: u16, second: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (first.to_ne_bytes(), second.to_ne_bytes());
    [a, b, c, d]
}

fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(octets.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(octets: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(octets.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn request(opcode: u32, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(IN_HEADER + body.len()).unwrap();
        Body::default().u32(length).u32(opcode).u64(77).u64(2).zeros(16).octets(body).0
    }

    #[test]
    fn a_lookup_asks_for_a_name() {
        let octets = request(1, b"bus.680.v1\0");
        let decoded = decode(&octets).unwrap();
        assert_eq!((decoded.unique, decoded.node), (77, 2));
        assert_eq!(decoded.call, Call::Lookup { name: b"bus.680.v1" });
        assert_eq!(decode(&request(1, b"bus")), None);
    }

    #[test]
    fn a_write_carries_as_much_as_it_says() {
        let mut body = Body::default().u64(9).u64(0).u32(2).zeros(20).octets(b"5\nrest");
        assert_eq!(decode(&request(16, &body.0)).unwrap().call, Call::Write { data: b"5\n" });
        body.0.truncate(41);
        assert_eq!(decode(&request(16, &body.0)), None);
    }

    #[test]
    fn replies_have_the_lengths_that_the_kernel_checks() {
        let attributes = Attributes { node: 2, mode: 0o100_444, links: 1, owner: (0, 0) };
        for (reply, length) in [
            (Reply::init(), 64),
            (Reply::entry(&attributes), 128),
            (Reply::attributes(&attributes), 104),
            (Reply::opened(1), 16),
            (Reply::written(1), 8),
            (Reply::statistics(), 80),
            (Reply::done(), 0),
        ] {
            let octets = reply.encode(5);
            assert_eq!(octets.len(), OUT_HEADER + length);
            assert_eq!(u32_at(&octets, 0), u32::try_from(octets.len()).ok());
            assert_eq!(u64_at(&octets, 8), Some(5));
        }
        let refused = Reply::error(libc::EIO).encode(5);
        assert_eq!(u32_at(&refused, 4).unwrap().cast_signed(), -libc::EIO);
    }

    #[test]
    fn names_stop_where_the_room_ends() {
        let mut names = Names::new(64);
        assert!(names.add(2, 1, libc::S_IFREG, b"12345678"));
        assert!(names.add(3, 2, libc::S_IFREG, b"1"));
        assert!(!names.add(4, 3, libc::S_IFREG, b"1"));
        assert_eq!(names.reply().body.len(), 64);
    }

    proptest! {
        /// The kernel is trusted, but a wrong layout must not read past a request.
        #[test]
        fn no_octets_are_too_wild(octets in prop::collection::vec(any::<u8>(), 0..120), opcode in 0u32..60) {
            let _ = decode(&octets);
            let _ = decode(&request(opcode, &octets));
        }
    }
}
