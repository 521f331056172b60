//! One sample of one stream as it goes from the receiver to the elements: of fixed size,
//! so that it fits a queue, and with all that supervision needs.

use iec61850::SampleTime;
use iec61850::wire::sampled_values::Channels;
use iec61850::wire::{Asdu, Header, Synchronisation};

use protection::measure::CHANNELS;

/// A sample that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// Which stream, in the order of the names.
    pub stream: u16,
    /// When its frame arrived.
    pub at: SampleTime,
    header: Header,
    smp_cnt: u16,
    conf_rev: u32,
    smp_synch: Synchronisation,
    /// One more than a stream has, so that too many stay too many.
    channels: [[u8; 8]; CHANNELS + 1],
    channel_count: u8,
}

impl Arrival {
    /// A sample of a stream that it matches.
    #[must_use]
    pub fn new(stream: u16, at: SampleTime, header: Header, asdu: &Asdu<'_>) -> Self {
        let mut channels = [[0; 8]; CHANNELS + 1];
        for (to, sample) in channels.iter_mut().zip(asdu.channels.iter()) {
            *to = sample.to_octets();
        }
        Self {
            stream,
            at,
            header,
            smp_cnt: asdu.smp_cnt,
            conf_rev: asdu.conf_rev,
            smp_synch: asdu.smp_synch,
            channels,
            channel_count: asdu.channels.len().min(CHANNELS + 1) as u8,
        }
    }

    /// The header of its frame.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// What it says; its stream is known by its number instead of its name.
    #[must_use]
    pub fn asdu(&self) -> Asdu<'_> {
        Asdu {
            sv_id: "",
            dat_set: None,
            smp_cnt: self.smp_cnt,
            conf_rev: self.conf_rev,
            refr_tm: None,
            smp_synch: self.smp_synch,
            smp_rate: None,
            channels: Channels::new(&self.channels[..usize::from(self.channel_count)]),
            smp_mod: None,
            gm_identity: None,
        }
    }
}
