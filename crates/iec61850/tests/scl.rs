//! Files of a substation that are wrong or hostile are refused, and none costs more work than its
//! length warrants. What becomes of good ones: `scl` in the tests of `substation`.

use iec61850::scl::{self, Station, Wanted};

const WANTED: Wanted<'static> = Wanted { frequency_hz: 50.0, own: None };

#[test]
fn what_is_no_scl_or_means_harm_is_refused() {
    let laughs = "<!DOCTYPE x [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;'>]><SCL>&b;</SCL>";
    let outside = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><SCL>&a;</SCL>";
    let deep = format!("{}{}", "<SCL>".repeat(300_000), "</SCL>".repeat(300_000));
    let open = "<SCL>".repeat(300_000);
    for text in ["", "SCL", "<SCL>", "<html/>", laughs, outside, &open] {
        assert!(scl::read(text).is_err(), "{}", &text[..text.len().min(60)]);
    }
    assert_eq!(scl::read(&deep), Ok(Station::default()), "depth alone costs nothing");
    let long = format!("<SCL>{}</SCL>", " ".repeat(scl::OCTETS_MAX));
    assert!(scl::read(&long).is_err_and(|error| error.to_string().contains("give one of at most")));
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
                    let _ = scl::settings(&station, &WANTED);
                }
            })
        };
        let (less, more) = (cost(LESS), cost(LESS * TIMES));
        let ratio = more as f64 / less as f64;
        println!("{what}: {less} ns, then {more} ns: {ratio:.1} times");
        assert!(ratio < 3.0 * TIMES as f64, "{what}: {ratio:.1} times for {TIMES} times as much");
    }
}
