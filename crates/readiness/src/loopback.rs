//! A loop of sampled values through this host's network code: a stream of 4800 frames a second over
//! a cable between two network namespaces of the check's own, from just before a frame is sent
//! until a real-time thread has decoded it.
//!
//! No card and no switch is in it, so it is the least that any relay on this host will see. The
//! limits are those of a task of 1 ms: a frame that is later misses its cycle.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use iec61850::wire::ethernet::ETHERTYPE_SAMPLED_VALUES;
use iec61850::wire::sampled_values::Channels;
use iec61850::wire::{Asdu, Header, MacAddress, Quality, Sample, SampledValues, Synchronisation};
use os::packet::{Batch, PacketSocket, wait};
use os::realtime::{now_ns, sleep_until};

use super::{Cores, Finding};
use os::process_bus::{INTERFACE, ProcessBus, Wiring};
use report_kit::statistics::Distribution;
use report_kit::statistics::summary::quantile;

/// Samples a second of a stream at 60 Hz.
const RATE: u64 = 4800;
/// Of the receiving thread, as in a relay.
const PRIORITY: i32 = 80;
/// Cycle of a protection task.
const CYCLE_NS: u32 = 1_000_000;
/// After the last frame was sent.
const PATIENCE: Duration = Duration::from_millis(200);
const DESTINATION: MacAddress = MacAddress([0x01, 0x0c, 0xcd, 0x04, 0x00, 0x01]);

#[derive(Debug, Default)]
struct Loop {
    sent: u64,
    latency_ns: Vec<u32>,
}

pub(super) fn finding(cores: &Cores, duration: Duration) -> Finding {
    match measure(cores.iter().last().unwrap_or(0), duration) {
        Ok(measured) => judge(&measured),
        Err(error) => Finding::unknown(format!("{error:#}")),
    }
}

fn measure(core: usize, duration: Duration) -> anyhow::Result<Loop> {
    let bus = ProcessBus::lay(Wiring::Veth, 1)?;
    let open = || Ok(PacketSocket::open(INTERFACE, ETHERTYPE_SAMPLED_VALUES)?);
    let publisher = bus.publisher.run(open)?;
    let relay = bus.relays[0].run(|| {
        let socket = open()?;
        socket.join(DESTINATION.0)?;
        Ok(socket)
    })?;
    let frames = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX) / (1_000_000_000 / RATE);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&relay, core, &is_over));
        let sent = send(&publisher, frames);
        thread::sleep(PATIENCE);
        is_over.store(true, Ordering::Relaxed);
        let latency_ns = receiver.join().expect("the receiver does not panic")?;
        Ok(Loop { sent: sent?, latency_ns })
    })
}

/// Sends at absolute times; each frame says in its first channels when it was sent.
fn send(socket: &PacketSocket, frames: u64) -> anyhow::Result<u64> {
    let begin_ns = now_ns();
    for number in 0..frames {
        sleep_until(begin_ns + (number * 1_000_000_000 / RATE).cast_signed());
        let octets = frame("LOOP", now_ns(), Synchronisation::Local);
        anyhow::ensure!(socket.send(&[&octets])? == 1, "frame {number} was not accepted");
    }
    Ok(frames)
}

fn receive(socket: &PacketSocket, core: usize, is_over: &AtomicBool) -> anyhow::Result<Vec<u32>> {
    os::realtime::pin(core)?;
    os::realtime::fifo(PRIORITY)?;
    let (mut latency_ns, mut batch) = (Vec::new(), Batch::new(64));
    while !is_over.load(Ordering::Relaxed) {
        if !wait(&[socket], Duration::from_millis(50))? {
            continue;
        }
        socket.receive(&mut batch)?;
        for received in batch.frames() {
            if let Some(sent_ns) = sent_ns(received.octets) {
                latency_ns.push(u32::try_from(now_ns() - sent_ns).unwrap_or(u32::MAX));
            }
        }
    }
    Ok(latency_ns)
}

/// A frame of one sample with its time of sending in the first two channels.
pub(super) fn frame(sv_id: &str, sent_ns: i64, smp_synch: Synchronisation) -> Vec<u8> {
    let of = |value: i32| Sample { value, quality: Quality::GOOD }.to_octets();
    let [high, low] = [(sent_ns >> 32) as i32, sent_ns as i32];
    let samples = [of(high), of(low), of(0), of(0), of(0), of(0), of(0), of(0)];
    let asdu = Asdu {
        sv_id,
        dat_set: None,
        smp_cnt: 0,
        conf_rev: 1,
        refr_tm: None,
        smp_synch,
        smp_rate: None,
        channels: Channels::new(&samples),
        smp_mod: None,
        gm_identity: None,
    };
    let header = Header {
        destination: DESTINATION,
        source: MacAddress::default(),
        tag: None,
        app_id: 0x4000,
        reserved: [0, 0],
    };
    let mut octets = Vec::new();
    SampledValues::encode(&header, &[asdu], &mut octets);
    octets
}

/// When a frame of this check was sent.
fn sent_ns(frame: &[u8]) -> Option<i64> {
    let values = SampledValues::decode(frame).ok()?;
    let value = |channel| values.first().channels.get(channel).map(|sample| sample.value);
    Some(i64::from(value(0)?) << 32 | i64::from(value(1)?.cast_unsigned()))
}

fn judge(measured: &Loop) -> Finding {
    let latencies = Distribution::of(&measured.latency_ns);
    let lost = measured.sent.saturating_sub(latencies.count());
    let Some(max) = latencies.max() else {
        let found = format!("none of {} frames arrived", measured.sent);
        return Finding::fail(found, "use a kernel with veth, and see `dmesg`");
    };
    let us = |ns: f64| format!("{:.1}", ns / 1000.0);
    let (p50, p99) = (quantile(&latencies, 0.5), quantile(&latencies, 0.99));
    let found = format!(
        "p50 {}, p99 {}, max {} µs, {lost} lost of {} frames at {RATE}/s",
        us(p50),
        us(p99),
        us(f64::from(max)),
        measured.sent
    );
    let fix = "see the items of kernel, scheduler and processor above; if they are ok, the \
                  host (steal time)";
    if lost > 0 || p99 > f64::from(CYCLE_NS) {
        Finding::fail(found, fix)
    } else if max > CYCLE_NS {
        Finding::warn(found, fix)
    } else {
        Finding::ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::*;

    #[test]
    fn a_frame_says_when_it_was_sent() {
        for ns in [0, 1, i64::from(u32::MAX), 0x0123_4567_89ab_cdef] {
            assert_eq!(sent_ns(&frame("LOOP", ns, Synchronisation::Local)), Some(ns));
        }
        assert_eq!(sent_ns(&[0xa5; 60]), None);
    }

    #[test]
    fn losses_fail_and_a_late_frame_warns() {
        let of = |latency_ns: Vec<u32>| judge(&Loop { sent: 200, latency_ns });
        assert_eq!(of(vec![20_000; 200]).grade, Grade::Ok);
        assert_eq!(of(vec![20_000; 199]).grade, Grade::Fail);
        let mut once = vec![20_000; 200];
        once[7] = CYCLE_NS + 1;
        assert_eq!(of(once).grade, Grade::Warn);
        assert_eq!(of(vec![CYCLE_NS + 1; 200]).grade, Grade::Fail);
        assert_eq!(of(Vec::new()).found, "none of 200 frames arrived");
    }

    #[test]
    fn frames_go_round_where_this_host_lets_them() {
        let item = finding(&"0".parse().unwrap(), Duration::from_millis(100));
        if item.grade == Grade::NotMeasured {
            eprintln!("not measured: {}", item.found);
            return;
        }
        assert!(item.found.ends_with("of 480 frames at 4800/s"), "{}", item.found);
    }
}
