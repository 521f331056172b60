//! Metrics for Prometheus over HTTP/1.0, one request a connection, from the thread that may block.
//! A client that is slow or says something else is cut off.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use os::packet::Link;
use realtime::blame::Cause;

use crate::measurands::{self, Family};
use crate::totals::{Totals, goose_counters, state_name, stream_counters};

/// How long a client may take for its request, and for reading the answer.
const CLIENT_MAX: Duration = Duration::from_millis(200);
const REQUEST_OCTETS: usize = 4096;

/// Answers one waiting client, if there is one.
pub(crate) fn serve(listener: &TcpListener, totals: &Totals) {
    if let Ok((client, _)) = listener.accept() {
        // A client that leaves is none of ours.
        let _left = answer(client, totals);
    }
}

fn answer(mut client: TcpStream, totals: &Totals) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(CLIENT_MAX))?;
    client.set_write_timeout(Some(CLIENT_MAX))?;
    let mut request = [0; REQUEST_OCTETS];
    let octets = loop {
        match client.read(&mut request) {
            // With a timeout, whoever was stopped and goes on is interrupted too (signal(7)).
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => break read?,
        }
    };
    let is_known = request[..octets].starts_with(b"GET /metrics ");
    let (status, body) = match is_known {
        true => ("200 OK", text(totals)),
        false => ("404 Not Found", "only GET /metrics is supported\n".into()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.0 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {length}\r\n\r\n"
    );
    client.write_all(head.as_bytes())?;
    client.write_all(body.as_bytes())
}

const FAMILIES: &[Family] = &[
    ("records_writing", "gauge", "Whether records reach their file (1) or not (0)."),
    ("records_lost_total", "counter", "Lines of records that were lost."),
    ("records_write_errors_total", "counter", "Writes of records that failed."),
    ("active_group", "gauge", "Number of the active setting group."),
    (
        "disturbance_records_total",
        "counter",
        "Records of disturbances (of all rates: one each), by what became of them: written or lost.",
    ),
    (
        "recorder_missed_total",
        "counter",
        "Samples and events that the disturbance recorder missed because its queue was full.",
    ),
    ("interface_up", "gauge", "Whether the interface is up (1) or not (0)."),
    (
        "clock_synchronised",
        "gauge",
        "Whether the kernel takes its clock for synchronised (1) or not (0).",
    ),
    ("stream_valid", "gauge", "Whether samples of the stream are used (1) or not (0)."),
    (
        "samples_total",
        "counter",
        "Samples of the stream, by what became of them; one may count as several.",
    ),
    (
        "samples_refused_total",
        "counter",
        "Samples of the stream that did not fit the settings, by the field for which they were refused.",
    ),
    (
        "sample_last_refused_info",
        "gauge",
        "Always 1; labels are the field, what was expected and what was found in the last sample that \
         did not fit the settings.",
    ),
    ("publisher_alive", "gauge", "Whether the GOOSE publisher is heard (1) or not (0)."),
    (
        "messages_total",
        "counter",
        "GOOSE messages of the publisher, or that say so, by what became of them; silences and \
         restarts of the publisher.",
    ),
    (
        "messages_refused_total",
        "counter",
        "GOOSE messages of the publisher, or that say so, that were refused, by the field for which \
         they were.",
    ),
    (
        "message_last_refused_info",
        "gauge",
        "Always 1; labels are the field, what was expected and what was found in the last GOOSE \
         message that was refused.",
    ),
    ("frames_total", "counter", "Ethernet frames, by what became of them."),
    (
        "frames_malformed_total",
        "counter",
        "Ethernet frames that could not be decoded, by the field that was wrong.",
    ),
    (
        "frame_last_malformed_info",
        "gauge",
        "Always 1; labels are the field, its octet and what was wrong with it in the last frame that \
         could not be decoded.",
    ),
    (
        "reclosing_total",
        "counter",
        "Orders to close of the reclosing element, and its lockouts (`what`).",
    ),
    ("cycles_total", "counter", "Cycles of the protection task of 1 ms, run or skipped."),
    ("overruns_total", "counter", "Cycles of the protection task that ended too late, by cause."),
    (
        "seconds",
        "summary",
        "Times since the start of the relay in seconds, by what was measured; quantile 1 is the \
         maximum.",
    ),
];

/// All metrics: of the relay, and of the grid.
fn families() -> impl Iterator<Item = &'static Family> {
    FAMILIES.iter().chain(measurands::FAMILIES)
}

/// All metrics in the text format 0.0.4 of Prometheus, the lines of each together.
pub(crate) fn text(totals: &Totals) -> String {
    let mut samples: BTreeMap<&str, String> = BTreeMap::new();
    let mut line = |name: &str, labels: &[(&str, &str)], value: f64| {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let family = families().find(|(family, kind, _)| {
            let rest = name.strip_prefix(family);
            rest == Some("") || *kind == "summary" && matches!(rest, Some("_sum" | "_count"))
        });
        let (family, ..) = family.expect("each metric has its meaning in the table");
        let out = samples.entry(family).or_default();
        let _infallible = writeln!(out, "qcrelay_{name}{{{}}} {value}", labels.join(","));
    };
    line("active_group", &[], totals.active_group.into());
    for (name, link) in &totals.links {
        line("interface_up", &[("interface", name)], f64::from(u8::from(*link == Link::Up)));
    }
    if let Some(records) = &totals.records {
        line("records_writing", &[], f64::from(u8::from(records.is_writing)));
        line("records_lost_total", &[], records.lost as f64);
        line("records_write_errors_total", &[], records.write_errors as f64);
    }
    let (written, lost) = totals.disturbances;
    line("disturbance_records_total", &[("what", "written")], written as f64);
    line("disturbance_records_total", &[("what", "lost")], lost as f64);
    line("recorder_missed_total", &[], totals.task.recorder_missed as f64);
    line("clock_synchronised", &[], f64::from(u8::from(totals.clock.is_synchronised)));
    for (name, (state, counters)) in &totals.streams {
        let is_valid = state_name(*state) == "valid";
        line("stream_valid", &[("stream", name)], f64::from(u8::from(is_valid)));
        for (what, count) in stream_counters(counters) {
            line("samples_total", &[("stream", name), ("what", what)], count as f64);
        }
        for (field, count) in counters.misfits.counts() {
            line("samples_refused_total", &[("stream", name), ("field", field)], count as f64);
        }
        if let Some(last) = counters.misfits.last() {
            let (expected, got) = (last.expected.to_string(), last.got.to_string());
            let labels = [("field", last.field), ("expected", &expected), ("got", &got)];
            let labels = [&[("stream", name.as_str())], &labels[..]].concat();
            line("sample_last_refused_info", &labels, 1.0);
        }
    }
    for (name, measurands) in &totals.measurands {
        measurands::each(measurands.as_ref(), |family, of, value| {
            line(family, &[("stream", name), ("of", of)], value);
        });
    }
    for (name, (liveness, counters)) in &totals.subscriptions {
        let is_alive = *liveness == iec61850::goose::Liveness::Alive;
        line("publisher_alive", &[("publisher", name)], f64::from(u8::from(is_alive)));
        for (what, count) in goose_counters(counters) {
            line("messages_total", &[("publisher", name), ("what", what)], count as f64);
        }
        for (field, count) in counters.refusals.counts() {
            line("messages_refused_total", &[("publisher", name), ("field", field)], count as f64);
        }
        if let Some(last) = counters.refusals.last() {
            let (expected, got) = (last.expected.to_string(), last.got.to_string());
            let labels = [("field", last.field.name()), ("expected", &expected), ("got", &got)];
            let labels = [&[("publisher", name.as_str())], &labels[..]].concat();
            line("message_last_refused_info", &labels, 1.0);
        }
    }
    for (name, (orders, lockouts)) in &totals.reclosings {
        for (what, count) in [("orders", orders), ("lockouts", lockouts)] {
            line("reclosing_total", &[("element", name), ("what", what)], *count as f64);
        }
    }
    let (receive, task) = (totals.receive, totals.task);
    for (what, count) in [
        ("received", receive.frames),
        ("malformed", receive.malformed),
        ("unknown", receive.unknown),
        ("queue_full", receive.queue_full),
        ("kernel_dropped", totals.kernel_dropped),
        ("published", task.published),
        ("unsent", task.unsent),
    ] {
        line("frames_total", &[("what", what)], count as f64);
    }
    for (field, count) in receive.malformed_fields.counts() {
        line("frames_malformed_total", &[("field", field)], count as f64);
    }
    if let Some(last) = receive.malformed_fields.last() {
        let (octet, fault) = (last.octet.to_string(), last.fault.to_string());
        let labels = [("field", last.field), ("octet", &octet), ("fault", &fault)];
        line("frame_last_malformed_info", &labels, 1.0);
    }
    line("cycles_total", &[("what", "run")], task.cycles as f64);
    line("cycles_total", &[("what", "skipped")], task.skipped as f64);
    for (cause, count) in Cause::ALL.iter().zip(task.overruns) {
        line("overruns_total", &[("cause", cause.name())], count as f64);
    }
    for (name, times) in &totals.times {
        for (label, quantile) in [("0.5", 0.5), ("0.99", 0.99), ("0.999", 0.999), ("1", 1.0)] {
            let seconds = times.all.value_at_quantile(quantile) as f64 / 1e9;
            line("seconds", &[("of", name), ("quantile", label)], seconds);
        }
        line("seconds_count", &[("of", name)], times.all.len() as f64);
        line("seconds_sum", &[("of", name)], times.all.mean() * times.all.len() as f64 / 1e9);
    }
    let mut out = String::new();
    for (name, kind, meaning) in families() {
        if let Some(samples) = samples.get(name) {
            let _infallible = write!(
                out,
                "# HELP qcrelay_{name} {meaning}\n# TYPE qcrelay_{name} {kind}\n{samples}"
            );
        }
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use protection::reclosing::{Reason, State};
    use substation::settings;

    use super::*;

    const SETTINGS: &str = "
relay: bay
frequency: 50 Hz
streams:
  's \\ \"1': {sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}
elements: {I>: {function: overcurrent, stream: 's \\ \"1', pick_up: 1 kA, delay: 0 s}}
subscriptions:
  breaker:
    reference: Q0
    destination: 01:0c:cd:01:00:01
    app_id: 1
    conf_rev: 1
    entries: [unused]
";

    fn is_name(name: &str) -> bool {
        let letter = |octet: u8| octet.is_ascii_alphabetic() || octet == b'_' || octet == b':';
        let rest = |octet: u8| letter(octet) || octet.is_ascii_digit();
        name.bytes().next().is_some_and(letter) && name.bytes().all(rest)
    }

    /// The labels of a sample, which end with a brace, and what follows that.
    fn labels(mut text: &str) -> (Vec<(&str, String)>, &str) {
        let mut labels = Vec::new();
        loop {
            if let Some(rest) = text.strip_prefix('}') {
                return (labels, rest);
            }
            let (name, rest) = text.split_once("=\"").expect("a label with its value");
            let mut value = String::new();
            let mut octets = rest.char_indices();
            let end = loop {
                match octets.next().expect("a value ends with a quote").1 {
                    '"' => break octets.offset(),
                    '\\' => match octets.next().expect("what is escaped").1 {
                        'n' => value.push('\n'),
                        other if matches!(other, '"' | '\\') => value.push(other),
                        other => panic!("{other} is not escaped"),
                    },
                    other => value.push(other),
                }
            };
            labels.push((name, value));
            text = rest[end..].strip_prefix(',').unwrap_or(&rest[end..]);
        }
    }

    #[test]
    fn the_whole_output_is_in_the_text_format_with_meaning_and_type_of_each() {
        let relay = settings::read("relay.yaml", SETTINGS).expect("the settings are good");
        let mut totals = Totals::new(&relay);
        totals.links.insert("a\nb".into(), Link::Up);
        totals.records = Some(realtime::lines::Account {
            lost: 1,
            write_errors: 2,
            is_writing: false,
            warning: None,
        });
        totals.reclosings.insert("AR".into(), (0, 0));
        totals.reclosing("AR", State::Closing);
        totals.reclosing("AR", State::Lockout(Reason::ShotsUsed));
        refuse_one(&mut totals);
        totals.measurands.values_mut().for_each(|of| *of = Some(measurands::tests::some()));
        totals.receive.samples(&[], iec61850::SampleTime::ZERO, &[0; 9], |_| {});
        let text = text(&totals);
        assert!(text.ends_with('\n'), "the last line ends");
        for what in ["orders", "lockouts"] {
            let line = format!("qcrelay_reclosing_total{{element=\"AR\",what=\"{what}\"}} 1\n");
            assert!(text.contains(&line), "{line}");
        }
        let (mut helps, mut types) = (BTreeMap::new(), BTreeMap::new());
        let (mut series, mut families) = (BTreeSet::new(), Vec::new());
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, meaning) = help.split_once(' ').expect("a meaning");
                assert!(meaning.ends_with('.') && !meaning.contains('\\'), "{line}");
                assert_eq!(helps.insert(name, meaning), None, "one for each: {line}");
                families.push(name);
                continue;
            }
            let family = *families.last().expect("the meaning comes first");
            if let Some(kind) = line.strip_prefix("# TYPE ") {
                let (name, kind) = kind.split_once(' ').expect("a type");
                assert!(
                    name == family && matches!(kind, "gauge" | "counter" | "summary"),
                    "{line}"
                );
                assert_eq!(types.insert(name, kind), None, "one for each: {line}");
                continue;
            }
            let (name, rest) = line.split_once('{').expect("labels");
            let (labels, rest) = labels(rest);
            let kind = types[family];
            let suffix = name.strip_prefix(family).expect("lines of one metric are together");
            assert!(suffix.is_empty() || kind == "summary", "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            assert!(is_name(name) && labels.iter().all(|(name, _)| is_name(name)), "{line}");
            assert!(rest.strip_prefix(' ').expect("a value").parse::<f64>().is_ok(), "{line}");
            assert!(series.insert((name, labels)), "twice: {line}");
        }
        // Each of the table is here, so that each was checked.
        assert_eq!(families.len(), super::families().count(), "{families:?}");
        assert_eq!(helps.len(), types.len());
        let misfit = "qcrelay_samples_refused_total{stream=\"s \\\\ \\\"1\",field=\"confRev\"} 1\n";
        assert!(text.contains(misfit), "{text}");
        assert!(series.iter().any(|(_, labels)| labels.contains(&("stream", "s \\ \"1".into()))));
    }

    fn refuse_one(totals: &mut Totals) {
        use iec61850::SampleTime;
        use iec61850::goose::{Field, Refusal, Said, Subscriber};
        use iec61850::stream::Supervision;
        use iec61850::wire::sampled_values::Channels;
        use iec61850::wire::{Asdu, Header, Synchronisation};
        let relay = settings::read("relay.yaml", SETTINGS).expect("the settings are good");
        let expected = relay.subscriptions["breaker"].expected.clone();
        let mut subscriber = Subscriber::new(expected);
        let (expected, got) = (Said::text("a"), Said::text("b \"\\"));
        subscriber.refuse(SampleTime::ZERO, Refusal { field: Field::GoId, expected, got });
        let known = totals.subscriptions.get_mut("breaker").expect("it is in the settings");
        known.1 = *subscriber.counters();
        let (name, stream) = relay.protection.streams.iter().next().expect("there is one");
        let mut supervision = Supervision::new(stream.supervision);
        let asdu = Asdu {
            sv_id: "S",
            dat_set: None,
            smp_cnt: 0,
            conf_rev: 9,
            refr_tm: None,
            smp_synch: Synchronisation::Global,
            smp_rate: None,
            channels: Channels::new(&[[0; 8]; 8]),
            smp_mod: None,
            gm_identity: None,
        };
        supervision.receive(SampleTime::ZERO, &Header::default(), &asdu);
        let known = totals.streams.get_mut(name).expect("it is in the settings");
        known.1 = *supervision.counters();
    }
}
