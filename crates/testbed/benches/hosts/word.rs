//! What the host itself takes to carry a word from one namespace to another and back, so that a slow machine is seen as
//! one.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::measured::Row;
use crate::run::{Place, bound};

pub(crate) const PART: &str = "host";
const PORT: &str = "7007";

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended with its connection where all went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub(crate) fn row(place: &Place, word: &Path, times: usize) -> Result<Row> {
    let mut serve = bound(word);
    serve.args(["serve", PORT]).env("PATH", "/usr/bin:/bin");
    let mut server = Server(place.stop.start(place.lab.inside(1, &serve).stdout(Stdio::piped()))?);
    let said = server.0.stdout.take().context("its output is a pipe")?;
    BufReader::new(said).read_line(&mut String::new())?;
    let mut ask = bound(word);
    ask.args(["ask", "10.1.0.11", PORT, &times.to_string()]).env("PATH", "/usr/bin:/bin");
    let output = place.lab.inside(2, &ask).output()?;
    ensure!(output.status.success(), "a word came not back: {}", output.status);
    let samples: Vec<f64> = String::from_utf8(output.stdout)?
        .lines()
        .map(|line| Ok(line.parse::<f64>()? / 1000.0))
        .collect::<Result<_>>()?;
    Ok(Row::of_samples(PART, "a word over TCP to another namespace and back", "µs", &samples)
        .sized(2, 0))
}
