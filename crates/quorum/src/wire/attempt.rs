//! What a vote, a share and a certificate are about: an attempted action and a tick.

use super::error::DatagramError;
use super::octets::{Reader, Writer};
use crate::Attempt;
use crate::statement::{Action, Gen, Tick};

/// Takes an attempt and its tick.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<(Attempt, Tick), DatagramError> {
    let action = reader.code("action", Action::from_octet)?;
    let generation = Gen(reader.u64("gen")?);
    Ok((Attempt { action, generation }, Tick(reader.u64("tick")?)))
}

/// Appends an attempt and its tick.
pub(super) fn write(attempt: &Attempt, tick: Tick, writer: &mut Writer<'_>) {
    writer.u8(attempt.action.octet());
    writer.u64(attempt.generation.0);
    writer.u64(tick.0);
}
