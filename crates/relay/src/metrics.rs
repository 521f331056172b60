//! Metrics for Prometheus over HTTP/1.0, one request a connection, from the thread that may block.
//! A client that is slow or says something else is cut off.

use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use os::packet::Link;

use crate::blame::Cause;
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
    let octets = client.read(&mut request)?;
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

pub(crate) fn text(totals: &Totals) -> String {
    let mut out = String::new();
    let mut line = |name: &str, labels: &[(&str, &str)], value: f64| {
        let labels: Vec<String> =
            labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value))).collect();
        let _infallible = writeln!(out, "qcrelay_{name}{{{}}} {value}", labels.join(","));
    };
    for (name, link) in &totals.links {
        line("interface_up", &[("interface", name)], f64::from(u8::from(*link == Link::Up)));
    }
    line("clock_synchronised", &[], f64::from(u8::from(totals.clock.is_synchronised)));
    for (name, (state, counters)) in &totals.streams {
        let is_valid = state_name(*state) == "valid";
        line("stream_valid", &[("stream", name)], f64::from(u8::from(is_valid)));
        for (what, count) in stream_counters(counters) {
            line("samples_total", &[("stream", name), ("what", what)], count as f64);
        }
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
            line("message_last_refused", &labels, 1.0);
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
    out
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
