//! How the breaker stands: after an action to acknowledge it, and now and then as a heartbeat.

use crate::CommonTime;

use super::error::DatagramError;
use super::octets::{Reader, Writer};
use crate::Acknowledgement;
use crate::statement::{Action, Gen, NODES, Tick};

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Acknowledgement, DatagramError> {
    let state = reader.code("state", Action::from_octet)?;
    let generation = Gen(reader.u64("gen")?);
    let acted_at = CommonTime::from_ns(reader.u64("time of the action")?);
    let tick = Tick(reader.u64("tick")?);
    let mut counters = [0; NODES];
    for counter in &mut counters {
        *counter = reader.u64("counter")?;
    }
    Ok(Acknowledgement { generation, state, acted_at, tick, counters })
}

pub(super) fn write(acknowledgement: &Acknowledgement, writer: &mut Writer<'_>) {
    let Acknowledgement { generation, state, acted_at, tick, counters } = acknowledgement;
    writer.u8(state.octet());
    writer.u64(generation.0);
    writer.u64(acted_at.ns());
    writer.u64(tick.0);
    counters.iter().for_each(|counter| writer.u64(*counter));
}
