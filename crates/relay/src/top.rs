//! The metrics of a running relay in the terminal, once a second.

mod grid;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long a relay may take to answer.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// Asks a relay for its metrics.
///
/// # Errors
/// When nobody answers there, or not with metrics.
pub fn fetch(address: SocketAddr) -> io::Result<String> {
    let mut relay = TcpStream::connect_timeout(&address, ANSWER_MAX)?;
    relay.set_read_timeout(Some(ANSWER_MAX))?;
    relay.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    relay.read_to_string(&mut answer)?;
    let wrong = || io::Error::new(io::ErrorKind::InvalidData, "not the metrics of a relay");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(wrong)?;
    if head.contains(" 200 ") { Ok(body.to_owned()) } else { Err(wrong()) }
}

/// Of these, 0 is what to look at.
const STATES: [&str; 5] = [
    "clock_synchronised{",
    "interface_up{",
    "publisher_alive{",
    "records_writing{",
    "stream_valid{",
];

/// What a person wants to see of it: what is measured of the grid, states, counters that are not zero, times in microseconds.
#[must_use]
pub fn page(metrics: &str) -> String {
    let (mut grid, mut page) = (grid::Grid::default(), String::new());
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let Some((name, value)) = line.rsplit_once(' ') else { continue };
        let name = name.trim_start_matches("qcrelay_");
        let Ok(number) = value.parse::<f64>() else { continue };
        if grid.take(name, number) {
            continue;
        }
        let shown = match name.starts_with("seconds{") {
            true => format!("{:>14.1} us", number * 1e6),
            false if number == 0.0 && !STATES.iter().any(|state| name.starts_with(state)) => {
                continue;
            }
            false => format!("{number:>14}"),
        };
        page.push_str(&format!("{shown:<18} {name}\n"));
    }
    grid.page() + &page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_times_and_what_was_counted() {
        let metrics = "# HELP qcrelay_a At most 5\nqcrelay_seconds{of=\"task\"} 0.000053\nqcrelay_a{} 0\nqcrelay_b{} 7\n\
                       qcrelay_stream_valid{stream=\"s\"} 0\n";
        let shown = page(metrics);
        assert!(
            shown.contains("53.0 us")
                && shown.contains("7")
                && shown.contains("stream_valid")
                && !shown.contains("a{}")
                && !shown.contains("most")
        );
    }
}
