//! What the host takes of each core: many short slices add up to a slow action, and no single one
//! of them is a stall.
//!
//! On each core a thread before all others wakes up each quarter of a millisecond. When it is late, its
//! own run delay says for how long it was ready and something else had the core (the kernel's soft
//! interrupts, its reserve for ordinary tasks); for the rest its interrupt itself came late, so the
//! core was gone: to a hypervisor, to firmware, or to the kernel with interrupts off. From that its
//! typical lateness is taken away. A slice that begins and ends between two beats is not seen, and
//! of others what lies before the beat, so the sums are lower bounds.
//!
//! One of these for each core, not for each node: nodes that share cores would beat too often.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use os::run_delay::RunDelay;
use rtrb::{Producer, RingBuffer};
use serde_json::{Value, json};
use substation::settings::Thread;

use super::lines::Lines;
use super::records::{Event, What};
use crate::prepare;

/// Time between two beats, ns: of what can make an action late by milliseconds none is missed, and a
/// beat each 100 µs took a seventh of a core from those whom it watches.
const PERIOD_NS: i64 = 250_000;
/// Before everything but the kernel's own.
const PRIORITY: i32 = 99;
/// What is worth a line, ns: more than wake-ups differ from each other on a core that is left alone.
const TAKEN_MIN_NS: i64 = 20_000;
/// Step of the running median, ns.
const STEP_NS: i64 = 50;
/// The most that is taken for typical, ns: a core that is gone at each beat is no typical one.
const TYPICAL_MAX_NS: i64 = 60_000;
/// Lines that may wait for being written: at one for each beat, a second.
const EVENTS_MAX: usize = 4096;
/// How often they are written.
const LOOK: Duration = Duration::from_millis(20);

/// What the beats of a core have told so far; ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Beats {
    count: u64,
    typical_ns: i64,
    taken_ns: i64,
    waited_ns: i64,
    lost: u64,
}

/// What one beat tells, ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Slice {
    taken_ns: i64,
    waited_ns: i64,
}

impl Beats {
    /// A beat came late by so much, and for a part of that others had the core.
    fn note(&mut self, late_ns: i64, waited_ns: i64) -> Option<Slice> {
        self.count += 1;
        let waited_ns = waited_ns.clamp(0, late_ns.max(0));
        let woken_ns = late_ns - waited_ns;
        let slice = Slice { taken_ns: (woken_ns - self.typical_ns).max(0), waited_ns };
        // A median that needs no memory (Ma, Muthukrishnan and Sandler 2013, "Frugal streaming").
        let step_ns = if woken_ns > self.typical_ns { STEP_NS } else { -STEP_NS };
        self.typical_ns = (self.typical_ns + step_ns).clamp(0, TYPICAL_MAX_NS);
        if slice.taken_ns.max(slice.waited_ns) < TAKEN_MIN_NS {
            return None;
        }
        let told = |ns: i64| if ns < TAKEN_MIN_NS { 0 } else { ns };
        let slice = Slice { taken_ns: told(slice.taken_ns), waited_ns: told(slice.waited_ns) };
        self.taken_ns += slice.taken_ns;
        self.waited_ns += slice.waited_ns;
        Some(slice)
    }
}

/// Measures until `stop`, or for `duration`; answers the sums.
pub(crate) fn run(
    cores: &[usize],
    path: Option<&Path>,
    duration: Option<Duration>,
    stop: &AtomicBool,
) -> Result<Value> {
    let mut out = path.map(Lines::open).transpose()?;
    let (mut warnings, _awake) = prepare::process();
    let ending = AtomicBool::new(false);
    let begin = Instant::now();
    thread::scope(|scope| {
        let mut queues = Vec::new();
        let threads: Vec<_> = cores
            .iter()
            .map(|&core| {
                let (events, queue) = RingBuffer::new(EVENTS_MAX);
                queues.push(queue);
                let ending = &ending;
                scope.spawn(move || beat(core, events, ending))
            })
            .collect();
        terminal::err!("qcrelay: the meter runs");
        let mut result = Ok(());
        let mut is_over = false;
        while !is_over {
            is_over = result.is_err()
                || stop.load(Ordering::Relaxed)
                || duration.is_some_and(|duration| begin.elapsed() >= duration);
            if !is_over {
                thread::sleep(LOOK);
            }
            for queue in &mut queues {
                while let Ok(event) = queue.pop() {
                    if let Some(out) = &mut out {
                        out.add(event.line());
                    }
                }
            }
            if let Some(out) = &mut out {
                result = result.and(out.write().context("writing records"));
            }
        }
        ending.store(true, Ordering::Relaxed);
        let mut found = Vec::new();
        for (core, thread) in cores.iter().zip(threads) {
            let (beats, refused, counts) =
                thread.join().expect("a meter does not panic: that ends the program");
            warnings.extend(refused);
            found.push(json!({
                "core": core,
                "beats": beats.count,
                "typical_ns": beats.typical_ns,
                "taken_ns": beats.taken_ns,
                "waited_ns": if counts { Value::from(beats.waited_ns) } else { Value::Null },
                "events_lost": beats.lost,
            }));
        }
        result?;
        let measured_ns = i64::try_from(begin.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Ok(json!({"measured_ns": measured_ns, "cores": found, "warnings": warnings}))
    })
}

/// Beats on a core until it shall stop; answers the sums, what was refused, and whether the kernel
/// counts run delays: without, all lateness is taken for the host's.
fn beat(
    core: usize,
    mut events: Producer<Event>,
    ending: &AtomicBool,
) -> (Beats, Vec<String>, bool) {
    let settings = Thread { core: Some(core), priority: PRIORITY };
    let refused = prepare::thread("meter", settings, None);
    let delay = RunDelay::of_this_thread();
    let delay_ns = || delay.as_ref().map_or(0, RunDelay::ns);
    let mut beats = Beats::default();
    let mut known_ns = delay_ns();
    let mut due_ns = os::realtime::now_ns() + PERIOD_NS;
    while !ending.load(Ordering::Relaxed) {
        os::realtime::sleep_until(due_ns);
        let late_ns = os::realtime::now_ns() - due_ns;
        let realtime_ns = os::realtime::realtime_ns();
        let now_ns = delay_ns();
        let waited_ns = now_ns - std::mem::replace(&mut known_ns, now_ns);
        if let Some(Slice { taken_ns, waited_ns }) = beats.note(late_ns, waited_ns) {
            let what = What::Taken { core, late_ns, taken_ns, waited_ns };
            beats.lost += u64::from(events.push(Event { realtime_ns, what }).is_err());
        }
        due_ns += PERIOD_NS * (1 + late_ns / PERIOD_NS);
    }
    (beats, refused, delay.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: i64 = 1000;

    /// Beats of a core that is left alone.
    fn settled() -> Beats {
        let mut beats = Beats::default();
        for number in 0..10_000 {
            let _first = beats.note(30 * US + number % 7 * 100, 2 * US);
        }
        Beats { taken_ns: 0, waited_ns: 0, ..beats }
    }

    #[test]
    fn what_is_typical_is_learnt_and_no_slice() {
        let mut beats = settled();
        assert!((27 * US..30 * US).contains(&beats.typical_ns), "{beats:?}");
        assert_eq!(beats.note(35 * US, 0), None);
        assert_eq!((beats.taken_ns, beats.waited_ns), (0, 0));
    }

    #[test]
    fn short_slices_add_up() {
        let mut beats = settled();
        for _ in 0..10 {
            beats.note(228 * US, 0).expect("a slice");
            assert_eq!(beats.note(30 * US, 0), None);
        }
        assert!((1980 * US..2020 * US).contains(&beats.taken_ns), "{beats:?}");
        assert_eq!(beats.waited_ns, 0);
    }

    #[test]
    fn what_others_had_is_not_the_hosts() {
        let mut beats = settled();
        let slice = beats.note(530 * US, 500 * US).expect("a slice");
        assert_eq!(slice, Slice { taken_ns: 0, waited_ns: 500 * US });
        // Run delays of more than the beat was late are of before it.
        let slice = beats.note(100 * US, 300 * US).expect("a slice");
        assert_eq!(slice, Slice { taken_ns: 0, waited_ns: 100 * US });
    }

    #[test]
    fn a_core_that_is_always_gone_is_not_typical() {
        let mut beats = Beats::default();
        for _ in 0..10_000 {
            let _slice = beats.note(500 * US, 0);
        }
        let slice = beats.note(500 * US, 0).expect("a slice");
        assert_eq!(slice.taken_ns, 500 * US - TYPICAL_MAX_NS);
    }
}
