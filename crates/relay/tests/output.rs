//! What programs print on an output that nobody reads any more (`| head`), or that is full.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

const QCRELAY: &str = env!("CARGO_BIN_EXE_qcrelay");
const QCMERGE: &str = env!("CARGO_BIN_EXE_qcmerge");
const QCHOSTILE: &str = env!("CARGO_BIN_EXE_qchostile");

fn case(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/feeder-fault").join(file)
}

/// Runs a program whose outputs lead nowhere.
fn unread(program: &str, arguments: &[&str]) -> ExitStatus {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stderr(writer.try_clone().expect("a descriptor")).stdout(writer);
    command.status().expect("it starts")
}

#[test]
fn a_closed_output_is_no_reason_to_fail() {
    let folder = tempfile::tempdir().expect("a folder");
    let [relay, merge] =
        ["relay.yaml", "merging_unit.yaml"].map(|file| case(file).display().to_string());
    let bay = Path::new(env!("CARGO_MANIFEST_DIR")).join("../substation/tests/data/bay.cid");
    let bay = bay.display().to_string();
    let wrong = folder.path().join("wrong.yaml");
    std::fs::write(&wrong, "relay: 7\n").expect("a file");
    let wrong = wrong.display().to_string();
    let commands: [(&str, &[&str], i32); 10] = [
        (QCRELAY, &["check", &relay], 0),
        (QCRELAY, &["check", &wrong], 65),
        (QCRELAY, &["import", &bay], 0),
        (QCRELAY, &["top", "127.0.0.1:9"], 69),
        (QCRELAY, &["--help"], 0),
        (QCMERGE, &["check", &merge], 0),
        (QCMERGE, &["check", &wrong], 65),
        (QCMERGE, &["expect", &merge, &relay], 0),
        (QCMERGE, &["stream", "--settings-only", "--streams", "20"], 0),
        (QCHOSTILE, &["replay", "/nowhere"], 69),
    ];
    for (program, arguments, code) in commands {
        let status = unread(program, arguments);
        assert_eq!(status.code(), Some(code), "{program} {arguments:?}: {status}");
    }
}

/// A relay's metrics, for as long as somebody asks for them; names in them come from its settings.
fn metrics() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a caller");
            let mut asked = [0; 512];
            let _ = stream.read(&mut asked);
            let metrics = "qcrelay_a{of=\"\x1b]0;evil\x07\u{9b}31m\"} 7\n";
            let _ = write!(stream, "HTTP/1.0 200 OK\r\n\r\n{metrics}");
        }
    });
    address
}

#[test]
fn a_page_of_metrics_ends_with_its_reader_and_shows_what_it_was_sent() {
    let address = metrics();
    assert_eq!(unread(QCRELAY, &["top", &address]).code(), Some(0), "it does not go on for ever");
    let once = Command::new(QCRELAY).args(["top", "--once", &address]).output().expect("it runs");
    let page = String::from_utf8(once.stdout).expect("a text");
    assert_eq!(page.trim_end(), "             7     a{of=\"\\u{1b}]0;evil\\u{7}\\u{9b}31m\"}");
}

#[test]
fn an_output_that_is_full_is_a_failure_of_its_own() {
    let full = std::fs::File::options().write(true).open("/dev/full").expect("Linux has it");
    let mut command = Command::new(QCRELAY);
    let output = command.arg("check").arg(case("relay.yaml")).stdout(full).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(74));
    let told = String::from_utf8(output.stderr).expect("a text");
    assert!(told.starts_with("qcrelay: cannot write to standard output: "), "{told}");
}
