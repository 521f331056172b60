//! A relay as a whole: sockets, queues, three real-time threads, and what the thread that may block
//! does beside them.

use std::net::TcpListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use hdrhistogram::Histogram;
use iec61850::wire::ethernet::{ETHERTYPE_GOOSE, ETHERTYPE_SAMPLED_VALUES};
use ied::{Live, Served};
use os::packet::PacketSocket;
use realtime::canary;
use realtime::exchange::{Collector, exchange, histogram, outbox};
use realtime::lines::Lines;
use realtime::prepare::Scheduling;
use realtime::supervise::{Supervisor, TimedThread, Watch, listen};
use realtime::{clock, prepare, time};
use rtrb::{Consumer, RingBuffer};
use serde_json::{Value, json};
use substation::engine::Change;
use substation::settings::Relay;

use crate::control::Control;
use crate::event::{Event, What};
use crate::host::{self, scheduling};
use crate::links::Watched;
use crate::metrics;
use crate::receive::{self, Receiver};
use crate::recorder::{Recorder, Teller};
use crate::records::{self, Names};
use crate::refusals::Refusals;
use crate::task::{self, PERIOD, SharedState, Task};
use crate::totals::Totals;

/// How long the task may be stopped before samples find its queue full.
const QUEUE: Duration = Duration::from_millis(500);
/// Messages of other devices that may wait for the task.
const MESSAGES_MAX: usize = 256;
/// Events that may wait for being written.
const EVENTS_MAX: usize = 16_384;
/// From the set-up of threads to their first cycle.
const HEAD_START: Duration = Duration::from_millis(20);
/// Length of the windows whose maxima are recorded.
const WINDOW: Duration = Duration::from_secs(20);

/// Runs a relay, with settings of this text, until `stop` or for `duration`; returns all that was measured, and why it ended
/// before its time, if it did. An error is what is missing on this host.
pub(crate) fn run(
    relay: &Relay,
    text: &str,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<(Totals, Option<String>)> {
    let host = &relay.host;
    let interface = host.interface.as_deref();
    let interface = interface
        .context("no interface is given: add `interface` to `host`, or give --interface")?;
    let station = host.station_interface.as_deref().unwrap_or(interface);
    let sampled_values = open(interface, ETHERTYPE_SAMPLED_VALUES)?;
    let goose = open(station, ETHERTYPE_GOOSE)?;
    join(relay, &sampled_values, &goose)?;
    let mut watched = vec![(Watched::new(interface, host.when_down), &sampled_values)];
    if station != interface {
        watched.push((Watched::new(station, host.when_down), &goose));
    }
    let server = host.metrics.map(|address| listen(address, "metrics")).transpose()?;
    let control = host.control.as_deref().map(|path| Control::open(Path::new(path))).transpose()?;
    let clients = host.mms.map(|address| listen(address, "mms")).transpose()?;
    let records = host::records(host.records.as_deref().map(Path::new), host.rotation)?;
    let (mut warnings, _awake) = prepare::process();
    warnings.extend(prepare::receive_buffer(sampled_values.receive_buffer_octets()));

    let (to_task, samples) = RingBuffer::new(samples_max(relay));
    let (messages_to_task, messages) = RingBuffer::new(MESSAGES_MAX);
    let (events, events_out) = outbox(EVENTS_MAX);
    let (tape, tape_out) = outbox(samples_max(relay) * 2 + EVENTS_MAX);
    let recorder = Recorder::start(relay, tape_out)?;
    let (received, receive_out) = exchange(receive::ReceiveFigures::default);
    let (done, task_out) = exchange(|| {
        task::TaskFigures::new(relay.protection.streams.len(), relay.subscriptions.len())
    });
    let (lateness, canary_out) = exchange(histogram);
    let shared = SharedState::default();
    shared.groups.tell(relay.protection.groups.active, None, None);
    let receiver = Receiver::new(relay, to_task, messages_to_task, received);
    let task =
        Task::new(relay, (&goose, &shared), (samples, messages), Teller { events, tape }, done);
    let clock_quality = clock::quality(&os::clock::state().unwrap_or_default());
    let live = Live::new(relay, time::common(), clock_quality);
    let served = clients.map(|listener| Served::start(relay, live, listener)).transpose()?;
    let mut watch = RelayWatch {
        served,
        totals: Totals::new(relay),
        names: Names::of(relay),
        refusals: Refusals::default(),
        records,
        recorder,
        events: events_out,
        received: receive_out,
        done: task_out,
        lateness: canary_out,
        shared: &shared,
        sampled_values: &sampled_values,
        watched,
        server,
        control,
        groups: relay.protection.groups.count(),
        window: Instant::now(),
        text,
        stop,
        failure: None,
    };
    watch.collect();
    let begin = time::own().plus(HEAD_START);
    let canary_thread = Scheduling { core: host.task.core, priority: host.canary_priority };
    let threads = vec![
        TimedThread::new("receive", scheduling(host.receive), |ending| {
            receiver.run(&sampled_values, &goose, &shared.receive_busy_ns, ending)
        }),
        TimedThread::new("task", scheduling(host.task), move |ending| {
            task.run(begin, ending);
            Ok(())
        }),
        TimedThread::new("canary", canary_thread, |ending| {
            canary::run(begin, PERIOD, &shared.canary, ending, lateness);
            Ok(())
        }),
    ];
    let (cache_group, require_realtime) = (host.cache_group.as_deref(), host.require_realtime);
    let supervisor = Supervisor { stop, duration, cache_group, require_realtime };
    let failure = supervisor.run(threads, warnings, &mut watch)?;
    Ok((watch.totals, failure))
}

fn join(relay: &Relay, sampled_values: &PacketSocket, goose: &PacketSocket) -> Result<()> {
    for stream in relay.protection.streams.values() {
        sampled_values.join(stream.key.destination.0).context("joining the group of a stream")?;
    }
    for subscription in relay.subscriptions.values() {
        goose
            .join(subscription.expected.destination.0)
            .context("joining the group of a message")?;
    }
    Ok(())
}

fn samples_max(relay: &Relay) -> usize {
    let rates =
        relay.protection.streams.values().map(|stream| usize::from(stream.supervision.rate));
    rates.map(|rate| rate * QUEUE.as_millis() as usize / 1000).sum()
}

struct RelayWatch<'s> {
    totals: Totals,
    names: Names,
    refusals: Refusals,
    records: Lines,
    recorder: Recorder,
    events: Consumer<Event>,
    received: Collector<receive::ReceiveFigures>,
    done: Collector<task::TaskFigures>,
    lateness: Collector<Histogram<u64>>,
    shared: &'s SharedState,
    sampled_values: &'s PacketSocket,
    watched: Vec<(Watched, &'s PacketSocket)>,
    server: Option<TcpListener>,
    control: Option<Control>,
    /// How many setting groups there are.
    groups: u8,
    /// Clients of MMS, where they are served.
    served: Option<Served>,
    /// Since when maxima are those of this window.
    window: Instant,
    /// The text of the settings.
    text: &'s str,
    stop: &'s AtomicBool,
    /// Why the relay ends before its time, if an interface is a reason.
    failure: Option<String>,
}

impl Watch for RelayWatch<'_> {
    fn begun(&mut self, warnings: Vec<String>) {
        let begin = records::begin(&self.totals.relay, self.text, &warnings);
        self.add(begin);
        if let Some(served) = &mut self.served {
            served.change(|live| {
                live.is_host_limited = !warnings.is_empty();
                true
            });
        }
        self.totals.warnings = warnings;
        let address = self.server.as_ref().and_then(|server| server.local_addr().ok());
        let at = address.map_or(String::new(), |at| format!(", metrics at http://{at}/metrics"));
        terminal::err!("qcrelay: {} runs{at}", self.totals.relay);
    }

    fn look(&mut self, is_last: bool) -> Result<()> {
        self.collect();
        while let Ok(event) = self.events.pop() {
            if let What::Change(Change::Reclosing(element, state, _)) = event.what {
                self.totals.reclosing(self.names.element(element), state);
            }
            let line = records::with_clock(self.names.line(&event), &self.totals.clock);
            self.records.add(line);
            if let Some(served) = &mut self.served {
                served.change(|live| event.told().is_some_and(|told| live.take(event.at, told)));
            }
        }
        self.look_at_recorder(is_last);
        let mut refused = Vec::new();
        self.refusals.look(Instant::now(), &self.totals, |line| refused.push(line));
        refused.into_iter().for_each(|line| self.add(line));
        let failure = self.look_at_links();
        self.failure = self.failure.take().or_else(|| failure.clone());
        if self.window.elapsed() >= WINDOW || is_last || failure.is_some() {
            self.window = Instant::now();
            let window = self.totals.close_window();
            self.add(json!({"window": window}));
        }
        if is_last {
            self.add(self.end());
            self.records.finish();
        } else {
            self.records.write();
        }
        self.totals.records = self.records.account();
        if let Some(server) = &self.server {
            metrics::serve(server, &self.totals);
        }
        if let Some(control) = &self.control {
            control.serve(&self.shared.groups, self.groups);
        }
        failure.map_or(Ok(()), |failure| Err(anyhow!(failure)))
    }
}

impl RelayWatch<'_> {
    fn collect(&mut self) {
        let totals = &mut self.totals;
        totals.clock = os::clock::state().unwrap_or_default();
        let clock_quality = clock::quality(&totals.clock);
        if let Some(served) = &mut self.served {
            // Only what happens from now on has it.
            served.change(|live| {
                live.clock_quality = clock_quality;
                false
            });
        }
        self.shared.clock_quality.store(clock_quality, Ordering::Relaxed);
        self.received.collect(|sheet| totals.receive(sheet));
        let mut is_measured = false;
        self.done.collect(|sheet| {
            totals.task(sheet);
            is_measured = true;
        });
        if let Some(served) = self.served.as_mut().filter(|_| is_measured) {
            served.change(|live| {
                live.measure(totals.measurands.values(), time::common());
                true
            });
        }
        self.lateness.collect(|lateness| totals.absorb("canary", lateness));
        totals.active_group = self.shared.groups.active();
        let kernel = self.sampled_values.kernel_counters().unwrap_or_default();
        totals.kernel_dropped += u64::from(kernel.dropped);
    }

    /// Adds a line of now to the records.
    fn add(&mut self, mut line: Value) {
        line["realtime_ns"] = time::common().ns().into();
        self.records.add(records::with_clock(line, &self.totals.clock));
    }

    /// The last line, with the reason.
    fn end(&self) -> Value {
        let reason = match &self.failure {
            Some(failure) => failure.as_str(),
            None if self.stop.load(Ordering::Relaxed) => "interrupted",
            None => "its duration is over, or a thread has ended",
        };
        json!({"end": self.totals.relay, "reason": reason})
    }

    /// What is recorded of disturbances.
    fn look_at_recorder(&mut self, is_last: bool) {
        if is_last {
            self.recorder.finish();
        }
        let reports: Vec<_> = self.recorder.reports().collect();
        reports.into_iter().for_each(|report| self.add(report));
        let account = self.recorder.account();
        if let Some(warning) = account.take_warning() {
            terminal::err!("qcrelay: warning: {warning}");
        }
        self.totals.disturbances = (account.written(), account.lost());
    }

    /// Why the relay ends, if an interface is a reason.
    fn look_at_links(&mut self) -> Option<String> {
        let mut failure = None;
        for (watched, socket) in &mut self.watched {
            let (changed, ended) = watched.look(socket.link());
            failure = failure.or(ended);
            let (Some(link), interface) = (changed, &watched.interface) else { continue };
            self.totals.links.insert(interface.clone(), link);
            let mut line = json!({"interface": interface, "state": link.name()});
            line["realtime_ns"] = time::common().ns().into();
            self.records.add(records::with_clock(line, &self.totals.clock));
        }
        failure
    }
}

/// Opens a socket on an interface; an error says what is missing, and the fix.
pub(crate) fn open(interface: &str, ethertype: u16) -> Result<PacketSocket> {
    PacketSocket::open(interface, ethertype).map_err(|error| {
        let fix = match error.raw_os_error() {
            Some(libc::EPERM) => "give CAP_NET_RAW",
            Some(libc::ENODEV) => "use one listed by `ip link`",
            _ => "see packet(7)",
        };
        anyhow!("interface {interface} cannot be opened ({error}): {fix}")
    })
}
