//! Sampled values (IEC 61850-9-2 clause 8.5; profiles 9-2LE and IEC 61869-9): 1 to 16 ASDUs in a
//! frame, each with one sample of every channel of a stream.
//!
//! A relay decodes 80,000 of these frames in a second, so a frame of one ASDU is walked once and
//! nothing is copied. Further ASDUs are checked when the frame is decoded and walked again by
//! those who want them: what is decoded is right as a whole, or refused as a whole.
//!
//! Samples are pairs of value and quality, 8 octets each, as both profiles have it; other data
//! sets of 9-2 and the reserved `security` field are refused.

use std::fmt;

use super::ber::{Reader, Writer};
use super::error::{Fault, WireError};
use super::ethernet::{ETHERTYPE_SAMPLED_VALUES, Header};
use super::quality::Quality;
use super::utc_time::UtcTime;

/// Most ASDUs of a frame.
pub const ASDUS_MAX: usize = 16;
/// Octets of value and quality.
const SAMPLE_OCTETS: usize = 8;

/// A frame of sampled values, decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampledValues<'a> {
    pub header: Header,
    first: Asdu<'a>,
    /// The ASDUs behind the first, known to be right.
    further: Reader<'a>,
    count: u8,
}

/// One sample of all channels of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asdu<'a> {
    /// Name of the stream.
    pub sv_id: &'a str,
    /// Reference of the data set; 9-2LE leaves it out.
    pub dat_set: Option<&'a str>,
    /// Number of the sample since the begin of the second.
    pub smp_cnt: u16,
    pub conf_rev: u32,
    /// When the sample was refreshed.
    pub refr_tm: Option<UtcTime>,
    /// What the publisher's clock follows.
    pub smp_synch: Synchronisation,
    /// Samples per nominal period, per second, or seconds per sample: `smp_mod` says which.
    pub smp_rate: Option<u16>,
    pub channels: Channels<'a>,
    /// What `smp_rate` counts samples per: period or second.
    pub smp_mod: Option<u16>,
    /// Identity of the clock that the publisher follows.
    pub gm_identity: Option<[u8; 8]>,
}

/// What the clock of a publisher follows (`smpSynch`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Synchronisation {
    /// Nothing: samples of two streams do not belong together.
    None,
    /// A clock of the substation that is not known to be right.
    Local,
    /// A clock that follows universal time.
    Global,
    /// A clock of the substation with this number, 5 to 254.
    Clock(u8),
    /// A number that the standards reserve: 3, 4 and 255.
    Reserved(u8),
}

/// The samples of one moment, one for each channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Channels<'a>(&'a [[u8; SAMPLE_OCTETS]]);

/// Value and quality of one channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sample {
    /// In units of the channel: 9-2LE has 1 mA and 10 mV.
    pub value: i32,
    pub quality: Quality,
}

impl<'a> SampledValues<'a> {
    /// Decodes a frame, tagged or not.
    ///
    /// # Errors
    /// The first field that is not as it must be.
    #[inline]
    pub fn decode(frame: &'a [u8]) -> Result<Self, WireError> {
        let (header, mut pdu) = Header::decode(frame, ETHERTYPE_SAMPLED_VALUES, (0x60, "savPdu"))?;
        let stated = pdu.value(0x80, "noASDU")?;
        let count = stated.int32u()?;
        if !(1..=ASDUS_MAX as u32).contains(&count) {
            return Err(stated.error(Fault::Range));
        }
        let mut sequence = pdu.value(0xa2, "seqASDU")?;
        pdu.finish()?;
        let first = Asdu::decode(&mut sequence)?;
        let further = sequence;
        let mut found = 1;
        while !sequence.rest().is_empty() {
            Asdu::decode(&mut sequence)?;
            found += 1;
        }
        if found != count {
            return Err(stated.error(Fault::Count { stated: count, found }));
        }
        Ok(Self { header, first, further, count: count as u8 })
    }

    /// Appends a frame of these ASDUs to `out`.
    ///
    /// # Panics
    /// When there are none or more than 16, or the frame would be longer than any Ethernet's.
    pub fn encode<'b>(header: &Header, asdus: &[Asdu<'b>], out: &mut Vec<u8>) {
        assert!((1..=ASDUS_MAX).contains(&asdus.len()), "a frame has 1 to {ASDUS_MAX} ASDUs");
        let mut writer = Writer::new(out);
        let mark = writer.mark();
        for asdu in asdus.iter().rev() {
            asdu.write(&mut writer);
        }
        writer.close(0xa2, mark);
        writer.unsigned(0x80, asdus.len() as u64, 1);
        writer.close(0x60, mark);
        header.write(&mut writer, mark, ETHERTYPE_SAMPLED_VALUES);
        writer.finish();
    }

    /// The first ASDU, and in 9-2LE with 80 samples a period the only one.
    #[must_use]
    #[inline]
    pub const fn first(&self) -> &Asdu<'a> {
        &self.first
    }

    /// How many ASDUs there are.
    #[must_use]
    pub const fn count(&self) -> usize {
        self.count as usize
    }

    /// All ASDUs, in the order of their samples.
    #[inline]
    pub fn asdus(&self) -> impl Iterator<Item = Asdu<'a>> + use<'a> {
        let mut further = self.further;
        let rest = std::iter::from_fn(move || {
            let more = !further.rest().is_empty();
            more.then(|| Asdu::decode(&mut further).expect("decoding the frame checked it"))
        });
        std::iter::once(self.first).chain(rest)
    }
}

impl<'a> Asdu<'a> {
    #[inline]
    fn decode(sequence: &mut Reader<'a>) -> Result<Self, WireError> {
        let mut asdu = sequence.value(0x30, "ASDU")?;
        let decoded = Self {
            sv_id: asdu.value(0x80, "svID")?.text()?,
            dat_set: asdu.optional(0x81, "datSet")?.map(Reader::text).transpose()?,
            smp_cnt: u16::from_be_bytes(asdu.value(0x82, "smpCnt")?.array()?),
            conf_rev: u32::from_be_bytes(asdu.value(0x83, "confRev")?.array()?),
            refr_tm: optional(&mut asdu, 0x84, "refrTm")?.map(UtcTime::from_octets),
            smp_synch: Synchronisation::from_octet(asdu.value(0x85, "smpSynch")?.array::<1>()?[0]),
            smp_rate: optional(&mut asdu, 0x86, "smpRate")?.map(u16::from_be_bytes),
            channels: Channels::decode(asdu.value(0x87, "sample")?)?,
            smp_mod: optional(&mut asdu, 0x88, "smpMod")?.map(u16::from_be_bytes),
            gm_identity: optional(&mut asdu, 0x89, "gmIdentity")?,
        };
        asdu.finish()?;
        Ok(decoded)
    }

    fn write(&self, writer: &mut Writer<'_>) {
        let mark = writer.mark();
        if let Some(identity) = &self.gm_identity {
            writer.field(0x89, identity);
        }
        if let Some(mode) = self.smp_mod {
            writer.field(0x88, &mode.to_be_bytes());
        }
        writer.field(0x87, self.channels.0.as_flattened());
        if let Some(rate) = self.smp_rate {
            writer.field(0x86, &rate.to_be_bytes());
        }
        writer.field(0x85, &[self.smp_synch.to_octet()]);
        if let Some(time) = self.refr_tm {
            writer.field(0x84, &time.to_octets());
        }
        writer.field(0x83, &self.conf_rev.to_be_bytes());
        writer.field(0x82, &self.smp_cnt.to_be_bytes());
        if let Some(reference) = self.dat_set {
            writer.field(0x81, reference.as_bytes());
        }
        writer.field(0x80, self.sv_id.as_bytes());
        writer.close(0x30, mark);
    }
}

#[inline]
fn optional<const N: usize>(
    asdu: &mut Reader<'_>,
    tag: u8,
    field: &'static str,
) -> Result<Option<[u8; N]>, WireError> {
    asdu.optional(tag, field)?.map(Reader::array).transpose()
}

impl<'a> Channels<'a> {
    /// Channels that are encoded already.
    #[must_use]
    pub const fn new(samples: &'a [[u8; SAMPLE_OCTETS]]) -> Self {
        Self(samples)
    }

    #[inline]
    fn decode(value: Reader<'a>) -> Result<Self, WireError> {
        match value.rest().as_chunks() {
            (samples @ [_, ..], []) => Ok(Self(samples)),
            _ => Err(value.error(Fault::Length { octets: value.rest().len() })),
        }
    }

    /// How many channels there are, at least one.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a frame without channels is refused")]
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// The sample of a channel.
    #[must_use]
    #[inline]
    pub fn get(&self, channel: usize) -> Option<Sample> {
        self.0.get(channel).copied().map(Sample::from_octets)
    }

    /// Samples in the order of the channels.
    #[inline]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Sample> + use<'a> {
        self.0.iter().copied().map(Sample::from_octets)
    }
}

impl Sample {
    #[inline]
    const fn from_octets([a, b, c, d, e, f, g, h]: [u8; SAMPLE_OCTETS]) -> Self {
        let value = i32::from_be_bytes([a, b, c, d]);
        Self { value, quality: Quality(u32::from_be_bytes([e, f, g, h])) }
    }

    /// As it stands in a frame.
    #[must_use]
    pub const fn to_octets(self) -> [u8; SAMPLE_OCTETS] {
        let [a, b, c, d] = self.value.to_be_bytes();
        let [e, f, g, h] = self.quality.0.to_be_bytes();
        [a, b, c, d, e, f, g, h]
    }
}

impl Synchronisation {
    const fn from_octet(octet: u8) -> Self {
        match octet {
            0 => Self::None,
            1 => Self::Local,
            2 => Self::Global,
            5..=254 => Self::Clock(octet),
            _ => Self::Reserved(octet),
        }
    }

    const fn to_octet(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Local => 1,
            Self::Global => 2,
            Self::Clock(octet) | Self::Reserved(octet) => octet,
        }
    }

    /// Whether samples belong to those of other streams with the same number.
    #[must_use]
    pub const fn is_synchronised(self) -> bool {
        matches!(self, Self::Local | Self::Global | Self::Clock(_))
    }
}

impl fmt::Display for SampledValues<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, {} ASDU", self.header, self.count)?;
        self.asdus().try_for_each(|asdu| write!(out, "; {asdu}"))
    }
}

impl fmt::Display for Asdu<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sv_id, smp_cnt, conf_rev, smp_synch, .. } = self;
        write!(out, "svID {sv_id}, smpCnt {smp_cnt}, confRev {conf_rev}, smpSynch {smp_synch:?}")?;
        self.channels.iter().try_for_each(|sample| {
            write!(out, ", {}", sample.value)?;
            if sample.quality.0 == 0 { Ok(()) } else { write!(out, " q{:#x}", sample.quality.0) }
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::wire::{MacAddress, Tag};
    use proptest::collection::vec;
    use proptest::option;
    use proptest::prelude::*;

    pub(in crate::wire) fn header() -> Header {
        Header {
            destination: MacAddress([1, 0x0c, 0xcd, 4, 0, 1]),
            source: MacAddress([2, 0, 0, 0, 0, 1]),
            tag: Some(Tag::new(4, 0)),
            app_id: 0x4000,
            ..Header::default()
        }
    }

    /// A synchronised sample of a stream of 9-2LE.
    pub(crate) fn asdu<'a>(smp_cnt: u16, samples: &'a [[u8; 8]]) -> Asdu<'a> {
        Asdu {
            sv_id: "MU01",
            dat_set: None,
            smp_cnt,
            conf_rev: 1,
            refr_tm: None,
            smp_synch: Synchronisation::Global,
            smp_rate: None,
            channels: Channels::new(samples),
            smp_mod: None,
            gm_identity: None,
        }
    }

    #[test]
    fn sixteen_asdus_need_long_lengths_and_come_out_in_order() {
        let samples = [Sample { value: -7, quality: Quality::DERIVED }.to_octets(); 8];
        let asdus: Vec<Asdu<'_>> = (0..16).map(|count| asdu(count, &samples)).collect();
        let mut frame = Vec::new();
        SampledValues::encode(&header(), &asdus, &mut frame);
        assert_eq!(frame[26..28], [0x60, 0x82]);
        let decoded = SampledValues::decode(&frame).unwrap();
        assert_eq!(decoded.count(), 16);
        assert_eq!(decoded.asdus().collect::<Vec<_>>(), asdus);
        assert_eq!(decoded.first().channels.get(7).unwrap().value, -7);
        assert_eq!(decoded.first().channels.get(8), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_octet() {
        let samples = [[0; 8]; 8];
        let mut frame = Vec::new();
        SampledValues::encode(&header(), &[asdu(0, &samples)], &mut frame);
        let refusal = |damage: &dyn Fn(&mut Vec<u8>)| {
            let mut frame = frame.clone();
            damage(&mut frame);
            SampledValues::decode(&frame).unwrap_err().to_string()
        };
        assert_eq!(
            refusal(&|frame| frame[30] = 2),
            "noASDU at octet 30: 2 are stated, 1 are there"
        );
        assert_eq!(
            refusal(&|frame| frame[30] = 17),
            "noASDU at octet 30: the field cannot have this value"
        );
        assert_eq!(
            refusal(&|frame| frame.truncate(100)),
            "Length at octet 20: 102 octets are needed, 82 are there"
        );
        assert_eq!(
            refusal(&|frame| frame[12] = 0),
            "EtherType at octet 12: the field cannot have this value"
        );
        assert_eq!(
            refusal(&|frame| frame[36] = 0x07),
            "svID at octet 37: the text has characters that are not allowed"
        );
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded_again(
            tag in option::of(any::<u16>()), app_id: u16, reserved: [u16; 2], conf_rev: u32,
            sv_id in "[ -~]{0,129}", dat_set in option::of("[ -~]{0,129}"),
            refr_tm in option::of((any::<u32>(), 0u32..1 << 24, any::<u8>())), smp_synch: u8,
            smp_rate: Option<u16>, smp_mod: Option<u16>, gm_identity: Option<[u8; 8]>,
            samples in vec(vec(any::<[u8; 8]>(), 1..25), 1..17), trailer in vec(any::<u8>(), 0..40),
        ) {
            let header = Header { tag: tag.map(Tag), app_id, reserved, ..header() };
            let asdus: Vec<Asdu<'_>> = samples.iter().enumerate().map(|(index, samples)| Asdu {
                sv_id: &sv_id,
                dat_set: dat_set.as_deref(),
                conf_rev,
                refr_tm: refr_tm.map(|(seconds, fraction, quality)| UtcTime { seconds, fraction, quality }),
                smp_synch: Synchronisation::from_octet(smp_synch),
                smp_rate,
                smp_mod,
                gm_identity,
                ..asdu(index as u16, samples)
            }).collect();
            let mut frame = vec![0xa5];
            SampledValues::encode(&header, &asdus, &mut frame);
            frame.extend(trailer);
            let decoded = SampledValues::decode(&frame[1..]).unwrap();
            prop_assert_eq!(decoded.header, header);
            prop_assert_eq!(decoded.asdus().collect::<Vec<_>>(), asdus);
        }
    }
}
