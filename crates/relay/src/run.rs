//! A relay as a whole: sockets, queues, three real-time threads, and the thread that called, which
//! does all that may block until somebody says stop.

use std::fs::{File, OpenOptions};
use std::io::{self, LineWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use iec61850::goose::Liveness;
use iec61850::wire::MacAddress;
use iec61850::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use rtrb::RingBuffer;
use serde_json::json;
use substation::engine::Engine;
use substation::settings::{Relay, Thread};

use crate::canary::{self, Seen};
use crate::clock;
use crate::exchange::{exchange, histogram};
use crate::links::{Look, Watched};
use crate::metrics::Server;
use crate::prepare;
use crate::publish::Published;
use crate::receive::{self, Receiver};
use crate::records::Names;
use crate::subscribed::Subscribed;
use crate::task::{self, Event, PERIOD_NS, Task};
use crate::totals::Totals;
use os::packet::PacketSocket;

/// How long the task may stand still before samples find its queue full.
const QUEUE: Duration = Duration::from_millis(500);
/// Messages of other devices that may wait for the task.
const MESSAGES_MAX: usize = 256;
/// Events that may wait for being written.
const EVENTS_MAX: usize = 16_384;
/// From the set-up of threads to their first cycle.
const HEAD_START_NS: i64 = 20_000_000;
/// How often the thread that may block looks round.
const LOOK: Duration = Duration::from_millis(50);
/// Length of the windows whose maxima are recorded.
const WINDOW: Duration = Duration::from_secs(20);

/// How a relay ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// All that was measured.
    pub(crate) totals: Totals,
    /// Why before its time, if it was.
    pub(crate) failure: Option<String>,
}

/// A part of the set-up that is missing; nothing has run.
#[derive(Debug)]
pub(crate) struct Missing(pub String);

impl std::fmt::Display for Missing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// Runs a relay until `stop`, or for `duration`; `begun` is told where metrics are served.
pub(crate) fn run(
    relay: &Relay,
    duration: Option<Duration>,
    stop: &AtomicBool,
    begun: impl FnOnce(Option<std::net::SocketAddr>),
) -> Result<Ended> {
    let host = &relay.host;
    let Some(interface) = host.interface.as_deref() else {
        bail!(Missing(
            "no interface is given: add `interface` to `host`, or give --interface".into()
        ));
    };
    let station = host.station_interface.as_deref().unwrap_or(interface);
    let sampled_values = open(interface, ETHERTYPE_SAMPLED_VALUES)?;
    let goose = open(station, ETHERTYPE_GOOSE)?;
    for stream in relay.streams.values() {
        sampled_values.join(stream.key.destination.0).context("joining the group of a stream")?;
    }
    for subscription in relay.subscriptions.values() {
        goose
            .join(subscription.expected.destination.0)
            .context("joining the group of a message")?;
    }
    let mut watched = vec![(Watched::new(interface, host.when_down), &sampled_values)];
    if station != interface {
        watched.push((Watched::new(station, host.when_down), &goose));
    }
    let server = host.metrics.map(Server::bind).transpose().context("serving metrics")?;
    let mut records = records(host.records.as_deref())?;
    let (mut warnings, _awake) = prepare::process();
    warnings.extend(prepare::receive_buffer(sampled_values.receive_buffer_octets()));

    let samples_max = relay
        .streams
        .values()
        .map(|stream| usize::from(stream.supervision.rate) * QUEUE.as_millis() as usize / 1000)
        .sum();
    let (to_task, samples) = RingBuffer::new(samples_max);
    let (messages_to_task, messages) = RingBuffer::new(MESSAGES_MAX);
    let (events, mut events_out) = RingBuffer::<Event>::new(EVENTS_MAX);
    let (streams_count, subscriptions_count) = (relay.streams.len(), relay.subscriptions.len());
    let (receive_sheet, mut receive_out) = exchange(receive::Sheet::default);
    let (task_sheet, mut task_out) =
        exchange(|| task::Sheet::new(streams_count, subscriptions_count));
    let (canary_sheet, mut canary_out) = exchange(histogram);

    let (seen, busy_ns) = (Seen::default(), AtomicI64::new(0));
    let clock_quality = AtomicU8::new(clock::quality(&os::realtime::clock_state()));
    let ending = Arc::new(AtomicBool::new(false));
    let receiver = Receiver::new(
        relay.streams.values().map(|stream| stream.key.clone()).collect(),
        relay.subscriptions.values().map(|s| s.expected.clone()).collect(),
        to_task,
        messages_to_task,
        receive_sheet,
    );
    let subscribed = Subscribed::of(relay);
    let told =
        subscribed.iter().map(|s| (Liveness::Waiting, vec![None; s.values().len()])).collect();
    let task = Task {
        engine: Engine::new(relay),
        published: Published::of(relay, MacAddress(goose.address())),
        subscribed,
        samples,
        goose: messages,
        bus: &goose,
        events,
        sheet: task_sheet,
        canary: &seen,
        clock_quality: &clock_quality,
        receive_busy_ns: &busy_ns,
        told,
        counters: task::Counters::default(),
    };
    let canary_thread = Thread { core: host.task.core, priority: host.canary_priority };
    let mut totals = Totals::new(relay);
    let names = Names::of(relay);

    thread::scope(|scope| {
        let (prepared, refused) = mpsc::channel();
        let begin_ns = os::realtime::now_ns() + HEAD_START_NS;
        let spawn = |name: &'static str, settings: Thread| {
            let prepared = prepared.clone();
            move || {
                // Whoever asked may have given up; the thread runs and sees that it shall stop.
                let group = host.cache_group.as_deref();
                let _gone = prepared.send(prepare::thread(name, settings, group));
            }
        };
        let (ready_receive, ready_task, ready_canary) = (
            spawn("receive", host.receive),
            spawn("task", host.task),
            spawn("canary", canary_thread),
        );
        let (sampled_values, goose, seen, busy_ns, ending) =
            (&sampled_values, &goose, &seen, &busy_ns, &*ending);
        let receive_thread =
            thread::Builder::new().name("receive".into()).spawn_scoped(scope, move || {
                ready_receive();
                receiver.run(sampled_values, goose, busy_ns, ending)
            })?;
        let task_thread =
            thread::Builder::new().name("task".into()).spawn_scoped(scope, move || {
                ready_task();
                task.run(begin_ns, ending)
            })?;
        let canary_thread =
            thread::Builder::new().name("canary".into()).spawn_scoped(scope, move || {
                ready_canary();
                canary::run(begin_ns, PERIOD_NS, seen, ending, canary_sheet)
            })?;
        warnings.extend((0..3).filter_map(|_| refused.recv().ok()).flatten());
        if host.require_realtime && !warnings.is_empty() {
            ending.store(true, Ordering::Relaxed);
            return Err(anyhow!(Missing(warnings.join("\n"))));
        }
        totals.warnings = warnings;
        begun(server.as_ref().and_then(|server| server.address().ok()));
        let (begin, mut window) = (Instant::now(), Instant::now());
        let mut write = |line: &serde_json::Value| -> Result<()> {
            let Some(out) = &mut records else { return Ok(()) };
            writeln!(out, "{line}").context("writing records")
        };
        let mut failure = None;
        let mut is_over = false;
        while !is_over && failure.is_none() {
            is_over =
                stop.load(Ordering::Relaxed) || duration.is_some_and(|d| begin.elapsed() >= d);
            if !is_over {
                thread::sleep(LOOK);
            }
            totals.clock = os::realtime::clock_state();
            clock_quality.store(clock::quality(&totals.clock), Ordering::Relaxed);
            receive_out.collect(|sheet| totals.receive(sheet));
            task_out.collect(|sheet| totals.task(sheet));
            canary_out.collect(|lateness| totals.canary(lateness));
            totals.kernel(sampled_values.kernel_counters().unwrap_or_default());
            while let Ok(event) = events_out.pop() {
                failure = failure.or(write(&names.line(&event)).err().map(|e| format!("{e:#}")));
            }
            for (watched, socket) in &mut watched {
                let Look { changed, failure: ended } = watched.look(socket.link());
                failure = failure.or(ended);
                let Some(link) = changed else { continue };
                totals.links.insert(watched.interface().to_owned(), link);
                let line = json!({
                    "interface": watched.interface(),
                    "state": link.name(),
                    "realtime_ns": os::realtime::realtime_ns(),
                });
                failure = failure.or(write(&line).err().map(|e| format!("{e:#}")));
            }
            if let Some(server) = &server {
                server.serve(&totals);
            }
            if window.elapsed() >= WINDOW || is_over || failure.is_some() {
                window = Instant::now();
                let line = json!({
                    "window": totals.close_window(),
                    "realtime_ns": os::realtime::realtime_ns(),
                });
                failure = failure.or(write(&line).err().map(|e| format!("{e:#}")));
            }
            if receive_thread.is_finished() {
                failure.get_or_insert_with(|| "the receiving thread ended".into());
            }
        }
        ending.store(true, Ordering::Relaxed);
        let ended = "a thread of the relay does not panic: that ends the program";
        receive_out.collect(|sheet| totals.receive(sheet));
        task_out.collect(|sheet| totals.task(sheet));
        canary_out.collect(|lateness| totals.canary(lateness));
        match receive_thread.join().expect(ended) {
            Ok(mut sheet) => totals.receive(&mut sheet),
            Err(error) => failure = Some(format!("receiving: {error}")),
        }
        let mut task_sheet = task_thread.join().expect(ended);
        task_out.collect(|sheet| totals.task(sheet));
        totals.task(&mut task_sheet);
        let mut canary_sheet = canary_thread.join().expect(ended);
        canary_out.collect(|lateness| totals.canary(lateness));
        totals.canary(&mut canary_sheet);
        while let Ok(event) = events_out.pop() {
            failure = failure.or(write(&names.line(&event)).err().map(|e| format!("{e:#}")));
        }
        Ok(Ended { totals, failure })
    })
}

/// Opens a socket on an interface.
pub(crate) fn open(interface: &str, ethertype: u16) -> Result<PacketSocket> {
    PacketSocket::open(interface, ethertype).map_err(|error| {
        let way_out = match error.raw_os_error() {
            Some(libc::EPERM) => "give CAP_NET_RAW",
            Some(libc::ENODEV) => "use one listed by `ip link`",
            _ => "see packet(7)",
        };
        anyhow!(Missing(format!("interface {interface} cannot be opened ({error}): {way_out}")))
    })
}

fn records(path: Option<&str>) -> Result<Option<LineWriter<File>>> {
    // A relay that is started again goes on with the sequence of events that it had.
    let open = |path: &str| -> io::Result<LineWriter<File>> {
        Ok(LineWriter::new(OpenOptions::new().create(true).append(true).open(path)?))
    };
    path.map(open).transpose().map_err(|error| {
        anyhow!(Missing(format!(
            "records cannot be written to {} ({error}): use a different file",
            path.unwrap_or_default()
        )))
    })
}
