//! The protection task: each millisecond it takes in what came, looks at everything once, and
//! sends what has changed.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use hdrhistogram::Histogram;
use iec61850::SampleTime;
use iec61850::goose::{self, Liveness};
use iec61850::stream::{self, State};
use iec61850::wire::{Goose, MacAddress, UtcTime};
use protection::Measurands;
use quorum::CommonTime;
use realtime::blame::{Evidence, cause};
use realtime::canary::{CanaryTicks, at_each_tick, ticks_in};
use realtime::exchange::{Filler, histogram, record};
use realtime::time;
use rtrb::Consumer;
use substation::engine::{Arrival, Engine};
use substation::settings::Relay;

use crate::event::{Event, What};
use crate::group::{GroupBoard, Selection, Wish};
use crate::publish::Published;
use crate::receive::GooseFrame;
use crate::recorder::Teller;
use crate::subscribed::{Order, Subscribed};
use os::packet::PacketSocket;

/// Time between two cycles.
pub(crate) const PERIOD: Duration = Duration::from_millis(1);
const HAND_OVER_CYCLES: u64 = 250;

/// Measurements of the task; counters are since the begin.
#[derive(Debug)]
pub(crate) struct TaskFigures {
    /// From the due time to being awake.
    pub(crate) lateness: Histogram<u64>,
    /// From being awake to the end of the cycle.
    pub(crate) duration: Histogram<u64>,
    /// Age of each sample when the task takes it, since the kernel's stamp.
    pub(crate) age: Histogram<u64>,
    pub(crate) counters: Counters,
    pub(crate) streams: Vec<(State, stream::Counters)>,
    /// Of each stream, while it is valid.
    pub(crate) measurands: Vec<Option<Measurands>>,
    pub(crate) subscriptions: Vec<(Liveness, goose::Counters)>,
}

impl TaskFigures {
    pub(crate) fn new(streams: usize, subscriptions: usize) -> Self {
        Self {
            lateness: histogram(),
            duration: histogram(),
            age: histogram(),
            counters: Counters::default(),
            streams: vec![(State::Waiting, stream::Counters::default()); streams],
            measurands: vec![None; streams],
            subscriptions: vec![(Liveness::Waiting, goose::Counters::default()); subscriptions],
        }
    }
}

/// What the threads of a relay know of each other without queues.
#[derive(Debug, Default)]
pub(crate) struct SharedState {
    pub(crate) canary: CanaryTicks,
    /// What the stamps of messages say of the clock.
    pub(crate) clock_quality: AtomicU8,
    /// How long the receiving thread was at work.
    pub(crate) receive_busy_ns: AtomicU64,
    pub(crate) groups: GroupBoard,
}

#[derive(Debug)]
pub(crate) struct Task<'t> {
    engine: Engine,
    published: Vec<Published>,
    subscribed: Vec<Subscribed>,
    /// What of these was reported last.
    known: Vec<(Liveness, Vec<Option<bool>>)>,
    samples: Consumer<Arrival>,
    goose: Consumer<GooseFrame>,
    bus: &'t PacketSocket,
    events: Teller,
    figures: Filler<TaskFigures>,
    shared: &'t SharedState,
    /// The setting group that messages select now.
    selection: Selection,
    counters: Counters,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counters {
    pub(crate) cycles: u64,
    /// Cycles that were left out because one before ended too late.
    pub(crate) skipped: u64,
    pub(crate) published: u64,
    /// Frames that the interface did not take.
    pub(crate) unsent: u64,
    /// Events that found their queue full.
    pub(crate) events_lost: u64,
    /// Samples and events that found the tape of the recorder full.
    pub(crate) recorder_missed: u64,
    /// Cycles that ended too late, by cause.
    pub(crate) overruns: [u64; 3],
}

impl<'t> Task<'t> {
    pub(crate) fn new(
        relay: &Relay,
        (bus, shared): (&'t PacketSocket, &'t SharedState),
        (samples, goose): (Consumer<Arrival>, Consumer<GooseFrame>),
        events: Teller,
        figures: Filler<TaskFigures>,
    ) -> Self {
        let subscribed = Subscribed::of(relay);
        let unknown = |each: &Subscribed| (Liveness::Waiting, vec![None; each.values.len()]);
        Self {
            engine: Engine::new(&relay.protection),
            published: Published::of(relay, MacAddress(bus.address())),
            known: subscribed.iter().map(unknown).collect(),
            subscribed,
            samples,
            goose,
            bus,
            events,
            figures,
            shared,
            selection: Selection::Nothing,
            counters: Counters::default(),
        }
    }

    /// Runs cycles from `begin` on until it shall stop.
    pub(crate) fn run(mut self, begin: SampleTime, stop: &AtomicBool) {
        at_each_tick(begin, PERIOD, stop, |tick, due| self.timed_cycle(tick, due));
        self.fill();
        self.figures.finish();
    }

    /// A cycle that was due, and what is measured of it; returns its end.
    fn timed_cycle(&mut self, tick: u64, due: SampleTime) -> SampleTime {
        let (awake, cpu_ns) = (time::own(), os::realtime::thread_cpu_ns());
        let busy_ns = self.shared.receive_busy_ns.load(Ordering::Relaxed);
        self.cycle(awake);
        let end = time::own();
        record(&mut self.figures.sheet.lateness, awake.since(due));
        record(&mut self.figures.sheet.duration, end.since(awake));
        let ticks_over = ticks_in(end.since(due), PERIOD);
        if ticks_over > 0 {
            let cpu_ns = (os::realtime::thread_cpu_ns() - cpu_ns).max(0) as u64;
            let busy_ns = self.shared.receive_busy_ns.load(Ordering::Relaxed) - busy_ns;
            self.blame(&Evidence {
                excess: end.since(due.plus(PERIOD)),
                elapsed: end.since(due),
                task_cpu: Duration::from_nanos(cpu_ns),
                canary_late: self.shared.canary.worst(tick, tick + ticks_over),
                receive_busy: Duration::from_nanos(busy_ns),
            });
        }
        self.counters.cycles += 1;
        self.counters.skipped += ticks_over;
        if self.counters.cycles.is_multiple_of(HAND_OVER_CYCLES) {
            self.fill();
            self.figures.hand_over();
        }
        end
    }

    fn cycle(&mut self, now: SampleTime) {
        // What came until now, and no more: a flood may not keep the task from its work.
        for _ in 0..self.samples.slots() {
            let Ok(arrival) = self.samples.pop() else { break };
            record(&mut self.figures.sheet.age, now.since(arrival.at));
            if self.engine.sample(&arrival) {
                self.events.sample(&arrival);
            }
        }
        for _ in 0..self.goose.slots() {
            let Ok(frame) = self.goose.pop() else { break };
            let Ok(message) = Goose::decode(frame.octets()) else { continue };
            for (number, subscribed) in self.subscribed.iter_mut().enumerate() {
                subscribed.receive(now, &message);
                if let Some(refusal) = subscribed.take_report() {
                    let what = What::Refused(number, refusal);
                    self.events.push(Event { at: time::common(), what });
                }
            }
        }
        let at = time::common();
        self.listen(now, at);
        let wish = self.choose_group(now, at);
        for change in self.engine.step(now) {
            self.events.push(Event { at, what: What::Change(*change) });
        }
        let selected = self.selection.group().map(|(group, _)| group);
        self.shared.groups.tell(self.engine.group(), selected, wish);
        let clock_quality = self.shared.clock_quality.load(Ordering::Relaxed);
        let stamp = UtcTime::from_realtime_ns(at.ns(), clock_quality);
        for published in &mut self.published {
            if let Some(frame) = published.step(now, stamp, &self.engine) {
                match self.bus.send(&[frame]) {
                    Ok(1..) => self.counters.published += 1,
                    Ok(0) | Err(_) => self.counters.unsent += 1,
                }
            }
        }
    }

    /// What other devices say: what they want done, and what is new.
    fn listen(&mut self, now: SampleTime, at: CommonTime) {
        let each = self.subscribed.iter_mut().zip(&mut self.known).enumerate();
        for (number, (subscribed, (known_liveness, known_values))) in each {
            let liveness = subscribed.poll(now);
            let mut tell = |what| self.events.push(Event { at, what });
            if *known_liveness != liveness {
                *known_liveness = liveness;
                tell(What::Publisher(number, liveness));
            }
            let values = subscribed.values.iter().zip(known_values).enumerate();
            for (entry, (value, known)) in values {
                if *known != *value {
                    // From false alone: one that was true in a silence is nobody's wish of now.
                    if (*known, *value) == (Some(false), Some(true))
                        && let Some(breaker) = subscribed.resets(entry)
                    {
                        self.engine.reset(breaker);
                    }
                    *known = *value;
                    tell(What::Value(number, entry, *value));
                }
            }
        }
        self.obey();
    }

    /// What subscribed messages say to elements and breakers, and of the setting group.
    fn obey(&mut self) {
        self.engine.forget_messages();
        self.selection = Selection::Nothing;
        for (number, subscribed) in self.subscribed.iter().enumerate() {
            for (order, value) in subscribed.orders() {
                match order {
                    Order::Tell(input, element) => self.engine.tell(element, input, value),
                    Order::Initiate(element, pole) if value == Some(true) => {
                        self.engine.initiate(element, pole);
                    }
                    Order::Trip(breaker) if value == Some(true) => self.engine.order(breaker),
                    Order::Position(breaker, pole) => self.engine.position(breaker, pole, value),
                    Order::Group(group) if value == Some(true) => {
                        self.selection.add(group, number);
                    }
                    Order::Initiate(..) | Order::Trip(_) | Order::Group(_) => {}
                }
            }
        }
    }

    /// The setting group that a message selects, or else that somebody wishes; returns the wish,
    /// which is answered after the step.
    fn choose_group(&mut self, now: SampleTime, at: CommonTime) -> Option<Wish> {
        let wish = self.shared.groups.take();
        if let Some((group, by)) = self.selection.group().or(wish.map(Wish::of))
            && self.engine.want_group(now, group)
        {
            self.events.push(Event { at, what: What::GroupWanted(group, by) });
        }
        wish
    }

    fn blame(&mut self, evidence: &Evidence) {
        let cause = cause(evidence);
        self.counters.overruns[cause as usize] += 1;
        self.events.push(Event { at: time::common(), what: What::Overrun(cause, *evidence) });
    }

    fn fill(&mut self) {
        let sheet = &mut self.figures.sheet;
        sheet.counters = Counters {
            events_lost: self.events.events.lost,
            recorder_missed: self.events.tape.lost,
            ..self.counters
        };
        for (to, (state, counters)) in sheet.streams.iter_mut().zip(self.engine.counters()) {
            *to = (state, *counters);
        }
        for (to, measurands) in sheet.measurands.iter_mut().zip(self.engine.measurands()) {
            *to = measurands;
        }
        let known = self.subscribed.iter().zip(&self.known);
        for (to, (subscribed, (liveness, _))) in sheet.subscriptions.iter_mut().zip(known) {
            *to = (*liveness, *subscribed.counters());
        }
    }
}
