//! Files of a substation: what a relay needs of them comes out as settings that it reads; what
//! is wrong is left out, with its line.

use iec61850::scl::{self, Station, Wanted};
use substation::settings::{self, Entry};

const BAY: &str = include_str!("data/bay.cid");
const WANTED: Wanted<'static> = Wanted { frequency_hz: 50.0, own: None };

fn read(text: &str) -> Station {
    scl::read(text).expect("it is a file of a substation")
}

#[test]
fn streams_and_messages_of_others_are_settings_as_they_come() {
    let (yaml, left_out) = scl::settings(&read(BAY), &WANTED);
    assert!(left_out.is_empty());
    let relay = settings::read(&yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"));
    let [one, two] = ["MU01_MU_MSVCB01", "MU01_MU_MSVCB02"].map(|name| &relay.streams[name]);
    assert_eq!((one.key.sv_id.as_str(), one.supervision.rate), ("MU01", 4000));
    assert_eq!(one.key.destination.to_string(), "01:0c:cd:04:00:01");
    assert_eq!((two.key.sv_id.as_str(), two.supervision.rate), ("MU01MU/LLN0$MS$MSVCB02", 4800));
    assert_eq!((two.key.app_id, two.supervision.conf_rev), (0x4001, 3));
    let breaker = &relay.subscriptions["Q0_CTRL_state"];
    assert_eq!(breaker.expected.gocb_ref, "BAYQ01XCBR/LLN0$GO$state");
    assert_eq!((breaker.expected.app_id, breaker.expected.conf_rev), (2, 2));
    let position = Entry::Position("Q0.XCBR1.Pos.stVal".into());
    assert_eq!(breaker.entries, [position, Entry::Quality, Entry::Unused]);
    assert_eq!(relay.subscriptions["REL1_PROT_trips"].entries.len(), 3);
}

#[test]
fn messages_of_its_own_are_published_once_somebody_says_what_their_values_are() {
    let wanted = Wanted { own: Some("REL1"), ..WANTED };
    let (yaml, _) = scl::settings(&read(BAY), &wanted);
    let problems = settings::read(&yaml).expect_err("nobody said").to_string();
    assert!(problems.contains("goose.REL1_PROT_trips.signals: `which` is no signal"), "{problems}");
    let completed = yaml.replacen("- which", "- trip Q0", 1).replacen("- which", "- start I>", 1)
        + "elements: {I>: {function: overcurrent, stream: MU01_MU_MSVCB01, pick_up: 1 kA, delay: 0 s}}\n\
           trips: {breakers: {Q0: [I>]}}\n";
    let relay = settings::read(&completed).unwrap_or_else(|p| panic!("{p}\n{completed}"));
    let control = &relay.goose["REL1_PROT_trips"];
    assert_eq!((control.tag.priority(), control.tag.vlan()), (6, 10));
    assert_eq!((control.repeat_min.as_millis(), control.repeat_max.as_millis()), (2, 2000));
    assert_eq!(control.data_set, "REL1PROT/LLN0$trips");
    assert_eq!(control.signals.len(), 3);
    assert_eq!(relay.subscriptions.len(), 1);
}

#[test]
fn blocks_that_lack_something_are_told_with_their_line() {
    let station = read(BAY);
    let told: Vec<String> = station.left_out.iter().map(ToString::to_string).collect();
    let line = |text: &str| 1 + BAY[..BAY.find(text).expect("it is there")].matches('\n').count();
    let expected = [
        (
            r#"<SampledValueControl name="slow""#,
            "MU01_MU_slow",
            "smpMod is `SecPerSmp`, which is not read",
        ),
        (r#"<GSEControl name="stray""#, "Q0_CTRL_stray", "its MAC-Address is no multicast address"),
        (
            r#"<GSEControl name="nowhere""#,
            "Q0_CTRL_nowhere",
            "no address of it stands below `Communication`",
        ),
    ];
    let expected =
        expected.map(|(text, block, why)| format!("line {}: {block}: left out: {why}", line(text)));
    assert_eq!(told, expected);
    // At 60 Hz the first stream has 4800 samples; at 62.51 Hz no whole number.
    let (yaml, left_out) = scl::settings(&station, &Wanted { frequency_hz: 62.51, ..WANTED });
    assert_eq!(left_out, ["MU01_MU_MSVCB01: left out: no relay takes its rate"]);
    assert_eq!(settings::read(&yaml).expect("the rest is good").streams.len(), 1);
}

proptest::proptest! {
    #[test]
    fn no_file_makes_it_panic_or_write_what_no_relay_reads(
        at in 0..BAY.len(), length in 0usize..40, text in "[\\PC\"'<>&;#\n]{0,12}",
    ) {
        let end = (at + length).min(BAY.len());
        if let Ok(station) = scl::read(&[&BAY[..at], &text, &BAY[end..]].concat()) {
            let (yaml, _) = scl::settings(&station, &WANTED);
            // Two blocks may have become one and the same stream; nothing else can be wrong.
            if let Err(problems) = settings::read(&yaml) {
                let twice = |what: &str| what.contains("are those of") || what.contains("is missing");
                proptest::prop_assert!(problems.iter().all(|p| twice(&p.what)), "{problems}\n{yaml}");
            }
        }
    }
}
