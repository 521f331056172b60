//! Lines of a GPIO chip by the kernel's character device, version 2 of its calls (Linux 5.10): a line
//! whose edges are read as events with the kernel's stamp, and a line that is set.
//!
//! The structures are those of the kernel's `linux/gpio.h`, whose sizes are part of the numbers of
//! the calls; a wrong one would not compile.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use crate::clock::HostTime;

/// From the kernel's `linux/gpio.h`.
const LINES_MAX: usize = 64;
const NAME_OCTETS: usize = 32;
const ATTRIBUTES_MAX: usize = 10;
const FLAG_INPUT: u64 = 1 << 2;
const FLAG_OUTPUT: u64 = 1 << 3;
const FLAG_EDGE_RISING: u64 = 1 << 4;
const FLAG_EDGE_FALLING: u64 = 1 << 5;
const EVENT_RISING: u32 = 1;
const EVENT_FALLING: u32 = 2;
/// `GPIO_V2_GET_LINE_IOCTL`, `_IOWR(0xB4, 0x07, struct gpio_v2_line_request)`.
const GET_LINE: u64 = iowr(0x07, size_of::<LineRequest>());
/// `GPIO_V2_LINE_SET_VALUES_IOCTL`, `_IOWR(0xB4, 0x0F, struct gpio_v2_line_values)`.
const SET_VALUES: u64 = iowr(0x0f, size_of::<LineValues>());
/// What lists of users of lines say.
const CONSUMER: &[u8] = b"qcprobe";
/// Octets of `struct gpio_v2_line_event`.
const EVENT_OCTETS: usize = 48;

/// A call of GPIO chips that is given a structure and writes it (`asm-generic/ioctl.h`).
const fn iowr(number: u64, octets: usize) -> u64 {
    3 << 30 | (octets as u64) << 16 | 0xb4 << 8 | number
}

/// `struct gpio_v2_line_config_attribute` with the `struct gpio_v2_line_attribute` in it.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Attribute {
    id: u32,
    padding: u32,
    value: u64,
    mask: u64,
}

/// `struct gpio_v2_line_config`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct LineConfig {
    flags: u64,
    attributes_count: u32,
    padding: [u32; 5],
    attributes: [Attribute; ATTRIBUTES_MAX],
}

/// `struct gpio_v2_line_request`.
#[repr(C)]
struct LineRequest {
    offsets: [u32; LINES_MAX],
    consumer: [u8; NAME_OCTETS],
    config: LineConfig,
    lines: u32,
    event_buffer_size: u32,
    padding: [u32; 5],
    fd: i32,
}

/// `struct gpio_v2_line_values`.
#[repr(C)]
struct LineValues {
    bits: u64,
    mask: u64,
}

const _: () = assert!(size_of::<Attribute>() == 24 && size_of::<LineConfig>() == 272);
const _: () = assert!(size_of::<LineRequest>() == 592 && size_of::<LineValues>() == 16);
const _: () = assert!(GET_LINE == 0xc250_b407 && SET_VALUES == 0xc010_b40f);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    /// When the kernel saw it.
    pub(crate) at: HostTime,
    /// Whether the line went high.
    pub(crate) is_rising: bool,
}

impl Edge {
    /// Of a `struct gpio_v2_line_event`; `None` if it is no edge.
    fn of(octets: &[u8; EVENT_OCTETS]) -> Option<Self> {
        let at_ns = u64::from_ne_bytes(octets[..8].try_into().ok()?);
        let is_rising = match u32::from_ne_bytes(octets[8..12].try_into().ok()?) {
            EVENT_RISING => true,
            EVENT_FALLING => false,
            _ => return None,
        };
        Some(Self { at: HostTime::from_ns(i64::try_from(at_ns).ok()?), is_rising })
    }
}

#[derive(Debug)]
pub(crate) struct Input(File);

impl Input {
    /// Takes a line of a chip as an input with events of both edges.
    ///
    /// # Errors
    /// `EBUSY` if somebody has it, `EINVAL` if there is no such line, `ENXIO` or another one if it
    /// gives no interrupts, `ENOTTY` before Linux 5.10.
    pub(crate) fn open(chip: &File, line: u32) -> io::Result<Self> {
        let flags = FLAG_INPUT | FLAG_EDGE_RISING | FLAG_EDGE_FALLING;
        Ok(Self(File::from(request(chip, line, flags)?)))
    }

    /// Waits for the next edge. read(2)
    pub(crate) fn edge(&self) -> io::Result<Edge> {
        let mut octets = [0; EVENT_OCTETS];
        // The kernel gives whole events only.
        (&self.0).read_exact(&mut octets)?;
        let what = || io::Error::new(io::ErrorKind::InvalidData, "an event that is no edge");
        Edge::of(&octets).ok_or_else(what)
    }
}

#[derive(Debug)]
pub(crate) struct Output(OwnedFd);

impl Output {
    /// Takes a line of a chip as an output, low.
    pub(crate) fn open(chip: &File, line: u32) -> io::Result<Self> {
        Ok(Self(request(chip, line, FLAG_OUTPUT)?))
    }

    pub(crate) fn set(&self, is_high: bool) -> io::Result<()> {
        let mut values = LineValues { bits: u64::from(is_high), mask: 1 };
        // SAFETY: the structure is the one of this call, and lives as long as it.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), SET_VALUES as _, &raw mut values) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

fn request(chip: &File, line: u32, flags: u64) -> io::Result<OwnedFd> {
    let mut request = line_request(line, flags);
    // SAFETY: the structure is the one of this call, and lives as long as it.
    let result = unsafe { libc::ioctl(chip.as_raw_fd(), GET_LINE as _, &raw mut request) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has made the descriptor for this request; it is nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(request.fd) })
}

fn line_request(line: u32, flags: u64) -> LineRequest {
    let mut request = LineRequest {
        offsets: [0; LINES_MAX],
        consumer: [0; NAME_OCTETS],
        config: LineConfig { flags, ..LineConfig::default() },
        lines: 1,
        event_buffer_size: 0,
        padding: [0; 5],
        fd: -1,
    };
    request.offsets[0] = line;
    request.consumer[..CONSUMER.len()].copy_from_slice(CONSUMER);
    request
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// An event as Linux 6.1 gives it, of a line of gpio-sim: stamp, id 1, line 3, fifth of all
    /// lines, second of this one.
    const RISING: [u8; EVENT_OCTETS] = [
        0x15, 0xcd, 0x5b, 0x07, 0, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0, 0, 0,
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    ];

    #[test]
    #[cfg(target_endian = "little")]
    fn events_are_edges_with_the_stamp_of_the_kernel() {
        let rising = Edge { at: HostTime::from_ns(123_456_789), is_rising: true };
        assert_eq!(Edge::of(&RISING), Some(rising));
        let mut octets = RISING;
        octets[8] = 2;
        assert_eq!(Edge::of(&octets), Some(Edge { is_rising: false, ..rising }));
        for wrong in [0, 3, 0xa5] {
            octets[8] = wrong;
            assert_eq!(Edge::of(&octets), None, "{wrong}");
        }
        let mut late = RISING;
        late[7] = 0x80;
        assert_eq!(Edge::of(&late), None);
    }

    #[test]
    fn fields_lie_where_the_header_of_the_kernel_has_them() {
        assert_eq!(offset_of!(LineRequest, consumer), 256);
        assert_eq!(offset_of!(LineRequest, config), 288);
        assert_eq!(offset_of!(LineRequest, lines), 560);
        assert_eq!(offset_of!(LineRequest, event_buffer_size), 564);
        assert_eq!(offset_of!(LineRequest, fd), 588);
        assert_eq!(offset_of!(LineConfig, attributes_count), 8);
        assert_eq!(offset_of!(LineConfig, attributes), 32);
        assert_eq!(offset_of!(Attribute, value), 8);
        assert_eq!(offset_of!(Attribute, mask), 16);
        assert_eq!(offset_of!(LineValues, mask), 8);
    }

    #[test]
    fn a_request_is_for_one_line_and_names_the_probe() {
        let request = line_request(7, FLAG_INPUT | FLAG_EDGE_RISING | FLAG_EDGE_FALLING);
        assert_eq!((request.offsets[0], request.lines, request.fd), (7, 1, -1));
        assert_eq!((request.config.flags, request.config.attributes_count), (0x34, 0));
        assert_eq!(&request.consumer[..8], b"qcprobe\0");
    }

    #[test]
    fn what_is_no_chip_refuses() {
        let null = File::open("/dev/null").unwrap();
        let error = Input::open(&null, 0).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
        assert!(Output::open(&null, 0).is_err());
    }
}
