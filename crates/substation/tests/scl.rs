//! Files of a substation: what a relay needs of them comes out as settings that it reads; what is
//! wrong is left out, with its line, and none costs more work than its length warrants.

use iec61850::scl::{self, Station};
use proptest::strategy::Strategy as _;
use substation::settings::imported::{Wanted, from_scl};
use substation::settings::{self, Entry, Signal, SignalKind};

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
    let position = Entry::Position("Q0.CTRL.XCBR1.Pos.stVal".into());
    assert_eq!(breaker.entries, [position, Entry::Quality(vec![0]), Entry::Unused]);
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

/// A file whose message has these members, written as `node object attribute`.
fn file(members: &[String]) -> String {
    let members: String = members
        .iter()
        .map(|member| {
            let parts: Vec<&str> = member.split(' ').collect();
            let [node, object, attribute] = parts[..] else { panic!("{member}") };
            let (device, node) = node.split_once('/').unwrap_or(("PROT", node));
            let class = &node[node.len() - 5..node.len() - 1];
            let (prefix, instance) = (&node[..node.len() - 5], &node[node.len() - 1..]);
            format!(
                "<FCDA ldInst='{device}' prefix='{prefix}' lnClass='{class}' lnInst='{instance}' \
                 doName='{object}' daName='{attribute}' fc='ST'/>"
            )
        })
        .collect();
    format!(
        "<SCL><Communication><SubNetwork><ConnectedAP iedName='D' apName='A'>\
         <GSE ldInst='PROT' cbName='c'><Address><P type='MAC-Address'>01-0C-CD-01-00-01</P>\
         <P type='APPID'>0001</P></Address></GSE></ConnectedAP></SubNetwork></Communication>\
         <IED name='D'><AccessPoint name='A'><Server><LDevice inst='PROT'><LN0>\
         <DataSet name='s'>{members}</DataSet><GSEControl name='c' datSet='s' confRev='1'/>\
         </LN0></LDevice></Server></AccessPoint></IED></SCL>"
    )
}

/// Members by name, each quality with the values that settings say it is of, in an order that does not
/// depend on that of the file.
fn guarded(members: &[String]) -> Vec<(String, Vec<String>)> {
    let (yaml, _) = from_scl(&read(&file(members)), &WANTED);
    // A message needs no stream, and a relay does.
    let yaml = yaml
        + "streams: {s: {sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}\n";
    let relay = settings::read("relay.yaml", &yaml).unwrap_or_else(|p| panic!("{p}\n{yaml}"));
    let entries = &relay.subscriptions["D_PROT_c"].entries;
    assert_eq!(entries.len(), members.len());
    let of = |entry: &Entry| match entry {
        Entry::Quality(of) => of.iter().map(|index| members[*index].clone()).collect(),
        _ => Vec::new(),
    };
    let mut found: Vec<(String, Vec<String>)> =
        members.iter().zip(entries).map(|(member, entry)| (member.clone(), of(entry))).collect();
    for (_, values) in &mut found {
        values.sort();
    }
    found.sort();
    found
}

/// The values that each quality is of, as the references of the data objects say.
fn by_reference(members: &[String]) -> Vec<(String, Vec<String>)> {
    let mut expected: Vec<(String, Vec<String>)> = members
        .iter()
        .map(|quality| {
            let object = quality.strip_suffix(" q").map(|object| format!("{object} "));
            let is_of = |member: &&String| {
                let is_value = *member != quality && !member.ends_with(" t");
                is_value && object.as_ref().is_some_and(|object| member.starts_with(object))
            };
            let mut values: Vec<String> = members.iter().filter(is_of).cloned().collect();
            values.sort();
            (quality.clone(), values)
        })
        .collect();
    expected.sort();
    expected
}

fn members_of(lines: &str) -> Vec<String> {
    lines.split(", ").map(str::to_owned).collect()
}

#[test]
fn qualities_are_those_of_their_data_objects_in_the_orders_of_all_vendors() {
    for (vendor, lines) in [
        ("ABB", "CTRL/XCBR1 Pos q, CTRL/XCBR1 Pos stVal, PTRC1 Tr q, PTRC1 Tr general, PTRC1 Tr t"),
        ("Siemens", "CTRL/XCBR1 Pos stVal, CTRL/XCBR1 Pos q, PTRC1 Tr general, PTRC1 Tr q"),
        ("SEL", "PTRC1 Tr general, CTRL/XCBR1 Pos stVal, PTRC1 Tr q, CTRL/XCBR1 Pos q"),
        ("GE", "GGIO1 Ind1 q, GGIO1 Ind1 stVal, GGIO1 Ind2 stVal, GGIO1 Ind3 q, GGIO2 Ind1 stVal"),
        (
            "phases",
            "PDIS1 Str general, PDIS1 Str dirGeneral, PDIS1 Str phsA, PDIS1 Str q, PDIS1 Str t",
        ),
        (
            "prefixes",
            "CTRL/aXCBR1 Pos q, CTRL/bXCBR1 Pos stVal, CTRL/bXCBR1 Pos q, CTRL/aXCBR1 Pos stVal",
        ),
        ("logical devices", "PROT/PTOC1 Op q, CTRL/PTOC1 Op general, PROT/PTOC1 Op general"),
        ("inner objects", "MMXU1 A.phsA q, MMXU1 A.phsA cVal.mag.f, MMXU1 A.phsB cVal.mag.f"),
    ] {
        let members = members_of(lines);
        assert_eq!(guarded(&members), by_reference(&members), "{vendor}");
    }
    // Breakers of two logical devices are two breakers, whose positions must not stand for each other.
    let members = members_of("CTRL/XCBR1 Pos stVal, XCBR1 Pos stVal");
    let (yaml, _) = from_scl(&read(&file(&members)), &WANTED);
    for position in ["position D.CTRL.XCBR1.Pos.stVal", "position D.PROT.XCBR1.Pos.stVal"] {
        assert!(yaml.contains(position), "{yaml}");
    }
    // The part of a name between object and attribute stands with either.
    let members = members_of("MMXU1 A phsA.q, MMXU1 A phsB.cVal.mag.f, MMXU1 A.phsA cVal.mag.f");
    assert_eq!(guarded(&members)[0].1, ["MMXU1 A.phsA cVal.mag.f"]);
    let twice = members_of("PTRC1 Tr q, PTRC1 Tr general, PTRC1 Tr q");
    let of: Vec<usize> = guarded(&twice).iter().map(|(_, values)| values.len()).collect();
    assert_eq!(of.iter().sum::<usize>(), 1, "the second one is unused");
}

#[test]
fn an_own_message_with_qualities_before_their_values_is_published_as_it_is_described() {
    let members =
        members_of("PTRC1 Tr q, PTRC1 Tr general, PTOC1 Op general, PTOC1 Op phsA, PTOC1 Op q");
    let (yaml, _) = from_scl(&read(&file(&members)), &Wanted { own: Some("D"), ..WANTED });
    let completed = ["- trip Q0", "- operate I>", "- operate I>"]
        .iter()
        .fold(yaml, |yaml, signal| yaml.replacen("- which", signal, 1))
        + "mode: test\n\
           streams: {s: {sv_id: S, destination: '01:0c:cd:04:00:01', app_id: 0x4000, rate: 4000 Hz}}\n\
           elements: {I>: {function: overcurrent, stream: s, pick_up: 1 kA, delay: 0 s}}\n\
           trips: {breakers: {Q0: [I>]}}\n";
    let relay =
        settings::read("relay.yaml", &completed).unwrap_or_else(|p| panic!("{p}\n{completed}"));
    let signal = |kind, name: &str| Signal { kind, name: name.into() };
    let expected = [
        signal(SignalKind::TripQuality, "Q0"),
        signal(SignalKind::Trip, "Q0"),
        signal(SignalKind::Operate, "I>"),
        signal(SignalKind::Operate, "I>"),
        signal(SignalKind::ElementQuality, "I>"),
    ];
    assert_eq!(relay.goose["D_PROT_c"].signals, expected);
    let mixed = completed.replacen("quality of 3 4", "quality of 2 4", 1);
    let problems = settings::read("relay.yaml", &mixed).expect_err("two qualities").to_string();
    assert!(problems.contains("these signals have different qualities"), "{problems}");
    assert!(problems.contains("would not be marked as a test"), "{problems}");
}

proptest::proptest! {
    #[test]
    fn whose_a_quality_is_does_not_depend_on_the_order_of_the_data_set(
        members in proptest::sample::subsequence(members_of(
            "CTRL/XCBR1 Pos stVal, CTRL/XCBR1 Pos q, CTRL/XCBR1 Pos t, XCBR1 Pos stVal, XCBR1 Pos q, \
             aXCBR1 Pos q, PTRC1 Tr general, PTRC1 Tr phsA, PTRC1 Tr phsB, PTRC1 Tr q, PTRC1 Tr t, \
             PTRC1 Op general, PTRC1 Op q, PTRC2 Tr general, PTRC2 Tr q, GGIO1 Ind1 stVal, GGIO1 Ind1 q",
        ), 1..17)
        .prop_shuffle(),
    ) {
        proptest::prop_assert_eq!(guarded(&members), by_reference(&members));
    }
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
    const ATTEMPTS: usize = 5;
    for (what, make) in kinds {
        let cost = |count: usize| {
            let text = make(count);
            cost_ns(|| {
                if let Ok(station) = scl::read(&text) {
                    let _ = from_scl(&station, &WANTED);
                }
            })
        };
        let ratio = || {
            let (less, more) = (cost(LESS), cost(LESS * TIMES));
            let ratio = more as f64 / less as f64;
            println!("{what}: {less} ns, then {more} ns: {ratio:.1} times");
            ratio
        };
        // A host that takes a processor away for a while may be counted as work, but not each time.
        let is_fair = (0..ATTEMPTS).any(|_| ratio() < 3.0 * TIMES as f64);
        assert!(is_fair, "{what}: more than three times {TIMES} for {TIMES} times as much");
    }
}
