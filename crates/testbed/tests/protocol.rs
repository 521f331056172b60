//! The examples in `docs/internals/agent-protocol.md` are what agents say and understand: each is
//! read with the types of the code and comes out of them as it went in. None is missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use runtime::agent::protocol::{Call, Outcome, Reply, Request, VERSION};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use testbed::nodes::orders::{Order, Output, PlantAnswer, Report};

/// All JSON values in the fenced blocks of the page.
fn examples() -> Vec<Value> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/internals/agent-protocol.md");
    let page = fs::read_to_string(page).expect("the page is there");
    let ends = |rest: &str| rest.find("```").expect("each block ends");
    let blocks = page.split("```json\n").skip(1).map(|rest| &rest[..ends(rest)]);
    let values = |block| serde_json::Deserializer::from_str(block).into_iter::<Value>();
    blocks.flat_map(values).collect::<Result<_, _>>().expect("blocks hold JSON values")
}

/// The example as the code has it; nothing in it may be unknown to the code or missing.
fn read<T: Serialize + DeserializeOwned>(example: &Value) -> T {
    let read: T = serde_json::from_value(example.clone())
        .unwrap_or_else(|error| panic!("{error} in {example}"));
    let written = serde_json::to_value(&read).expect("messages are plain data");
    assert_eq!(&written, example);
    read
}

// Without a wildcard: a message that is added to the code must be added here and to the page.
fn what(example: &Value) -> &'static str {
    if example.get("call").is_some() {
        let request: Request = read(example);
        assert_eq!(request.version, VERSION);
        return match request.call {
            Call::Status => "call status",
            Call::Hold => "call hold",
            Call::Release => "call release",
            Call::Dilate { .. } => "call dilate",
            Call::DilateProgram { .. } => "call dilate-program",
            Call::Query { .. } => "call query",
            Call::Attend => "call attend",
            Call::Detach => "call detach",
        };
    }
    if example.get("order").is_some() {
        return match read(example) {
            Order::Prepare(setup) => {
                assert_eq!(setup.version, VERSION);
                "order prepare"
            }
            Order::Meet { .. } => "order meet",
            Order::Begin => "order begin",
            Order::Answer { outcome: PlantAnswer::Values(_), .. } => "order answer values",
            Order::Answer { outcome: PlantAnswer::Error(_), .. } => "order answer error",
            Order::Lost { .. } => "order lost",
            Order::Status => "order status",
            Order::End => "order end",
        };
    }
    if example.get("report").is_some() {
        return match read(example) {
            Report::There(_) => "report there",
            Report::Prepared { .. } => "report prepared",
            Report::Met => "report met",
            Report::Lost { .. } => "report lost",
            Report::Died { .. } => "report died",
            Report::Failed { .. } => "report failed",
            Report::Ask { .. } => "report ask",
            Report::Started { .. } => "report started",
            Report::NotStarted { .. } => "report not-started",
            Report::Exited(_) => "report exited",
            Report::Warning { .. } => "report warning",
            Report::Status(_) => "report status",
            Report::Intervention(_) => "report intervention",
            Report::Watched { .. } => "report watched",
            Report::Arrived => "report arrived",
            Report::Ended(_) => "report ended",
        };
    }
    if example.get("program").is_some() {
        assert!(read::<Output>(example).text.ends_with('\n'));
        return "output";
    }
    match read::<Reply>(example).outcome {
        Outcome::Status(_) => "reply status",
        Outcome::Detail(_) => "reply detail",
        Outcome::Error(_) => "reply error",
        Outcome::Warning(_) => "reply warning",
    }
}

#[test]
fn every_message_is_described_as_it_is() {
    let shown: BTreeSet<&str> = examples().iter().map(what).collect();
    let all = [
        "call status",
        "call hold",
        "call release",
        "call dilate",
        "call dilate-program",
        "call query",
        "call attend",
        "call detach",
        "reply status",
        "reply detail",
        "reply error",
        "reply warning",
        "order prepare",
        "order meet",
        "order begin",
        "order answer values",
        "order answer error",
        "order lost",
        "order status",
        "order end",
        "report there",
        "report prepared",
        "report met",
        "report lost",
        "report died",
        "report failed",
        "report ask",
        "output",
        "report started",
        "report not-started",
        "report exited",
        "report warning",
        "report status",
        "report intervention",
        "report watched",
        "report arrived",
        "report ended",
    ];
    assert_eq!(shown, BTreeSet::from(all));
}
