//! `qcmerge alternate`: one stream whose current steps above and below the limits of a relay, and
//! when each step was sent. Measurements of actions begin here.

use std::f64::consts::{SQRT_2, TAU};
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use iec61850::SampleTime;
use iec61850::stream::StreamKey;
use iec61850::wire::ethernet::ETHERTYPE_GOOSE;
use iec61850::wire::{Data, Goose, MacAddress, Quality, Sample, Synchronisation, Tag};
use os::packet::{Batch, PacketSocket};
use quorum::CommonTime;
use realtime::exchange::histogram;
use realtime::time;
use serde_json::json;
use settings::Fault;
use settings::units::{self, Dimension, duration, duration_positive};
use substation::settings::merging_unit::PublishedStream;
use substation::settings::visible;

use super::alternation::{Alternation, Step};
use super::disturbance::Fate;
use super::frame;
use super::generator::Samples;
use super::publisher::{next_second, on_host};
use crate::program::{self, usage, whole};

/// Samples later than this are left out: no merging unit sends them, and a relay that hears of the
/// past decides on the past.
const GIVE_UP: Duration = Duration::from_millis(2);
/// How long the stream goes on after the last step.
const TAIL: Duration = Duration::from_millis(500);

/// The group of the breaker node's message.
const GROUP: [u8; 6] = [1, 0x0c, 0xcd, 1, 0, 1];

/// What is to be published.
#[derive(Clone, Debug, Args)]
#[group(skip)]
pub(crate) struct Alternate {
    /// The interface
    #[arg(long)]
    interface: String,
    /// Samples a second
    #[arg(long, default_value_t = 4800, value_parser = whole::<u16>(1000, 15_360))]
    rate: u16,
    /// Frequency in Hz
    #[arg(long, default_value_t = 60.0, value_parser = program::frequency_hz)]
    frequency: f64,
    /// How many steps; odd ones go up, even ones down
    #[arg(long, value_parser = whole::<u64>(1, u64::MAX))]
    actions: u64,
    /// From one step to the next
    #[arg(long, default_value = "50ms", value_parser = duration_positive)]
    interval: Duration,
    /// Up to this much more, by chance, so that steps fall on all phases of a tick
    #[arg(long, default_value = "5ms", value_parser = duration)]
    jitter: Duration,
    /// What chance begins with: the same seed, the same steps
    #[arg(long, default_value_t = 1, value_parser = whole::<u64>(0, u64::MAX))]
    seed: u64,
    /// From the first sample to the first step
    #[arg(long, default_value = "2s", value_parser = duration)]
    settle: Duration,
    /// The low current in A
    #[arg(long, default_value_t = 400.0, value_parser = amperes)]
    load: f64,
    /// The high current in A
    #[arg(long, default_value_t = 5000.0, value_parser = amperes)]
    fault: f64,
    /// Name of the stream
    #[arg(long, default_value = "MU01", value_parser = visible)]
    sv_id: String,
    /// Wait for the breaker after each step: reference of the GOOSE message of the breaker node, sent to
    /// 01:0c:cd:01:00:01
    #[arg(long)]
    follow: Option<String>,
    /// File for when each step was sent, one JSON object a line
    #[arg(long)]
    records: PathBuf,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    step: Step,
    before: CommonTime,
    after: CommonTime,
    /// How much later than it was due.
    late: Duration,
}

impl Alternate {
    /// Publishes until the last step or `is_over`; answers figures. `become_real_time` makes the calling
    /// thread one that acts in time, but not the one that writes: a file may keep it for milliseconds.
    pub(crate) fn run(
        &self,
        is_over: &AtomicBool,
        become_real_time: impl FnOnce(),
    ) -> anyhow::Result<serde_json::Value> {
        let interval = self.interval()?;
        let socket = PacketSocket::open(&self.interface, 0).with_context(|| {
            format!("interface {} (publishing needs CAP_NET_RAW)", self.interface)
        })?;
        let file = program::create(&self.records)?;
        let (tell, steps) = channel();
        let writer = thread::spawn(move || write(&steps, BufWriter::new(file)));
        // Threads inherit what they begin with.
        become_real_time();
        let first = samples(self.settle, self.rate).max(1);
        let mut alternation = Alternation::new(first, interval, self.seed);
        let (stream, tail) = (self.stream(), samples(TAIL, self.rate));
        let begin = next_second();
        let (mut lateness, mut frame, mut left_out) = (histogram(), Vec::new(), 0_u64);
        let (mut number, mut end) = (0, u64::MAX);
        let mut breaker = self.follow.as_deref().map(|of| Followed::open(&self.interface, of));
        let mut breaker = breaker.take().transpose()?;
        while number < end && !is_over.load(Ordering::Relaxed) {
            let at = on_host(begin, SampleTime::of_sample(number, self.rate.into()));
            time::sleep_until(at);
            if time::own().since(at) > GIVE_UP {
                left_out += 1;
                number += 1;
                continue;
            }
            let is_due = alternation.steps < self.actions && alternation.is_due(number);
            let may_step = is_due && has_followed(&mut breaker, alternation.is_up())?;
            let step = if may_step { alternation.sample(number) } else { None };
            let is_up = alternation.is_up();
            let source = MacAddress(socket.address());
            frame::write(
                &stream,
                source,
                number,
                Fate::default(),
                |n| self.values(n, is_up),
                &mut frame,
            );
            let before = time::common();
            socket.send(&[&frame]).context("sending a sample")?;
            let after = time::common();
            let late = time::own().since(at);
            lateness.saturating_record(time::ns(late).max(1));
            if let Some(step) = step {
                // The writer ends with an error of its own, which is returned at the end.
                let _ended = tell.send(Sent { step, before, after, late });
            }
            let is_done = end == u64::MAX
                && alternation.steps == self.actions
                && has_followed(&mut breaker, is_up)?;
            if is_done {
                end = number + tail;
            }
            number += 1;
        }
        drop(tell);
        writer.join().expect("the writer does not panic").context("writing records")?;
        Ok(json!({
            "actions": alternation.steps,
            "frames": lateness.len(),
            "left_out": left_out,
            "late_ns_mean": lateness.mean(),
            "late_ns_p99": lateness.value_at_quantile(0.99),
            "late_ns_max": lateness.max(),
        }))
    }

    fn interval(&self) -> anyhow::Result<[u64; 2]> {
        let least = samples(self.interval, self.rate);
        if least == 0 {
            let what = format!("--interval {:?} is shorter than a sample", self.interval);
            return Err(usage(format!("{what}; give at least 1 ms")));
        }
        if self.load >= self.fault {
            let Self { load, fault, .. } = self;
            let what = format!("--load {load} is not below --fault {fault}, so nothing would step");
            return Err(usage(format!("{what}; give a lower --load or a higher --fault")));
        }
        Ok([least, least + samples(self.jitter, self.rate)])
    }

    fn stream(&self) -> PublishedStream {
        PublishedStream {
            key: StreamKey {
                destination: MacAddress([1, 0x0c, 0xcd, 4, 0, 1]),
                app_id: 0x4000,
                sv_id: self.sv_id.clone(),
            },
            tag: Some(Tag::new(4, 0)),
            conf_rev: 1,
            rate: self.rate,
            asdus: 1,
            phase: Duration::ZERO,
            synchronisation: Synchronisation::Global,
            source: String::new(),
        }
    }

    /// Three symmetrical currents; voltages stay away, which no element here looks at.
    fn values(&self, number: u64, is_up: bool) -> Samples {
        let rms_a = if is_up { self.fault } else { self.load };
        let turns = number as f64 / f64::from(self.rate) * self.frequency;
        std::array::from_fn(|channel| {
            let value_a = if channel < 3 {
                rms_a * SQRT_2 * (TAU * (turns - channel as f64 / 3.0)).cos()
            } else {
                0.0
            };
            Sample { value: (value_a * 1e3).round() as i32, quality: Quality::GOOD }
        })
    }
}

/// The breaker, as its GOOSE message tells of it.
struct Followed {
    socket: PacketSocket,
    batch: Batch,
    reference: String,
    is_open: bool,
}

impl Followed {
    fn open(interface: &str, reference: &str) -> anyhow::Result<Self> {
        let socket =
            PacketSocket::open(interface, ETHERTYPE_GOOSE).context("listening for GOOSE")?;
        socket.join(GROUP).context("joining the group of the breaker node")?;
        let (batch, reference) = (Batch::new(16), reference.to_owned());
        Ok(Self { socket, batch, reference, is_open: false })
    }

    /// Whether the breaker was operated as the current wants it: open while it is high.
    fn has_followed(&mut self, is_up: bool) -> anyhow::Result<bool> {
        self.socket.receive(&mut self.batch).context("listening for GOOSE")?;
        for frame in self.batch.frames() {
            let Ok(message) = Goose::decode(frame.octets) else { continue };
            if message.gocb_ref == self.reference
                && let Some(Data::Boolean(is_open)) = message.all_data.elements().next()
            {
                self.is_open = is_open;
            }
        }
        Ok(self.is_open == is_up)
    }
}

/// Whether the last step was followed, if somebody follows.
fn has_followed(breaker: &mut Option<Followed>, is_up: bool) -> anyhow::Result<bool> {
    breaker.as_mut().map_or(Ok(true), |breaker| breaker.has_followed(is_up))
}

/// Reads a current from a command line: up to what a sample of 9-2LE can carry.
fn amperes(text: &str) -> Result<f64, Fault> {
    units::quantity(text, Dimension::Number, 0.0, 1e6)
}

fn samples(span: Duration, rate: u16) -> u64 {
    (span.as_nanos() * u128::from(rate) / 1_000_000_000) as u64
}

/// Writes all steps; anybody who looks, or ends this program, finds those of up to a moment ago.
fn write(steps: &Receiver<Sent>, mut out: BufWriter<File>) -> std::io::Result<()> {
    while let Ok(sent) = steps.recv() {
        for Sent { step, before, after, late } in std::iter::once(sent).chain(steps.try_iter()) {
            let line = json!({
                "action_number": step.number,
                "action": if step.is_up { "trip" } else { "close" },
                "before_send_ns": before.ns(),
                "after_send_ns": after.ns(),
                "late_ns": time::ns(late),
            });
            writeln!(out, "{line}")?;
        }
        out.flush()?;
    }
    Ok(())
}
