//! The bus through the character device of a GPIO chip, version 2 of its interface (Linux 5.10).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;

use gpiocdev::Request;
use gpiocdev::line::{Drive as LineDrive, EdgeDetection, EdgeKind, EventClock, Value};
use vtime::{HostSpan, HostTime};

use crate::debounce::Debounce;
use crate::wiring::{Active, Drive, Wiring};

/// Who uses a line, as `gpioinfo` shows it.
const CONSUMER: &str = "qcycle";

/// The character device of the chip with this label.
pub(crate) fn chip(label: &str) -> io::Result<PathBuf> {
    let mut others = Vec::new();
    let mut refused = None;
    for path in gpiocdev::chip::chips().map_err(error)? {
        match gpiocdev::chip::Chip::from_path(&path).and_then(|chip| chip.info()) {
            Ok(info) if info.label == label => return Ok(path),
            Ok(info) => others.push(info.label),
            Err(error) => refused = Some(format!("{}: {error}", path.display())),
        }
    }
    let reason = match (refused, others.is_empty()) {
        (Some(refused), _) => {
            format!(
                "; one could not be looked at ({refused}): be root, or in the group of its device"
            )
        }
        (None, true) => ": this host has none".to_owned(),
        (None, false) => format!(": this host has {}", others.join(", ")),
    };
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!("no GPIO chip has the label `{label}`{reason}"),
    ))
}

/// The line that drives the bus.
#[derive(Debug)]
pub(crate) struct Output {
    request: Request,
    line: u32,
}

impl Output {
    pub(crate) fn request(chip: &PathBuf, wiring: &Wiring) -> io::Result<Self> {
        let line = wiring.output;
        let mut builder = Request::builder();
        builder.on_chip(chip).with_consumer(CONSUMER).with_line(line);
        builder.as_output(Value::Inactive);
        if wiring.active == Active::Low {
            builder.as_active_low();
        }
        builder.with_drive(match wiring.drive {
            Drive::OpenDrain => LineDrive::OpenDrain,
            Drive::PushPull => LineDrive::PushPull,
        });
        let request = builder.request().map_err(|error| of_line(line, &error))?;
        Ok(Self { request, line })
    }

    pub(crate) fn drive(&self, asserted: bool) -> io::Result<()> {
        let value = if asserted { Value::Active } else { Value::Inactive };
        self.request.set_value(self.line, value).map(drop).map_err(error)
    }
}

/// The line that watches it.
#[derive(Debug)]
pub(crate) struct Inputs {
    request: Request,
    line: u32,
    debounce: Debounce,
}

impl Inputs {
    pub(crate) fn request(chip: &PathBuf, wiring: &Wiring) -> io::Result<Self> {
        let line = wiring.input;
        let mut builder = Request::builder();
        builder.on_chip(chip).with_consumer(CONSUMER).with_line(line);
        builder.as_input().with_edge_detection(EdgeDetection::BothEdges);
        builder.with_event_clock(EventClock::Monotonic).with_kernel_event_buffer_size(256);
        if wiring.active == Active::Low {
            builder.as_active_low();
        }
        let request = builder.request().map_err(|error| of_line(line, &error))?;
        // An edge before the first look is not missed: a round looks at the level, too.
        let debounce =
            Debounce::new(HostSpan::from_ns(i64::from(wiring.debounce_us) * 1000), false);
        Ok(Self { request, line, debounce })
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.request.as_fd()
    }

    pub(crate) fn edges(&mut self) -> io::Result<Vec<bool>> {
        let mut edges = Vec::new();
        while self.request.has_edge_event().map_err(error)? {
            let event = self.request.read_edge_event().map_err(error)?;
            let asserted = event.kind == EdgeKind::Rising;
            let at = HostTime::from_ns(i64::try_from(event.timestamp_ns).unwrap_or(i64::MAX));
            self.see(at, asserted, &mut edges);
        }
        let now = domain::host_now();
        if self.debounce.due().is_some_and(|due| due <= now) {
            let asserted = self.level()?;
            self.see(now, asserted, &mut edges);
        }
        Ok(edges)
    }

    pub(crate) fn is_asserted(&self) -> io::Result<bool> {
        if self.debounce.due().is_none() { self.level() } else { Ok(self.debounce.is_asserted()) }
    }

    pub(crate) const fn due(&self) -> Option<HostTime> {
        self.debounce.due()
    }

    fn see(&mut self, at: HostTime, asserted: bool, edges: &mut Vec<bool>) {
        if self.debounce.sees(at, asserted) {
            edges.push(asserted);
        }
    }

    fn level(&self) -> io::Result<bool> {
        Ok(self.request.value(self.line).map_err(error)? == Value::Active)
    }
}

fn of_line(line: u32, failed: &gpiocdev::Error) -> io::Error {
    io::Error::other(format!(
        "line {line}: {failed} (`gpioinfo` shows whether it is in use; root may use it, and the group of its device)"
    ))
}

fn error(error: gpiocdev::Error) -> io::Error {
    io::Error::other(error)
}
