//! One page that asks nothing of anybody: style, data and script are in it, and it forbids itself
//! every other script and every request. So it can be kept beside the results, sent by mail, and
//! opened years later.

use std::path::Path;

use anyhow::Result;
use sha2::{Digest, Sha256};

use super::html::{base64, escape};

/// The style sheet of all reports.
pub const STYLE: &str = include_str!("page.css");

/// A page.
pub struct Page {
    /// Its title, as plain text.
    pub title: String,
    /// Its body, as HTML.
    pub body: String,
    /// Style besides that of all reports.
    pub style: &'static str,
    /// JSON for the script, in which nothing can end an element (`escape_json`).
    pub data: String,
    /// The script.
    pub script: &'static str,
}

impl Page {
    /// Writes it: readers see it complete or not at all.
    pub fn write(&self, out: &Path) -> Result<()> {
        os::files::replace(out, |to| to.write_all(self.html().as_bytes()))
    }

    fn html(&self) -> String {
        let Self { title, body, style, data, script } = self;
        let (title, policy) = (escape(title), policy(script));
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n<main>\n{body}</main>\n\
             <script type=\"application/json\" id=\"data\">{data}</script>\n\
             <script>{script}</script>\n</body>\n</html>\n"
        )
    }
}

/// Only the script of this page runs, and nothing is loaded from anywhere.
fn policy(script: &str) -> String {
    let hash = base64(&Sha256::digest(script));
    format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'")
}
