//! The protection task: each millisecond it takes in what came, looks at everything once, and
//! sends what has changed.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, Ordering};

use hdrhistogram::Histogram;
use iec61850::SampleTime;
use iec61850::goose::{self, Liveness};
use iec61850::stream::{self, State};
use iec61850::wire::{Goose, UtcTime};
use rtrb::{Consumer, Producer};
use substation::engine::{Arrival, Change, Engine};

use crate::blame::{Cause, Evidence, cause};
use crate::canary::Seen;
use crate::exchange::{Filler, histogram, record};
use crate::publish::Published;
use crate::receive::GooseFrame;
use crate::subscribed::{Order, Subscribed};
use os::packet::PacketSocket;

/// Time between two cycles.
pub(crate) const PERIOD_NS: i64 = 1_000_000;
/// Cycles between two hand-overs of measurements.
const HAND_OVER_CYCLES: u64 = 250;

/// Something for the sequence of events.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Event {
    /// When, in ns since 1970.
    pub(crate) realtime_ns: i64,
    pub(crate) what: What,
}

/// What happened; numbers are places in the order of the names.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum What {
    /// An element, a breaker or a stream.
    Change(Change),
    /// Whether a publisher is heard.
    Publisher(usize, Liveness),
    /// A value of a publisher: subscription, entry, value.
    Value(usize, usize, Option<bool>),
    /// A cycle ended too late.
    Overrun(Cause, Evidence),
}

/// Measurements of the task; counters are since the begin.
#[derive(Debug)]
pub(crate) struct Sheet {
    /// From the due time to being awake.
    pub(crate) lateness: Histogram<u64>,
    /// From being awake to the end of the cycle.
    pub(crate) duration: Histogram<u64>,
    /// Age of each sample when the task takes it, since the kernel's stamp.
    pub(crate) age: Histogram<u64>,
    pub(crate) counters: Counters,
    pub(crate) streams: Vec<(State, stream::Counters)>,
    pub(crate) subscriptions: Vec<(Liveness, goose::Counters)>,
}

impl Sheet {
    /// An empty one for so many streams and subscriptions.
    pub(crate) fn new(streams: usize, subscriptions: usize) -> Self {
        Self {
            lateness: histogram(),
            duration: histogram(),
            age: histogram(),
            counters: Counters::default(),
            streams: vec![(State::Waiting, stream::Counters::default()); streams],
            subscriptions: vec![(Liveness::Waiting, goose::Counters::default()); subscriptions],
        }
    }
}

/// Everything that the task has and uses.
#[derive(Debug)]
pub(crate) struct Task<'t> {
    pub(crate) engine: Engine,
    /// Messages that it sends.
    pub(crate) published: Vec<Published>,
    /// Messages that it hears.
    pub(crate) subscribed: Vec<Subscribed>,
    pub(crate) samples: Consumer<Arrival>,
    pub(crate) goose: Consumer<GooseFrame>,
    /// Where messages are sent.
    pub(crate) bus: &'t PacketSocket,
    pub(crate) events: Producer<Event>,
    pub(crate) sheet: Filler<Sheet>,
    /// What the canary saw.
    pub(crate) canary: &'t Seen,
    /// What the stamps of messages say of the clock.
    pub(crate) clock_quality: &'t AtomicU8,
    /// How long the receiving thread was at work.
    pub(crate) receive_busy_ns: &'t AtomicI64,
    /// What of subscriptions was told last.
    pub(crate) told: Vec<(Liveness, Vec<Option<bool>>)>,
    pub(crate) counters: Counters,
}

/// What the task did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counters {
    /// Cycles that were run.
    pub(crate) cycles: u64,
    /// Cycles that were left out because one before ended too late.
    pub(crate) skipped: u64,
    /// Frames that were published.
    pub(crate) published: u64,
    /// Frames that the interface did not take.
    pub(crate) unsent: u64,
    /// Events that found their queue full.
    pub(crate) events_lost: u64,
    /// Cycles that ended too late, by cause.
    pub(crate) overruns: [u64; 3],
}

impl Task<'_> {
    /// Runs cycles from `begin_ns` on until it shall stop.
    pub(crate) fn run(mut self, begin_ns: i64, stop: &AtomicBool) -> Box<Sheet> {
        let mut tick = 0;
        while !stop.load(Ordering::Relaxed) {
            let due_ns = begin_ns + tick as i64 * PERIOD_NS;
            os::realtime::sleep_until(due_ns);
            let (awake_ns, cpu_ns) = (os::realtime::now_ns(), os::realtime::thread_cpu_ns());
            let busy_ns = self.receive_busy_ns.load(Ordering::Relaxed);
            self.cycle(awake_ns);
            let end_ns = os::realtime::now_ns();
            record(&mut self.sheet.sheet().lateness, awake_ns - due_ns);
            record(&mut self.sheet.sheet().duration, end_ns - awake_ns);
            let ticks_over = ((end_ns - due_ns) / PERIOD_NS) as u64;
            if ticks_over > 0 {
                self.blame(&Evidence {
                    excess_ns: end_ns - due_ns - PERIOD_NS,
                    elapsed_ns: end_ns - due_ns,
                    task_cpu_ns: os::realtime::thread_cpu_ns() - cpu_ns,
                    canary_late_ns: self.canary.worst_ns(tick, tick + ticks_over),
                    receive_busy_ns: self.receive_busy_ns.load(Ordering::Relaxed) - busy_ns,
                });
            }
            self.counters.cycles += 1;
            self.counters.skipped += ticks_over;
            self.report();
            tick += ticks_over + 1;
        }
        self.fill();
        self.sheet.finish()
    }

    fn cycle(&mut self, now_ns: i64) {
        let now = SampleTime::from_ns(now_ns as u64);
        // What came until now, and no more: a flood may not keep the task from its work.
        for _ in 0..self.samples.slots() {
            let Ok(arrival) = self.samples.pop() else { break };
            record(&mut self.sheet.sheet().age, now_ns - arrival.at.ns() as i64);
            self.engine.sample(&arrival);
        }
        for _ in 0..self.goose.slots() {
            let Ok(frame) = self.goose.pop() else { break };
            let Ok(message) = Goose::decode(frame.octets()) else { continue };
            self.subscribed.iter_mut().for_each(|each| each.receive(now, &message));
        }
        let realtime_ns = os::realtime::realtime_ns();
        self.listen(now, realtime_ns);
        for change in self.engine.step(now) {
            let event = Event { realtime_ns, what: What::Change(*change) };
            self.counters.events_lost += u64::from(self.events.push(event).is_err());
        }
        let clock_quality = self.clock_quality.load(Ordering::Relaxed);
        let stamp = UtcTime::from_realtime_ns(realtime_ns as u64, clock_quality);
        for published in &mut self.published {
            if let Some(frame) = published.step(now, stamp, &self.engine) {
                match send(self.bus, frame) {
                    Ok(()) => self.counters.published += 1,
                    Err(_) => self.counters.unsent += 1,
                }
            }
        }
    }

    /// What other devices say: what they want done, and what is new.
    fn listen(&mut self, now: SampleTime, realtime_ns: i64) {
        let each = self.subscribed.iter_mut().zip(&mut self.told).enumerate();
        for (number, (subscribed, (told_liveness, told_values))) in each {
            let liveness = subscribed.poll(now);
            let mut tell = |what| {
                let event = Event { realtime_ns, what };
                self.counters.events_lost += u64::from(self.events.push(event).is_err());
            };
            if *told_liveness != liveness {
                *told_liveness = liveness;
                tell(What::Publisher(number, liveness));
            }
            let values = subscribed.values().iter().zip(told_values).enumerate();
            for (entry, (value, told)) in values {
                if *told != *value {
                    *told = *value;
                    tell(What::Value(number, entry, *value));
                }
            }
        }
        self.obey();
    }

    /// What subscribed messages want done; where two say something of one thing, either is enough.
    fn obey(&mut self) {
        self.engine.forget_orders();
        for (order, _) in self.subscribed.iter().flat_map(Subscribed::orders).filter(|each| each.1)
        {
            match order {
                Order::Block(element) => self.engine.block(element),
                Order::Trip(breaker) => self.engine.order(breaker),
                Order::Initiate(element) => self.engine.initiate(element),
            }
        }
    }

    fn blame(&mut self, evidence: &Evidence) {
        let cause = cause(evidence);
        self.counters.overruns[cause as usize] += 1;
        let what = What::Overrun(cause, *evidence);
        let event = Event { realtime_ns: os::realtime::realtime_ns(), what };
        self.counters.events_lost += u64::from(self.events.push(event).is_err());
    }

    fn report(&mut self) {
        if self.counters.cycles.is_multiple_of(HAND_OVER_CYCLES) {
            self.fill();
            self.sheet.hand_over();
        }
    }

    fn fill(&mut self) {
        let sheet = self.sheet.sheet();
        sheet.counters = self.counters;
        for (to, (state, counters)) in sheet.streams.iter_mut().zip(self.engine.counters()) {
            *to = (state, *counters);
        }
        let told = self.subscribed.iter().zip(&self.told);
        for (to, (subscribed, (liveness, _))) in sheet.subscriptions.iter_mut().zip(told) {
            *to = (*liveness, *subscribed.counters());
        }
    }
}

fn send(bus: &PacketSocket, frame: &[u8]) -> io::Result<()> {
    match bus.send(&[frame])? {
        0 => Err(io::ErrorKind::WouldBlock.into()),
        _ => Ok(()),
    }
}
