//! The bus through the kernel module: what `kernel/qcbus/uapi/qcbus.h` says.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;

use domain::DeviceMemory;

use crate::wiring::{Active, Drive, Wiring};

const DEVICE: &str = "/dev/qcbus";
const VERSION: u32 = 1;
/// Octets of a chip's label with the zero at its end.
const CHIP_SIZE: usize = 32;
const ACTIVE_LOW: u32 = 1;
const OPEN_DRAIN: u32 = 2;
const EDGE_ASSERTED: u32 = 1;
/// Octets of `struct qcbus_event`.
const EVENT_SIZE: usize = 56;
/// Events read at once.
const EVENTS: usize = 16;

#[repr(C)]
#[derive(Clone, Copy)]
struct Line {
    chip: [u8; CHIP_SIZE],
    offset: u32,
    flags: u32,
}

impl Line {
    const NONE: Self = Self { chip: [0; CHIP_SIZE], offset: 0, flags: 0 };
}

#[repr(C)]
struct Attach {
    output: Line,
    input: Line,
    input_released: Line,
    inputs: u32,
    debounce_us: u32,
    reserved: [u32; 2],
}

#[repr(C)]
struct Info {
    version: u32,
    domain: u32,
}

const _: () = assert!(size_of::<Attach>() == 136);

/// `_IOC` of the kernel's `asm-generic/ioctl.h`, with the letter of the module.
const fn request(direction: u32, number: u32, size: usize) -> libc::Ioctl {
    ((direction << 30) | ((size as u32) << 16) | ((b'Q' as u32) << 8) | number) as libc::Ioctl
}

const INFO: libc::Ioctl = request(2, 0x70, size_of::<Info>());
const PROGRAM: libc::Ioctl = request(0, 0x71, 0);
const DETACH: libc::Ioctl = request(0, 0x73, 0);
const ATTACH: libc::Ioctl = request(1, 0x72, size_of::<Attach>());

/// A domain of the module.
#[derive(Debug)]
pub(crate) struct Module {
    device: File,
    domain: u32,
}

impl Module {
    /// Opens the device. Returns with it the memory of its clock page.
    pub(crate) fn open() -> io::Result<(Self, DeviceMemory)> {
        let mut options = File::options();
        options.read(true).write(true).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC);
        let device = options.open(DEVICE).map_err(|error| {
            let hint = match error.kind() {
                io::ErrorKind::NotFound => ": the module qcbus is not loaded",
                io::ErrorKind::PermissionDenied => ": only root may use the module qcbus",
                _ => "",
            };
            io::Error::new(error.kind(), format!("{DEVICE}: {error}{hint}"))
        })?;
        let mut info = Info { version: 0, domain: 0 };
        // SAFETY: the request writes one `Info` there.
        checked(unsafe { libc::ioctl(device.as_raw_fd(), INFO, &raw mut info) })?;
        if info.version != VERSION {
            let version = info.version;
            let reason = format!(
                "the module qcbus that is loaded has version {version} of its interface, and this program \
                 knows {VERSION}: load the one that was built with it"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        // SAFETY: the request has no argument.
        let program = checked(unsafe { libc::ioctl(device.as_raw_fd(), PROGRAM) })?;
        // SAFETY: a descriptor that was just made, and nobody else has.
        let for_reading = unsafe { OwnedFd::from_raw_fd(program) };
        let memory = DeviceMemory { device: device.as_fd().try_clone_to_owned()?, for_reading };
        Ok((Self { device, domain: info.domain }, memory))
    }

    /// Takes the lines that the module drives and watches.
    pub(crate) fn attach(&self, wiring: &Wiring) -> io::Result<()> {
        let (mut output, input) = (line(wiring, wiring.output)?, line(wiring, wiring.input)?);
        if wiring.drive == Drive::OpenDrain {
            output.flags |= OPEN_DRAIN;
        }
        let input_released =
            wiring.input_released.map(|offset| line(wiring, offset)).transpose()?;
        let attach = Attach {
            output,
            input,
            input_released: input_released.unwrap_or(Line::NONE),
            inputs: 1 + u32::from(input_released.is_some()),
            debounce_us: wiring.debounce_us,
            reserved: [0; 2],
        };
        // SAFETY: the request reads one `Attach` there.
        let attached =
            checked(unsafe { libc::ioctl(self.device.as_raw_fd(), ATTACH, &raw const attach) });
        attached.map(drop).map_err(|error| {
            let hint = match error.raw_os_error() {
                Some(libc::EBUSY) => ": a line is in use; `gpioinfo` shows by whom",
                Some(libc::ENODEV) => {
                    ": there is no chip of this label; `gpiodetect` shows those there are"
                }
                Some(libc::EINVAL) => ": there is no such line, or it has no interrupts",
                _ => "",
            };
            io::Error::new(error.kind(), format!("chip `{}`: {error}{hint}", wiring.chip))
        })
    }

    /// Where the bus is held and let go.
    pub(crate) fn hold(&self) -> io::Result<Hold> {
        Ok(Hold(File::options().write(true).open(self.attribute("hold"))?))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }

    pub(crate) fn edges(&self) -> io::Result<Vec<bool>> {
        let mut octets = [0; EVENT_SIZE * EVENTS];
        let read = match (&self.device).read(&mut octets) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
            read => read?,
        };
        let events = octets[..read].chunks_exact(EVENT_SIZE);
        Ok(events.map(|event| word(event) == EDGE_ASSERTED).collect())
    }

    pub(crate) fn is_asserted(&self) -> io::Result<bool> {
        Ok(std::fs::read_to_string(self.attribute("state"))?.trim() == "asserted")
    }

    fn attribute(&self, name: &str) -> PathBuf {
        format!("/sys/class/qcbus/qcbus{}/{name}", self.domain).into()
    }
}

impl Drop for Module {
    /// The clock page keeps the domain, which would go on stopping the clock at edges that nobody reads.
    fn drop(&mut self) {
        // SAFETY: the request has no argument. It fails where no lines were attached.
        let _ = unsafe { libc::ioctl(self.device.as_raw_fd(), DETACH) };
    }
}

/// The file by which the bus is held.
#[derive(Debug)]
pub(crate) struct Hold(File);

impl Hold {
    pub(crate) fn write(&self, asserted: bool) -> io::Result<()> {
        self.0.write_all_at(if asserted { b"1" } else { b"0" }, 0)
    }
}

fn line(wiring: &Wiring, offset: u32) -> io::Result<Line> {
    let mut chip = [0; CHIP_SIZE];
    let label = wiring.chip.as_bytes();
    if label.len() >= CHIP_SIZE {
        let reason = format!("the label `{}` is longer than {} octets", wiring.chip, CHIP_SIZE - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
    }
    chip[..label.len()].copy_from_slice(label);
    let flags = if wiring.active == Active::Low { ACTIVE_LOW } else { 0 };
    Ok(Line { chip, offset, flags })
}

/// The first word of an event: which edge.
fn word(event: &[u8]) -> u32 {
    let octets = event.first_chunk().expect("an event is longer");
    u32::from_ne_bytes(*octets)
}

fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
