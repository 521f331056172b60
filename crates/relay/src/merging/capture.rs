//! Sampled values of one stream out of a libpcap file, put in order by `smpCnt`.
//!
//! The times in the file are those of the host that captured, and jitter; `smpCnt` says when a sample
//! was taken. What is missing is held, what comes twice or too late is left out, both are counted.
//! <https://www.tcpdump.org/manpages/pcap-savefile.5.txt> describes the file; pcapng is refused.

use anyhow::{Context as _, Result, bail, ensure};
use iec61850::wire::SampledValues;

use super::playback::Channels;

/// Octets before the first frame.
const HEAD_OCTETS: usize = 24;
/// Octets before each frame.
const RECORD_OCTETS: usize = 16;
/// The link type of Ethernet.
const ETHERNET: u32 = 1;
/// A gap beyond this is another recording, not a loss.
const GAP_MAX: u16 = 1000;
/// A bit of each channel, in A and V.
const BITS: [f64; 8] = [0.001, 0.001, 0.001, 0.001, 0.01, 0.01, 0.01, 0.01];

/// What was found of a stream.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Captured {
    pub(crate) channels: Channels,
    pub(crate) held: u64,
    pub(crate) left_out: u64,
}

/// The samples of the stream with this name, at this rate.
pub(crate) fn read(octets: &[u8], sv_id: &str, rate: u16) -> Result<Captured> {
    let mut captured = Captured { channels: Channels::default(), held: 0, left_out: 0 };
    let mut last = None;
    let mut others = Vec::new();
    for (number, frame) in frames(octets)?.enumerate() {
        let number = number + 1;
        let frame = frame.with_context(|| {
            format!("it ends within frame {number}; truncate it before that frame")
        })?;
        let Ok(decoded) = SampledValues::decode(frame) else { continue };
        for asdu in decoded.asdus() {
            if asdu.sv_id != sv_id {
                if !others.iter().any(|other| other == asdu.sv_id) {
                    others.push(asdu.sv_id.to_owned());
                }
                continue;
            }
            let samples: Vec<i32> = asdu.channels.iter().map(|sample| sample.value).collect();
            let Ok(samples) = <[i32; 8]>::try_from(&samples[..]) else {
                let found = samples.len();
                bail!("the stream has {found} channels; only 8 are supported (9-2LE)");
            };
            captured.take(samples, asdu.smp_cnt, &mut last, rate, number)?;
        }
    }
    let there = others.join(", ");
    ensure!(last.is_some(), "there is no stream with this svID; available: {there}");
    Ok(captured)
}

impl Captured {
    fn take(
        &mut self,
        samples: [i32; 8],
        smp_cnt: u16,
        last: &mut Option<u16>,
        rate: u16,
        frame: usize,
    ) -> Result<()> {
        let smp_cnt = smp_cnt % rate;
        let steps = last.map_or(1, |last| (smp_cnt + rate - last) % rate);
        if steps == 0 || steps > rate - GAP_MAX.min(rate / 2) {
            self.left_out += 1;
            return Ok(());
        }
        ensure!(steps <= GAP_MAX, "smpCnt jumps at frame {frame}; truncate the capture there");
        self.held += u64::from(steps - 1);
        for (channel, (value, bit)) in self.channels.iter_mut().zip(samples.into_iter().zip(BITS)) {
            let held = channel.last().copied().unwrap_or_default();
            channel.extend(std::iter::repeat_n(held, usize::from(steps - 1)));
            channel.push(f64::from(value) * bit);
        }
        *last = Some(smp_cnt);
        Ok(())
    }
}

/// The frames of a file; `None` for one that is cut, and nothing behind it.
fn frames(octets: &[u8]) -> Result<impl Iterator<Item = Option<&[u8]>>> {
    const UNKNOWN: &str = "it is not a libpcap file; convert it with `editcap -F pcap`";
    let (head, mut rest) = octets.split_at_checked(HEAD_OCTETS).context(UNKNOWN)?;
    let number: fn([u8; 4]) -> u32 = match head[..4] {
        // Microseconds and nanoseconds, in either order.
        [0xd4, 0xc3, 0xb2, 0xa1] | [0x4d, 0x3c, 0xb2, 0xa1] => u32::from_le_bytes,
        [0xa1, 0xb2, 0xc3, 0xd4] | [0xa1, 0xb2, 0x3c, 0x4d] => u32::from_be_bytes,
        _ => bail!(UNKNOWN),
    };
    let kind = number([head[20], head[21], head[22], head[23]]) & 0xffff;
    ensure!(
        kind == ETHERNET,
        "its link type is {kind}, not Ethernet (1); capture on one interface"
    );
    Ok(std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((record, body)) = rest.split_at_checked(RECORD_OCTETS) else {
            rest = &[];
            return Some(None);
        };
        let length = number([record[8], record[9], record[10], record[11]]) as usize;
        let frame = body.get(..length);
        rest = frame.map_or(&[][..], |frame| &body[frame.len()..]);
        Some(frame)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAPTURE: &[u8] = include_bytes!("../../../iec61850/tests/data/sv_9-2le_4800.pcap");

    /// Number and octets of each frame.
    fn records(octets: &[u8]) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut rest = &octets[HEAD_OCTETS..];
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            all.push(rest[..RECORD_OCTETS + length].to_vec());
            rest = &rest[RECORD_OCTETS + length..];
        }
        all
    }

    fn sv_id() -> String {
        let frame = frames(CAPTURE).unwrap().next().unwrap().unwrap();
        SampledValues::decode(frame).unwrap().first().sv_id.to_owned()
    }

    #[test]
    fn a_capture_gives_its_samples() {
        let captured = read(CAPTURE, &sv_id(), 4800).unwrap();
        assert_eq!((captured.held, captured.left_out), (0, 0));
        assert!(captured.channels[0].len() > 100);
        let first = frames(CAPTURE).unwrap().next().unwrap().unwrap();
        let value = SampledValues::decode(first).unwrap().first().channels.get(4).unwrap().value;
        assert!((captured.channels[4][0] - f64::from(value) * 0.01).abs() < 1e-9);
    }

    #[test]
    fn what_is_lost_is_held_and_what_comes_twice_is_left_out() {
        let all = records(CAPTURE);
        let mut spoilt = CAPTURE[..HEAD_OCTETS].to_vec();
        for (number, record) in all.iter().enumerate().filter(|(number, _)| *number != 5) {
            spoilt.extend(record);
            if number == 9 {
                spoilt.extend(record);
            }
        }
        let whole = read(CAPTURE, &sv_id(), 4800).unwrap();
        let captured = read(&spoilt, &sv_id(), 4800).unwrap();
        assert!(captured.held > 0 && captured.left_out > 0);
        assert_eq!(captured.channels[0].len(), whole.channels[0].len());
        assert_eq!(captured.channels[0][..5], whole.channels[0][..5]);
    }

    #[test]
    fn what_is_no_capture_is_refused_with_the_fix() {
        let said = |octets: &[u8], sv_id: &str| read(octets, sv_id, 4800).unwrap_err().to_string();
        assert!(said(b"", "x").contains("editcap"));
        assert!(said(&[0x0a; 100], "x").contains("editcap"));
        assert!(said(&CAPTURE[..200], &sv_id()).contains("within frame"));
        assert!(said(CAPTURE, "none").contains(&sv_id()));
        let mut wifi = CAPTURE.to_vec();
        wifi[20] = 105;
        assert!(said(&wifi, "x").contains("105"));
    }
}
