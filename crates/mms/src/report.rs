//! Unbuffered reports (IEC 61850-7-2, clause 17; 61850-8-1, clause 17): a control block for one client
//! at a time says which changes of a data set it is told of, and when.
//!
//! Decides, and sends nothing: what is due comes out as the reasons for each member of the data set.
//! A client that leaves gives its block back, and nothing that it chose outlives it.

use std::time::Duration;

use iec61850::wire::{Data, Value, Width};

use crate::answer::AccessError;
use crate::association::Client;
use crate::control_block::{
    Attribute, BIT_DATA, BIT_INTEGRITY, BIT_INTERROGATION, BIT_QUALITY, Bits, OPT_CONF_REV,
    OPT_DATA_SET, OPT_REASON, OPT_SEQUENCE, OPT_TIME, OPTIONAL_BITS, TRIGGER_BITS, boolean, number,
    reference,
};
use crate::model::{DataSet, Model, Trigger};

/// Shortest integrity period, ms: a bound on what one client can ask of the host.
const INTEGRITY_MS_MIN: u32 = 100;
/// Longest time for which changes are gathered, ms.
const BUFFER_MS_MAX: u32 = 3_600_000;

/// What a client may choose of its reports.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Choices {
    pub(crate) id: String,
    /// Its place among those of the model.
    data_set: Option<usize>,
    pub(crate) conf_rev: u32,
    pub(crate) options: Bits,
    buffer_ms: u32,
    triggers: Bits,
    integrity_ms: u32,
}

/// A control block at work.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Report {
    /// Where its first attribute stands among the values.
    pub(crate) slot: usize,
    /// What whoever takes the block finds.
    configured: Choices,
    pub(crate) chosen: Choices,
    pub(crate) sequence: u8,
    owner: Option<Client>,
    is_enabled: bool,
    /// Why each member is to be reported.
    pending: Vec<Bits>,
    /// When changes that wait are reported.
    due: Option<Duration>,
    integrity_due: Option<Duration>,
    is_interrogated: bool,
}

impl Report {
    /// The block at an item (`LLN0$RP$urcbStatus01`), whose variable [`control_block`] made; nothing
    /// where there is no such item or data set.
    ///
    /// [`control_block`]: crate::control_block()
    pub(crate) fn new(model: &Model, item: &str, data_set: &str) -> Option<Self> {
        let slot = model.find(item)?.slots.start;
        let options = [OPT_SEQUENCE, OPT_TIME, OPT_REASON, OPT_DATA_SET, OPT_CONF_REV];
        let configured = Choices {
            id: format!("{}/{item}", model.domain),
            data_set: Some(model.data_set(data_set)?),
            conf_rev: 1,
            options: Bits::of(&options),
            buffer_ms: 0,
            triggers: Bits::of(&[BIT_DATA, BIT_QUALITY, BIT_INTEGRITY, BIT_INTERROGATION]),
            integrity_ms: 0,
        };
        Some(Self::idle(slot, configured))
    }

    /// A block that nobody holds.
    fn idle(slot: usize, configured: Choices) -> Self {
        Self {
            slot,
            chosen: configured.clone(),
            configured,
            sequence: 0,
            owner: None,
            is_enabled: false,
            pending: Vec::new(),
            due: None,
            integrity_due: None,
            is_interrogated: false,
        }
    }

    /// Values of its attributes, in their order.
    pub(crate) fn values(&self, model: &Model) -> [Value; 11] {
        let number = |number: u32| Value::Unsigned(number.into(), Width::Bits32);
        let chosen = &self.chosen;
        let data_set = self.data_set(model).map(|set| format!("{}/{}", model.domain, set.name));
        Attribute::ALL.map(|attribute| match attribute {
            Attribute::RptId => Value::VisibleString(chosen.id.clone()),
            Attribute::RptEna => Value::Boolean(self.is_enabled),
            Attribute::Resv => Value::Boolean(self.owner.is_some()),
            Attribute::DatSet => Value::VisibleString(data_set.clone().unwrap_or_default()),
            Attribute::ConfRev => number(chosen.conf_rev),
            Attribute::OptFlds => chosen.options.value(OPTIONAL_BITS),
            Attribute::BufTm => number(chosen.buffer_ms),
            Attribute::SqNum => Value::Unsigned(self.sequence.into(), Width::Bits8),
            Attribute::TrgOps => chosen.triggers.value(TRIGGER_BITS),
            Attribute::IntgPd => number(chosen.integrity_ms),
            Attribute::Gi => Value::Boolean(self.is_interrogated),
        })
    }

    /// What it tells of.
    pub(crate) fn data_set<'m>(&self, model: &'m Model) -> Option<&'m DataSet> {
        self.chosen.data_set.map(|place| &model.data_sets[place])
    }

    /// Whose it is, until that client gives it back or leaves.
    pub(crate) const fn owner(&self) -> Option<Client> {
        self.owner
    }

    /// Who gets its reports.
    pub(crate) fn receiver(&self) -> Option<Client> {
        self.owner.filter(|_| self.is_enabled)
    }

    /// A client writes an attribute, and so takes a block that nobody holds.
    pub(crate) fn write(
        &mut self,
        attribute: Attribute,
        data: Data<'_>,
        client: Client,
        now: Duration,
        model: &Model,
    ) -> Result<(), AccessError> {
        use AccessError::{Denied, TemporarilyUnavailable, ValueInvalid};
        if self.owner.is_some_and(|owner| owner != client) {
            return Err(TemporarilyUnavailable);
        }
        if self.is_enabled && !matches!(attribute, Attribute::RptEna | Attribute::Gi) {
            return Err(TemporarilyUnavailable);
        }
        let chosen = &mut self.chosen;
        match attribute {
            Attribute::RptEna => {
                let wanted = boolean(data)?;
                self.enable(wanted, now, model)?;
                // Who ends what was never begun takes nothing.
                if !wanted {
                    return Ok(());
                }
            }
            Attribute::Resv => {
                if !boolean(data)? {
                    self.free();
                    return Ok(());
                }
            }
            Attribute::Gi => {
                let wanted = boolean(data)?;
                if wanted && !(self.is_enabled && chosen.triggers.has(BIT_INTERROGATION)) {
                    return Err(TemporarilyUnavailable);
                }
                self.is_interrogated = wanted;
                return Ok(());
            }
            Attribute::RptId => {
                let text = reference(data)?;
                chosen.id = if text.is_empty() { &self.configured.id } else { text }.to_owned();
            }
            Attribute::DatSet => chosen.choose(reference(data)?, model)?,
            Attribute::OptFlds => chosen.options = Bits::read(data, OPTIONAL_BITS)?,
            Attribute::TrgOps => chosen.triggers = Bits::read(data, TRIGGER_BITS)?,
            Attribute::BufTm => {
                chosen.buffer_ms =
                    Some(number(data)?).filter(|ms| *ms <= BUFFER_MS_MAX).ok_or(ValueInvalid)?;
            }
            Attribute::IntgPd => {
                let fits = |ms: &u32| *ms == 0 || *ms >= INTEGRITY_MS_MIN;
                chosen.integrity_ms = Some(number(data)?).filter(fits).ok_or(ValueInvalid)?;
            }
            Attribute::ConfRev | Attribute::SqNum => return Err(Denied),
        }
        self.owner = Some(client);
        Ok(())
    }

    fn enable(&mut self, wanted: bool, now: Duration, model: &Model) -> Result<(), AccessError> {
        match self.data_set(model).filter(|_| wanted) {
            Some(_) if self.is_enabled => return Ok(()),
            None if wanted => return Err(AccessError::TemporarilyUnavailable),
            Some(set) => {
                self.pending = vec![Bits::default(); set.members.len()];
                self.sequence = 0;
            }
            None => self.pending = Vec::new(),
        }
        self.is_enabled = wanted;
        self.due = None;
        self.is_interrogated = false;
        let has_period =
            wanted && self.chosen.integrity_ms > 0 && self.chosen.triggers.has(BIT_INTEGRITY);
        self.integrity_due = has_period.then(|| now + self.integrity_period());
        Ok(())
    }

    const fn integrity_period(&self) -> Duration {
        Duration::from_millis(self.chosen.integrity_ms as u64)
    }

    /// Nobody holds it: the next client finds what was configured, not what another one chose.
    fn free(&mut self) {
        *self = Self::idle(self.slot, self.configured.clone());
    }

    /// A client has left.
    pub(crate) fn leave(&mut self, client: Client) -> bool {
        let was_its = self.owner == Some(client);
        if was_its {
            self.free();
        }
        was_its
    }

    /// The members that a value belongs to, if its change is reported.
    fn concerned(&self, model: &Model, slot: usize, trigger: Trigger) -> Vec<usize> {
        let is_wanted = match trigger {
            Trigger::None => false,
            Trigger::Data => self.chosen.triggers.has(BIT_DATA),
            Trigger::Quality => self.chosen.triggers.has(BIT_QUALITY),
        };
        let members = self
            .data_set(model)
            .filter(|_| self.is_enabled && is_wanted)
            .map(|set| &set.members[..]);
        let members = members.unwrap_or_default().iter().enumerate();
        members
            .filter(|(_, each)| each.node.slots.contains(&slot))
            .map(|(place, _)| place)
            .collect()
    }

    /// A value is about to change: what waits with an older change of the same member goes first.
    pub(crate) fn before(&self, model: &Model, slot: usize, trigger: Trigger) -> bool {
        let concerned = self.concerned(model, slot, trigger);
        concerned.iter().any(|place| self.pending[*place] != Bits::default())
    }

    /// A value has changed.
    pub(crate) fn after(&mut self, model: &Model, slot: usize, trigger: Trigger, now: Duration) {
        let reason = Bits::of(&[if trigger == Trigger::Quality { BIT_QUALITY } else { BIT_DATA }]);
        for place in self.concerned(model, slot, trigger) {
            self.pending[place].0 |= reason.0;
            let wait = Duration::from_millis(self.chosen.buffer_ms.into());
            self.due.get_or_insert(now + wait);
        }
    }

    /// Changes that wait, whether they are due or not: why each member is reported.
    pub(crate) fn flush(&mut self) -> Option<Vec<Bits>> {
        self.due.take()?;
        let none = vec![Bits::default(); self.pending.len()];
        Some(std::mem::replace(&mut self.pending, none))
    }

    /// The next report that is due; called until there is none.
    pub(crate) fn poll(&mut self, now: Duration) -> Option<Vec<Bits>> {
        if !self.is_enabled {
            return None;
        }
        let is_integral = self.integrity_due.is_some_and(|due| due <= now);
        // What is reported whole comes behind the changes that led there.
        if self.due.is_some_and(|due| due <= now || is_integral || self.is_interrogated) {
            return self.flush();
        }
        let all = |bit| Some(vec![Bits::of(&[bit]); self.pending.len()]);
        if self.is_interrogated {
            self.is_interrogated = false;
            return all(BIT_INTERROGATION);
        }
        if is_integral {
            // Periods that a stalled host missed are not made up for.
            self.integrity_due = Some(now + self.integrity_period());
            return all(BIT_INTEGRITY);
        }
        None
    }
}

impl Choices {
    fn choose(&mut self, text: &str, model: &Model) -> Result<(), AccessError> {
        let chosen = if text.is_empty() {
            None
        } else {
            let own = text.strip_prefix(&model.domain).and_then(|rest| rest.strip_prefix('/'));
            let set = own.and_then(|name| model.data_set(name));
            Some(set.ok_or(AccessError::ValueInvalid)?)
        };
        if chosen != self.data_set {
            self.conf_rev = self.conf_rev.wrapping_add(1).max(1);
        }
        self.data_set = chosen;
        Ok(())
    }
}
