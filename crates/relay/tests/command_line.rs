//! Command lines and files that make no sense: what is said, and with which exit code.

use std::fs;
use std::path::Path;

use crate::support::running::run;

const QCRELAY: &str = env!("CARGO_BIN_EXE_qcrelay");
const QCMERGE: &str = env!("CARGO_BIN_EXE_qcmerge");
const QCHOSTILE: &str = env!("CARGO_BIN_EXE_qchostile");

fn check(program: &str, folder: &Path, arguments: &str, code: i32, words: &str) {
    let each = arguments.split(' ').map(|word| word.trim_matches('_'));
    let (ended, out, error) = run(program, folder, each);
    let said = out + &error;
    assert_eq!(ended, Some(code), "{arguments}: {said}");
    assert!(said.contains(words), "{arguments}: {said}");
}

#[test]
fn values_that_make_no_sense_are_refused_with_what_is_expected() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("relay.yaml"), "relay: F1\n").expect("it writes");
    let alternate = "alternate --interface lo --records steps --actions 1";
    let stream = "stream --interface lo --duration 1s";
    let flood = "flood --from 127.0.0.1:1 --to 127.0.0.1:2";
    for (program, arguments, code, words) in [
        (QCRELAY, "keys q --station x", 64, "`x` is not a whole number from 0 to 4294967295; use"),
        (QCRELAY, "meter x", 64, "`x` is not a whole number from 0 to 1023; use digits only"),
        (QCRELAY, "meter 1023 --duration 1s", 69, "core 1023 cannot be used"),
        (QCRELAY, "meter 0 --duration 0s", 64, "`0s` is not a positive time"),
        (QCRELAY, "import x --frequency x", 64, "`x` is not a valid number; write it as `12`"),
        (QCRELAY, "top nope", 64, "`nope` is not an address with a port; write it as"),
        (QCRELAY, "top 127.0.0.1:9 --once", 69, "its settings name in `metrics`"),
        (QCMERGE, &format!("{stream} --core 1023"), 69, "this machine has the cores 0"),
        (QCMERGE, &format!("{alternate} --core 1023"), 69, "core 1023 cannot be used"),
        (QCMERGE, &format!("{stream} --duration 0s"), 64, "cannot be used multiple times"),
        (QCMERGE, "stream --interface lo --duration 0s", 64, "`0s` is not a positive time"),
        (QCMERGE, "stream --interface lo --frequency NaN", 64, "`NaN` is not a valid number"),
        (QCMERGE, &format!("{alternate} --load NaN"), 64, "`NaN` is not a valid number"),
        (QCMERGE, &format!("{alternate} --load 1e7"), 64, "give 0 to 1000000"),
        (QCMERGE, &format!("{alternate} --load 5000 --fault 10"), 64, "give a lower --load"),
        (QCMERGE, &format!("{alternate} --sv-id __"), 64, "this text is empty"),
        (QCMERGE, &format!("{alternate} --interval 0s"), 64, "give more than zero"),
        (QCMERGE, &format!("{alternate} --interval 1us"), 64, "give at least 1 ms"),
        (QCHOSTILE, "replay relay.yaml", 65, "relay.yaml:1: this is not a recorded packet; give"),
        (QCHOSTILE, "replay relay.yaml --rate 0", 64, "`0` is not a whole number from 1"),
        (QCHOSTILE, &format!("{flood} --sender 9 --recipient 4"), 64, "number from 0 to 4"),
        (QCHOSTILE, &format!("{flood} --sender 1 --recipient 1"), 64, "give two parties"),
    ] {
        check(program, folder.path(), arguments, code, words);
    }
    assert!(!folder.path().join("steps").exists(), "nothing was begun");
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_the_fix() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("latin.yaml"), b"relay: F1\nmode: \xff\n").expect("it writes");
    for (program, command) in [
        (QCRELAY, "check"),
        (QCRELAY, "import"),
        (QCMERGE, "check"),
        (QCHOSTILE, "replay"),
        (QCHOSTILE, "insider --attack push"),
    ] {
        let words = "none.yaml cannot be read (No such file or directory (os error 2)); give the \
                     path of a file";
        check(program, folder.path(), &format!("{command} none.yaml"), 69, words);
        let words = "latin.yaml: line 2 is not UTF-8; save the file as UTF-8";
        check(program, folder.path(), &format!("{command} latin.yaml"), 65, words);
    }
}

#[test]
fn one_stream_is_not_called_streams() {
    let folder = tempfile::tempdir().expect("a folder");
    let relay = "relay: F1\nfrequency: 50 Hz\nstreams: {s: {sv_id: s, app_id: 0x4000, \
                 destination: 01:0c:cd:04:00:01, rate: 4000 Hz}}\n";
    fs::write(folder.path().join("relay.yaml"), relay).expect("it writes");
    check(QCRELAY, folder.path(), "check relay.yaml", 0, "no errors: 1 stream, 0 elements");
}

#[test]
fn a_command_of_a_node_that_does_not_exist_is_missing() {
    let folder = tempfile::tempdir().expect("a folder");
    let settings = "status: 127.0.0.1:9\ninterval: 1 s\n\
                    nodes: {0: ./none, 1: ./none, 2: ./none, 3: ./none}\n";
    fs::write(folder.path().join("rejuvenate.yaml"), settings).expect("it writes");
    let words = "correct its command in `nodes`";
    check(QCRELAY, folder.path(), "rejuvenate rejuvenate.yaml", 69, words);
}

#[test]
fn files_that_a_node_names_are_checked() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("it writes");
    };
    check(QCRELAY, folder.path(), "keys . --station 7", 0, "key epoch 1");
    check(QCRELAY, folder.path(), "keys . --station 7 --epoch 1 --force", 64, "not above epoch 1");
    let breaker = "breaker: Q0\nquorum: {protocol: peer, membership: membership, \
                   keys: breaker.secret, memory: memory, breaker_address: 127.0.0.1:7404, \
                   addresses: [127.0.0.1:7400, 127.0.0.1:7401, 127.0.0.1:7402, 127.0.0.1:7403]}\n";
    write("memory.txt", "a text\n");
    let checked = |change: [&str; 2], code, words: &str| {
        write("breaker.yaml", &breaker.replace(change[0], change[1]));
        check(QCRELAY, folder.path(), "breaker breaker.yaml --check", code, words);
    };
    checked(["", ""], 0, "breaker.yaml: no errors: Q0");
    checked(["breaker.secret", "node-0.secret"], 65, "these are keys of a relay node");
    checked([": membership,", ": node-0.secret,"], 65, "node-0.secret: line ");
    checked([": membership,", ": nobody,"], 69, "nobody cannot be read");
    checked(["breaker.secret", "none.secret"], 69, "none.secret cannot be read");
    checked([": memory,", ": memory.txt,"], 65, "memory.txt: this is not the memory of this party");
    write("breaker.yaml", &breaker.replace(": memory,", ": memory.txt,"));
    check(QCRELAY, folder.path(), "breaker breaker.yaml", 65, "memory.txt: this is not");
    let node = breaker.replace(
        "breaker: Q0",
        "node: A\ndecides: {by: goose, interface: none, \
        reference: a, destination: 01:0c:cd:01:00:01, app_id: 1, conf_rev: 1, entries: [trip]}",
    );
    write("node.yaml", &node);
    for how in ["", " --check"] {
        let words = "these are keys of the breaker node";
        check(QCRELAY, folder.path(), &format!("node node.yaml{how}"), 65, words);
    }
}
