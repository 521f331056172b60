//! Files of a substation: what a relay needs of them comes out as settings that it reads; what is
//! wrong is left out, with its line, and none costs more work than its length warrants.

use iec61850::scl::{self, Station};
use substation::settings::imported::{Wanted, from_scl};
use substation::settings::{self, Entry};

const BAY: &str = include_str!("data/bay.cid");
const WANTED: Wanted<'static> = Wanted { frequency_hz: 50.0, own: None };

fn read(text: &str) -> Station {
    scl::read(text).expect("it is a file of a substation")
}

#[test]
fn streams_and_messages_of_others_are_settings_as_they_come() {
    let (yaml, left_out) = from_scl(&read(BAY), &WANTED);
    assert!(left_out.is_empty());
    let relay =
        settings::read("relay.yaml", &yaml).unwrap_or_else(|problems| panic!("{problems}\n{yaml}"));
    let [one, two] =
        ["MU01_MU_MSVCB01", "MU01_MU_MSVCB02"].map(|name| &relay.protection.streams[name]);
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
    let (yaml, _) = from_scl(&read(BAY), &wanted);
    let problems = settings::read("relay.yaml", &yaml).expect_err("nobody said").to_string();
    assert!(
        problems.contains("goose.REL1_PROT_trips.signals[0]: `which` is not a signal"),
        "{problems}"
    );
    let completed = yaml.replacen("- which", "- trip Q0", 1).replacen("- which", "- start I>", 1)
        + "elements: {I>: {function: overcurrent, stream: MU01_MU_MSVCB01, pick_up: 1 kA, delay: 0 s}}\n\
           trips: {breakers: {Q0: [I>]}}\n";
    let relay =
        settings::read("relay.yaml", &completed).unwrap_or_else(|p| panic!("{p}\n{completed}"));
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
            "smpMod is `SecPerSmp`, which is not supported",
        ),
        (
            r#"<GSEControl name="stray""#,
            "Q0_CTRL_stray",
            "its MAC-Address is not a multicast address",
        ),
        (
            r#"<GSEControl name="nowhere""#,
            "Q0_CTRL_nowhere",
            "it has no address under `Communication`",
        ),
    ];
    let expected =
        expected.map(|(text, block, why)| format!("line {}: {block}: left out: {why}", line(text)));
    assert_eq!(told, expected);
    // At 60 Hz the first stream has 4800 samples; at 62.51 Hz no whole number.
    let (yaml, left_out) = from_scl(&station, &Wanted { frequency_hz: 62.51, ..WANTED });
    assert_eq!(left_out, ["MU01_MU_MSVCB01: left out: its sampling rate is not supported"]);
    assert_eq!(
        settings::read("relay.yaml", &yaml).expect("the rest is good").protection.streams.len(),
        1
    );
}

proptest::proptest! {
    #[test]
    fn no_file_makes_it_panic_or_write_what_no_relay_reads(
        at in 0..BAY.len(), length in 0usize..40, text in "[\\PC\"'<>&;#\n]{0,12}",
    ) {
        let end = (at + length).min(BAY.len());
        if let Ok(station) = scl::read(&[&BAY[..at], &text, &BAY[end..]].concat()) {
            let (yaml, _) = from_scl(&station, &WANTED);
            // Two blocks may have become one and the same stream; nothing else can be wrong.
            if let Err(problems) = settings::read("relay.yaml", &yaml) {
                let twice = |what: &str| what.contains("are those of") || what.contains("is missing");
                proptest::prop_assert!(problems.iter().all(|p| twice(&p.fault.what)), "{problems}\n{yaml}");
            }
        }
    }
}

/// Time on a processor that work takes, whatever else this host does. The kernel may count it at its
/// ticks only, so it is done again and again until that is long.
fn cost_ns(work: impl Fn()) -> u64 {
    const LONG_NS: u64 = 60_000_000;
    let used = || {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
        let used = text.split(' ').next().and_then(|used| used.parse::<u64>().ok());
        used.expect("a number of nanoseconds")
    };
    let before = used();
    for times in 1.. {
        work();
        let all = used() - before;
        if all >= LONG_NS {
            return all / times;
        }
    }
    unreachable!("it would take hours")
}

/// Files that are eight times as long take eight times as long, not sixty-four times, whatever is
/// in them many times or of great length.
#[test]
fn the_work_grows_with_the_file_and_no_faster() {
    let file = |communication: &str, sets: &str, controls: &str, device: &str| {
        format!(
            "<SCL><Communication><SubNetwork><ConnectedAP iedName='{device}' apName='A'>{communication}\
             </ConnectedAP></SubNetwork></Communication><IED name='{device}'><AccessPoint name='A'>\
             <Server><LDevice inst='L'><LN0>{sets}{controls}</LN0></LDevice></Server></AccessPoint></IED></SCL>"
        )
    };
    let many =
        |count: usize, one: &dyn Fn(usize) -> String| -> String { (0..count).map(one).collect() };
    let address =
        "<Address><P type='MAC-Address'>01-0C-CD-01-00-01</P><P type='APPID'>0001</P></Address>";
    let place = |number: usize| format!("<GSE ldInst='L' cbName='c{number}'>{address}</GSE>");
    let control =
        |number: usize| format!("<GSEControl name='c{number}' datSet='s{number}' confRev='1'/>\n");
    let alike = |_: usize| "<GSEControl name='c0' datSet='s0' confRev='1'/>\n".to_owned();
    let set = |number: usize| {
        format!("<DataSet name='s{number}'><FCDA lnClass='XCBR' doName='Pos'/></DataSet>")
    };
    let value = |_: usize| "<FCDA lnClass='XCBR' doName='Pos'/>".to_owned();
    let parameter = |_: usize| "<P type='x'>1</P>".to_owned();
    type Made<'m> = Box<dyn Fn(usize) -> String + 'm>;
    let kinds: [(&str, Made<'_>); 8] = [
        ("blocks that are left out", Box::new(|n| file("", "", &many(n, &control), "D"))),
        (
            "data sets and blocks",
            Box::new(|n| file(&many(n, &place), &many(n, &set), &many(n, &control), "D")),
        ),
        (
            "blocks of one data set",
            Box::new(|n| {
                file(
                    &place(0),
                    &format!("<DataSet name='s0'>{}</DataSet>", many(n, &value)),
                    &many(n, &alike),
                    "D",
                )
            }),
        ),
        (
            "blocks of one address",
            Box::new(|n| {
                let long = format!(
                    "<GSE ldInst='L' cbName='c0'><Address>{}</Address>{address}</GSE>",
                    many(n, &parameter)
                );
                file(&long, &set(0), &many(n, &alike), "D")
            }),
        ),
        ("blocks of one name", Box::new(|n| file(&place(0), &set(0), &many(n, &alike), "D"))),
        (
            "a long name",
            Box::new(|n| file(&many(n, &place), "", &many(n, &control), &"D".repeat(32 * n))),
        ),
        (
            "attributes",
            Box::new(|n| format!("<SCL{}/>", many(n, &|number| format!(" a{number}='x'")))),
        ),
        (
            "namespaces",
            Box::new(|n| {
                let outer = many(n, &|number| format!(" xmlns:n{number}='{number}'"));
                format!("<SCL{outer}>{}</SCL>", many(n, &|_| "<a xmlns='y'/>".to_owned()))
            }),
        ),
    ];
    const LESS: usize = 1_000;
    const TIMES: usize = 8;
    for (what, make) in kinds {
        let cost = |count: usize| {
            let text = make(count);
            cost_ns(|| {
                if let Ok(station) = scl::read(&text) {
                    let _ = from_scl(&station, &WANTED);
                }
            })
        };
        let (less, more) = (cost(LESS), cost(LESS * TIMES));
        let ratio = more as f64 / less as f64;
        println!("{what}: {less} ns, then {more} ns: {ratio:.1} times");
        assert!(ratio < 3.0 * TIMES as f64, "{what}: {ratio:.1} times for {TIMES} times as much");
    }
}
