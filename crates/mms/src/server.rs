//! All clients, the model that they look at, and the reports that they get.
//!
//! Pure: whoever has the sockets hands in what came and the time, and sends what waits. Nothing here
//! waits, and nothing grows beyond what [`CLIENTS_MAX`] connections may hold.

use std::time::Duration;

use iec61850::wire::Value;
use iec61850::wire::ber::Writer;

use crate::answer::{self, AccessError, ServiceError};
use crate::association::{Association, Client, Received};
use crate::control_block::{Attribute, Bits};
use crate::model::{Model, Trigger};
use crate::pdu::{self, Access, Pdu, Request};
use crate::report::Report;
use crate::report_format;
use crate::service::{self, Identity};

/// Connections at a time; one more is closed at once.
pub const CLIENTS_MAX: usize = 8;
/// Control blocks that one client may hold at a time, so that some are left for others.
const HELD_MAX: usize = 4;

/// The present moment by both clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Now {
    /// Since whatever begin, without jumps.
    pub own: Duration,
    /// Since 1970, in ns.
    pub realtime_ns: u64,
}

/// A server with its clients.
#[derive(Clone, PartialEq, Debug)]
pub struct Server {
    identity: Identity,
    model: Model,
    reports: Vec<Report>,
    clients: [Option<Association>; CLIENTS_MAX],
}

impl Server {
    /// A server without clients. Control blocks of reports are given by their items, as
    /// `LLN0$RP$urcbStatus01`, each with the data set that it has at first. Those that are not in the model
    /// are left out.
    #[must_use]
    pub fn new(identity: Identity, model: Model, control_blocks: &[(String, String)]) -> Self {
        let mut reports: Vec<_> = control_blocks
            .iter()
            .filter_map(|(item, data_set)| Report::new(&model, item, data_set))
            .collect();
        reports.sort_by_key(|report| report.slot);
        let mut server = Self { identity, model, reports, clients: Default::default() };
        (0..server.reports.len()).for_each(|number| server.publish(number));
        server
    }

    /// What is looked at.
    #[must_use]
    pub const fn model(&self) -> &Model {
        &self.model
    }

    /// Somebody has connected; none if there are too many already.
    pub fn connect(&mut self, now: Now) -> Option<Client> {
        let place = self.clients.iter().position(Option::is_none)?;
        self.clients[place] = Some(Association::new(now.own));
        Some(Client(place))
    }

    /// A connection is closed: its control blocks are free.
    pub fn disconnect(&mut self, client: Client) {
        self.clients[client.0] = None;
        for number in 0..self.reports.len() {
            if self.reports[number].leave(client) {
                self.publish(number);
            }
        }
    }

    /// Whether octets of this client may be received now.
    #[must_use]
    pub fn takes_more(&self, client: Client) -> bool {
        self.clients[client.0].as_ref().is_some_and(Association::takes_more)
    }

    /// Octets of a client have come.
    pub fn receive(&mut self, client: Client, octets: &[u8], now: Now) {
        if let Some(association) = &mut self.clients[client.0] {
            association.receive(octets);
        }
        self.serve(client, now);
    }

    /// What is to be sent to a client.
    #[must_use]
    pub fn waiting(&self, client: Client) -> &[u8] {
        self.clients[client.0].as_ref().map_or(&[], Association::waiting)
    }

    /// So much of it was sent.
    pub fn sent(&mut self, client: Client, octets: usize, now: Now) {
        if let Some(association) = &mut self.clients[client.0] {
            association.sent(octets, now.own);
        }
        self.serve(client, now);
    }

    /// Whether the connection is to be closed: all was said, or it is stuck.
    #[must_use]
    pub fn is_over(&self, client: Client, now: Now) -> bool {
        self.clients[client.0].as_ref().is_none_or(|association| {
            association.is_over() && association.waiting().is_empty()
                || association.is_stuck(now.own)
        })
    }

    /// Values, by their slots, are these now; all at one moment.
    pub fn update(&mut self, values: &[(usize, Value)], now: Now) {
        let changes: Vec<(usize, Trigger)> = values
            .iter()
            .filter_map(|(slot, value)| Some((*slot, self.model.change(*slot, value)?)))
            .collect();
        if changes.is_empty() {
            return;
        }
        for number in 0..self.reports.len() {
            let report = &self.reports[number];
            if changes.iter().any(|(slot, trigger)| report.before(&self.model, *slot, *trigger))
                && let Some(reasons) = self.reports[number].flush()
            {
                self.send(number, &reasons, now);
            }
        }
        for (slot, value) in values {
            self.model.set(*slot, value.clone());
        }
        for (slot, trigger) in changes {
            for report in &mut self.reports {
                report.after(&self.model, slot, trigger, now.own);
            }
        }
        self.tick(now);
    }

    /// Sends the reports that are due.
    pub fn tick(&mut self, now: Now) {
        for number in 0..self.reports.len() {
            while let Some(reasons) = self.reports[number].poll(now.own) {
                self.send(number, &reasons, now);
            }
        }
    }

    fn send(&mut self, number: usize, reasons: &[Bits], now: Now) {
        let report = &mut self.reports[number];
        let Some(client) = report.receiver() else { return };
        let Some(association) = &mut self.clients[client.0] else { return };
        let octets_max = association.pdu_octets_max();
        let segments =
            report_format::segments(report, reasons, &self.model, now.realtime_ns, octets_max);
        if segments.is_empty() {
            return;
        }
        for values in segments {
            let fits = association.send(now.own, |writer| {
                writer.octets(&values);
                answer::report(writer);
            });
            debug_assert!(fits.is_ok(), "segments are cut to the size of a PDU");
        }
        report.sequence = report.sequence.wrapping_add(1);
        self.publish(number);
    }

    /// Shows the attributes of a control block as they are now.
    fn publish(&mut self, number: usize) {
        let report = &self.reports[number];
        for (place, value) in report.values(&self.model).into_iter().enumerate() {
            self.model.set(report.slot + place, value);
        }
    }

    /// Answers what a client has sent, as far as it reads the answers.
    fn serve(&mut self, client: Client, now: Now) {
        while let Some(received) =
            self.clients[client.0].as_mut().and_then(|association| association.next(now.own))
        {
            self.answer(client, &received, now);
        }
        self.tick(now);
    }

    fn answer(&mut self, client: Client, received: &Received, now: Now) {
        match pdu::decode(received.reader()) {
            Ok(Pdu::Confirmed { invoke, request: Ok(request) }) => {
                self.confirmed(client, invoke, &request, now);
            }
            Ok(Pdu::Confirmed { invoke, request: Err(reason) }) => {
                self.say(client, now, |writer| answer::reject(writer, invoke, reason));
            }
            Ok(Pdu::Conclude) => self.say(client, now, answer::concluded),
            Ok(Pdu::Cancel { invoke }) => {
                self.say(client, now, |writer| answer::not_cancelled(writer, invoke));
            }
            Ok(Pdu::Reject) => {}
            Ok(Pdu::Initiate(_)) | Err(_) => self.say(client, now, answer::reject_pdu),
        }
    }

    /// Sends what is never larger than a PDU.
    fn say(&mut self, client: Client, now: Now, write: impl FnOnce(&mut Writer<'_>)) {
        if let Some(association) = &mut self.clients[client.0] {
            let fits = association.send(now.own, write);
            debug_assert!(fits.is_ok(), "errors and rejects are short");
        }
    }

    fn confirmed(&mut self, client: Client, invoke: u32, request: &Request<'_>, now: Now) {
        let written = match request {
            Request::Write { what, data } => {
                let data: Vec<_> = data.elements().collect();
                self.write(client, what, &data, now)
            }
            _ => Ok(Vec::new()),
        };
        let Some(association) = &mut self.clients[client.0] else { return };
        let octets_max = association.pdu_octets_max();
        let (model, identity) = (&self.model, &self.identity);
        let mut outcome = Ok(());
        let sent = association.send(now.own, |writer| {
            outcome = match request {
                Request::Status => {
                    service::status(writer);
                    Ok(())
                }
                Request::Identify => {
                    service::identify(identity, writer);
                    Ok(())
                }
                Request::NameList(wanted) => service::name_list(model, wanted, octets_max, writer),
                Request::VariableAttributes(name) => {
                    service::variable_attributes(model, *name, writer)
                }
                Request::ListAttributes(name) => service::list_attributes(model, *name, writer),
                Request::Read { what, with_specification } => {
                    service::read(model, what, *with_specification, octets_max, writer)
                }
                Request::Write { .. } => written.map(|results| service::written(&results, writer)),
            };
            match outcome {
                Ok(()) => answer::confirmed(writer, invoke),
                Err(error) => answer::error(writer, invoke, error),
            }
        });
        if sent.is_err() {
            self.say(client, now, |writer| answer::error(writer, invoke, ServiceError::PDU_SIZE));
        }
    }

    /// Writes values one by one; only attributes of control blocks may be written.
    fn write(
        &mut self,
        client: Client,
        what: &Access<'_>,
        data: &[iec61850::wire::Data<'_>],
        now: Now,
    ) -> Result<Vec<Result<(), AccessError>>, ServiceError> {
        let variables = match what {
            Access::Variables(variables) => variables,
            Access::List(name) => {
                let set = service::list(&self.model, *name).ok_or(ServiceError::NOT_THERE)?;
                return Ok(vec![Err(AccessError::Denied); set.members.len()]);
            }
        };
        let mut results = Vec::with_capacity(variables.len());
        for (place, variable) in variables.iter().enumerate() {
            results.push(match (service::resolve(&self.model, variable), data.get(place)) {
                (Err(error), _) => Err(error),
                (Ok(_), None) => Err(AccessError::TypeInconsistent),
                (Ok(node), Some(_)) if node.leaf_type().is_none() => Err(AccessError::Denied),
                (Ok(node), Some(value)) => {
                    let slot = node.slots.start;
                    self.write_attribute(client, slot, *value, now)
                }
            });
        }
        Ok(results)
    }

    fn write_attribute(
        &mut self,
        client: Client,
        slot: usize,
        data: iec61850::wire::Data<'_>,
        now: Now,
    ) -> Result<(), AccessError> {
        let number = self.reports.partition_point(|report| report.slot <= slot);
        let number = number.checked_sub(1).ok_or(AccessError::Denied)?;
        let held = self.reports.iter().filter(|report| report.owner() == Some(client)).count();
        let report = &mut self.reports[number];
        let attribute = Attribute::ALL.get(slot - report.slot).ok_or(AccessError::Denied)?;
        let mut written = report.clone();
        written.write(*attribute, data, client, now.own, &self.model)?;
        // Not all that is written takes a block.
        if written.owner().is_some() && report.owner().is_none() && held >= HELD_MAX {
            return Err(AccessError::TemporarilyUnavailable);
        }
        *report = written;
        self.publish(number);
        Ok(())
    }
}
