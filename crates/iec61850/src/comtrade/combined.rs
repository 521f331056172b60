//! The combined file (`.cff`) of 2013: all files of a record in one, each behind a line such as
//! `--- file type: CFG ---`. Binary data are as many octets as that line says, because any octets may
//! be in them.

use super::ComtradeError;

const FILE: &str = "combined file";
/// What such a line begins and ends with, in lower case.
const BEGIN: &str = "--- file type:";
const END: &str = "---";

/// The parts of a combined file that are read.
#[derive(Debug)]
pub(super) struct Combined<'f> {
    pub(super) configuration: Part<'f>,
    pub(super) data: Part<'f>,
    /// Whether the data are text.
    pub(super) is_ascii: bool,
}

/// A part, and how many lines stand before it in the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'f> {
    pub(super) octets: &'f [u8],
    pub(super) lines_before: usize,
}

/// What a line between parts says.
#[derive(Debug)]
struct Heading {
    /// `cfg`, `inf`, `hdr` or `dat`.
    kind: String,
    /// `ascii` or a binary form, of data.
    form: String,
    octets: Option<usize>,
}

impl<'f> Combined<'f> {
    /// Finds the parts; header and information are passed over.
    ///
    /// # Errors
    /// When a part is missing, is there twice, or has fewer octets than it should.
    pub(super) fn parse(file: &'f [u8]) -> Result<Self, ComtradeError> {
        let wrong = |line: usize, what: String| ComtradeError::new(FILE, line, what);
        let (mut configuration, mut data) = (None, None);
        let mut rest = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
        let mut number = 0;
        while !rest.is_empty() {
            let (line, behind) = first_line(rest);
            number += 1;
            rest = behind;
            let Some(heading) = heading(line) else {
                // Only what stands before all parts or behind binary data comes here.
                if line.trim_ascii().is_empty() || line == b"\x1a" {
                    continue;
                }
                let what = if data.is_some() {
                    "more follows the data than the line before them says; correct its number of octets"
                } else {
                    "a combined file begins with `--- file type: CFG ---`; give a `.cfg` file together \
                     with its `.dat` file"
                };
                return Err(wrong(number, what.into()));
            };
            let heading = heading.map_err(|what| wrong(number, what))?;
            let lines_before = number;
            let is_binary = heading.kind == "dat" && heading.form != "ascii";
            let octets = if is_binary {
                let (part, behind) = match heading.octets {
                    Some(octets) => rest.split_at_checked(octets).ok_or_else(|| {
                        let what = format!("{octets} octets of data, but {} follow", rest.len());
                        wrong(number, what)
                    })?,
                    None => (rest, &[][..]),
                };
                rest = behind;
                part
            } else {
                let begin = rest;
                let mut length = 0;
                while !rest.is_empty() {
                    let (line, behind) = first_line(rest);
                    if heading_of(line) {
                        break;
                    }
                    length = begin.len() - behind.len();
                    number += 1;
                    rest = behind;
                }
                &begin[..length]
            };
            let part = Part { octets, lines_before };
            let is_second = match heading.kind.as_str() {
                "cfg" => configuration.replace(part).is_some(),
                "dat" => data.replace((part, !is_binary)).is_some(),
                _ => false,
            };
            if is_second {
                let kind = heading.kind.to_ascii_uppercase();
                return Err(wrong(lines_before, format!("a second part {kind}")));
            }
        }
        let configuration =
            configuration.ok_or_else(|| wrong(number.max(1), "there is no part CFG".into()))?;
        let (data, is_ascii) =
            data.ok_or_else(|| wrong(number.max(1), "there is no part DAT".into()))?;
        Ok(Self { configuration, data, is_ascii })
    }
}

impl Part<'_> {
    /// The same, with the line in the combined file.
    pub(super) fn place(&self, mut error: ComtradeError) -> ComtradeError {
        error.line += self.lines_before;
        error.file = FILE;
        error
    }
}

/// The first line without its end, and what follows.
fn first_line(octets: &[u8]) -> (&[u8], &[u8]) {
    let end = octets.iter().position(|octet| *octet == b'\n');
    let (line, behind) = end.map_or((octets, &[][..]), |end| (&octets[..end], &octets[end + 1..]));
    (line.strip_suffix(b"\r").unwrap_or(line), behind)
}

/// Whether a line begins a part.
fn heading_of(line: &[u8]) -> bool {
    line.get(..BEGIN.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(BEGIN.as_bytes()))
}

/// What a line says that begins a part.
fn heading(line: &[u8]) -> Option<Result<Heading, String>> {
    if !heading_of(line) {
        return None;
    }
    let text = String::from_utf8_lossy(line).to_ascii_lowercase();
    let inner = text[BEGIN.len()..].trim_end();
    let inner = inner.strip_suffix(END).unwrap_or(inner).trim();
    let (names, octets) = inner.split_once(':').unwrap_or((inner, ""));
    let octets = match octets.trim() {
        "" => None,
        octets => match octets.parse() {
            Ok(octets) => Some(octets),
            Err(_) => return Some(Err(format!("{octets:?} is not a number of octets"))),
        },
    };
    let mut names = names.split_whitespace();
    let [kind, form] = [names.next(), names.next()].map(|name| name.unwrap_or_default().to_owned());
    let is_known = match kind.as_str() {
        "cfg" | "inf" | "hdr" => true,
        "dat" => matches!(form.as_str(), "ascii" | "binary" | "binary32" | "float32"),
        _ => false,
    };
    let what = || {
        format!(
            "part {:?} is not known; known are CFG, INF, HDR, DAT ASCII and DAT BINARY",
            [kind.as_str(), form.as_str()].join(" ").trim_end()
        )
    };
    Some(if is_known { Ok(Heading { kind, form, octets }) } else { Err(what()) })
}
