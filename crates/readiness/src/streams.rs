//! The sampled values that come to the interface of the process bus: which streams, and whether
//! their publishers know what time it is.
//!
//! A relay compares samples of several merging units by their counters, which mean the same moment
//! only if both units follow a common clock; each says so in every frame (IEC 61850-9-2, `smpSynch`:
//! 0 none, 1 a local clock, 2 or a clock's number a global one). Listening changes nothing but that
//! the interface takes all groups in meanwhile.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use iec61850::wire::ethernet::ETHERTYPE_SAMPLED_VALUES;
use iec61850::wire::{SampledValues, Synchronisation};
use os::packet::{Batch, PacketSocket, wait};

use super::{Finding, Item};

/// Two seconds hold two beginnings of a second of every stream.
const LISTEN: Duration = Duration::from_secs(2);

/// How the publishers of all streams are synchronised, by destination and name.
type Heard = BTreeMap<String, Synchronisation>;

pub(super) fn items(interface: Option<&str>) -> Vec<Item> {
    let Some(interface) = interface else { return Vec::new() };
    let finding = match listen(interface, LISTEN) {
        Ok((heard, refused)) => judge(&heard, refused),
        Err(error) => Finding::unknown(format!("listening on {interface}: {error}")),
    };
    Item::of_group("time", [("synchronisation of streams", finding)])
}

/// What came, and how many frames were no sampled values though they claimed to be.
fn listen(interface: &str, duration: Duration) -> std::io::Result<(Heard, u64)> {
    let socket = PacketSocket::open(interface, ETHERTYPE_SAMPLED_VALUES)?;
    socket.join_all()?;
    let (mut heard, mut refused, mut batch) = (Heard::new(), 0, Batch::new(64));
    let begin = Instant::now();
    while let Some(left) = duration.checked_sub(begin.elapsed()) {
        if !wait(&[&socket], left)? {
            break;
        }
        socket.receive(&mut batch)?;
        for frame in batch.frames() {
            refused += u64::from(!take(&mut heard, frame.octets));
        }
    }
    Ok((heard, refused))
}

/// Records a frame; the worst that a stream ever said of itself stays.
fn take(heard: &mut Heard, frame: &[u8]) -> bool {
    let Ok(values) = SampledValues::decode(frame) else { return false };
    for asdu in values.asdus() {
        let known = heard
            .entry(format!("{} to {}", asdu.sv_id, values.header.destination))
            .or_insert(asdu.smp_synch);
        if rank(asdu.smp_synch) < rank(*known) {
            *known = asdu.smp_synch;
        }
    }
    true
}

fn rank(synchronisation: Synchronisation) -> u8 {
    match synchronisation {
        Synchronisation::None => 0,
        Synchronisation::Local => 1,
        _ => 2,
    }
}

fn judge(heard: &Heard, refused: u64) -> Finding {
    let named = |wanted: u8| -> Vec<&str> {
        let of = heard.iter().filter(|(_, said)| rank(**said) == wanted);
        of.map(|(name, _)| name.as_str()).collect()
    };
    let (none, local) = (named(0), named(1));
    let malformed =
        if refused == 0 { String::new() } else { format!("; {refused} malformed frames") };
    let fix = "connect these merging units to the grandmaster of the substation (PTP or 1 PPS)";
    if heard.is_empty() {
        let seconds = LISTEN.as_secs();
        return Finding::unknown(format!("no stream in {seconds} s{malformed}"));
    }
    if !none.is_empty() {
        let found = format!("not synchronised: {}{malformed}", none.join(", "));
        return Finding::fail(found, fix);
    }
    if !local.is_empty() {
        let found = format!("only to a local clock: {}{malformed}", local.join(", "));
        return Finding::warn(found, fix);
    }
    let count = heard.len();
    Finding::ok(format!("{count} streams, all to a global clock{malformed}"))
}

#[cfg(test)]
mod tests {
    use super::super::Grade;
    use super::super::loopback::frame;
    use super::*;

    #[test]
    fn the_worst_publisher_decides_and_is_named() {
        let of = |said: &[Synchronisation]| {
            let mut heard = Heard::new();
            for said in said {
                assert!(take(&mut heard, &frame("MU01", 0, *said)));
            }
            judge(&heard, 0)
        };
        assert_eq!(of(&[Synchronisation::Global]).grade, Grade::Ok);
        assert_eq!(of(&[Synchronisation::Global, Synchronisation::Local]).grade, Grade::Warn);
        let lost = of(&[Synchronisation::None, Synchronisation::Global]);
        assert_eq!(lost.grade, Grade::Fail);
        assert!(lost.found.contains("MU01 to 01:0c:cd:04"), "{}", lost.found);
    }

    #[test]
    fn silence_is_no_verdict_and_rubbish_is_counted() {
        let mut heard = Heard::new();
        assert!(!take(&mut heard, &[0xa5; 60]));
        let item = judge(&heard, 1);
        assert_eq!(item.grade, Grade::NotMeasured);
        assert_eq!(item.found, "no stream in 2 s; 1 malformed frames");
    }
}
