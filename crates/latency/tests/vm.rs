//! Guests from the package of a kernel to a cell: they boot Debian's ordinary and PREEMPT_RT kernels
//! with the probe as their first program, measure idle and beside a load, and end when asked to.
//!
//! Guests that count instructions are the same whatever else this host does, so what is asserted of
//! them holds exactly: two runs are equal to the octet. How long anything took is printed, not judged.

use crate::platforms::prepare;
use crate::static_probe;
use std::io::Read as _;
use std::time::Instant;

use latency::cell::{Cell, MarkKind, Outcome};
use latency::matrix::{Accelerator, GuestKernel, VmSpec};
use latency::platform::vm::Vm;
use latency::platform::{Attended, Ending, Platform as _, Refusal, Role};
use os::process;
use probe::attend::{Load, Order};
use probe::stream::{Item, Reader};
use probe::{Cores, Kind, Plan};

fn spec(kernel: GuestKernel, accelerator: Accelerator) -> VmSpec {
    VmSpec {
        kernel,
        accelerator,
        cores: 1,
        memory_mib: 256,
        host_cores: None,
        exclusive: false,
        priority: None,
        huge_pages: false,
        lock_memory: false,
    }
}

/// A platform that is ready; `None`, with the reason on standard error, where this host has no
/// QEMU and no way to a kernel.
fn prepared(spec: &VmSpec) -> Option<(Vm, Cores)> {
    let mut vm = Vm::new(spec, &static_probe::binary());
    let cores = prepare(&mut vm)?;
    Some((vm, cores))
}

fn order(duration_ns: u64, loads: &[&str]) -> Order {
    let plan = Plan { period_ns: 1_000_000, duration_ns, ..Plan::default() };
    let words = |line: &&str| line.split(' ').map(str::to_owned).collect();
    let load = |line| Load { words: words(line), cores: vec![0] };
    Order { plan: Some(plan), loads: loads.iter().map(load).collect(), settle_ns: 50_000_000 }
}

/// Begins to carry out an order.
fn begin(vm: &mut Vm, order: &Order) -> Attended {
    vm.attend(order, Role::Measured).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// All that a guest says.
fn octets(vm: &mut Vm, order: &Order) -> (Vec<u8>, Ending) {
    let began = Instant::now();
    let attended = begin(vm, order);
    said(attended, began)
}

/// All that a guest says that was begun at this moment.
fn said(mut attended: Attended, began: Instant) -> (Vec<u8>, Ending) {
    let booted = began.elapsed();
    let mut octets = Vec::new();
    attended.stream().read_to_end(&mut octets).unwrap();
    let ending = attended.finish();
    eprintln!("a guest: booted after {booted:.1?}, off after {:.1?}", began.elapsed());
    (octets, ending)
}

fn cell(octets: &[u8], ending: &Ending) -> Cell {
    let measured = Cell::from_stream(octets, "vm", "test");
    let measured = measured.unwrap_or_else(|error| panic!("{error}: {:?}", ending.said));
    assert_eq!(measured.ended, Ok(Outcome::Finished), "{ending:?}");
    measured.cell
}

/// Boots a counted guest twice, at the same time, and gives what both said.
fn twice(kernel: GuestKernel, order: &Order) -> Option<Cell> {
    let (mut vm, _) = prepared(&spec(kernel, Accelerator::Icount))?;
    let (mut other, _) = prepared(&spec(kernel, Accelerator::Icount))?;
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| octets(&mut vm, order));
        (octets(&mut other, order), first.join().unwrap())
    });
    assert!(
        first.0 == second.0,
        "the same guest has said two things: {:?}, {:?}",
        first.1,
        second.1
    );
    assert!(first.1.loads_missing().is_empty(), "{:?}", first.1);
    let marks = vm.marks();
    assert!(marks.iter().any(|mark| mark.kind == MarkKind::Emulated), "{marks:?}");
    Some(cell(&first.0, &first.1))
}

#[test]
#[ignore = "long: it boots guests"]
fn debians_kernels_boot_and_two_runs_that_count_are_equal_to_the_octet() {
    let idle = order(200_000_000, &[]);
    let beside_hackbench = order(200_000_000, &["hackbench --loops 10000"]);
    let mut late_ns = Vec::new();
    for kernel in [GuestKernel::Stock, GuestKernel::Rt] {
        for order in [&idle, &beside_hackbench] {
            let Some(cell) = twice(kernel, order) else { return };
            says_which_kernel_it_was(&cell, kernel);
            late_ns.push(cell.threads[0].samples.distribution().max().unwrap());
        }
    }
    eprintln!("maxima, stock idle and beside hackbench, then PREEMPT_RT: {late_ns:?} ns");
    // What PREEMPT_RT is for.
    assert!(late_ns[3] < late_ns[1], "{late_ns:?}");
}

fn says_which_kernel_it_was(cell: &Cell, kernel: GuestKernel) {
    let fact = |name: &str| cell.facts[name].as_str().unwrap_or_default().to_owned();
    let is_rt = kernel == GuestKernel::Rt;
    let (release, version, line) =
        (fact("kernel_release"), fact("kernel_version"), fact("kernel_line"));
    assert_eq!(release.contains("-rt-"), is_rt, "{release}");
    assert_eq!(version.contains("PREEMPT_RT"), is_rt, "{version}");
    assert_eq!(cell.facts["realtime"].as_i64(), is_rt.then_some(1), "{:?}", cell.facts);
    assert!(line.contains(&format!("quartercycle.package=linux-image-{release}_")), "{line}");
    assert!(line.contains("quartercycle.sha256="), "{line}");
}

/// Leaves simulated lines as a measurement does that was killed, and fails if the next one does not remove
/// them: that one begins three seconds after this, of which the start of perl takes one.
const LEFT_BEHIND: &str = "my $left = '/sys/kernel/config/gpio-sim/qcprobe-999999-1'; \
     mkdir $left and mkdir qq($left/bank) or die; \
     my $live; open $live, '>', qq($left/live) and print $live 1 and close $live or die; \
     for (1..310) { last unless -d $left; select undef, undef, undef, 0.01 } \
     die if -d $left; sleep 1 while 1";

/// The kernel of a guest simulates a line, and each edge of it reaches user space with its stamp.
#[test]
#[ignore = "long: it boots guests"]
fn edges_of_a_simulated_line_are_counted_and_stamped_in_a_guest() {
    let Some((mut vm, _)) = prepared(&spec(GuestKernel::Stock, Accelerator::Icount)) else {
        return;
    };
    let plan = Plan { probe: Kind::Gpio, duration_ns: 1_000_000_000, ..Plan::default() };
    let killed =
        Load { words: ["perl", "-e", LEFT_BEHIND].map(str::to_owned).to_vec(), ..Load::default() };
    let order = Order { plan: Some(plan), loads: vec![killed], settle_ns: 3_000_000_000 };
    let began = Instant::now();
    let attended = match vm.attend(&order, Role::Measured) {
        Ok(attended) => attended,
        Err(Refusal::NotMeasured(why)) => return eprintln!("not tested: {why}"),
        Err(Refusal::Failed(error)) => panic!("{error:#}"),
    };
    let (octets, ending) = said(attended, began);
    let cell = cell(&octets, &ending);
    assert!(ending.loads_missing().is_empty(), "{ending:?}");
    let counts = &cell.threads[0].counts;
    assert_eq!((counts.taken + counts.missed, counts.lost), (1000, 0), "{counts:?}");
    assert_eq!(cell.count(), counts.taken);
    assert!(counts.taken >= 500, "{counts:?}");
    // Moments that do not lie between the write and the return of the read are none.
    let samples = Reader::new(octets.as_slice()).unwrap().flat_map(|item| match item {
        Item::Samples(block) => block.samples,
        _ => Vec::new(),
    });
    for sample in samples {
        let parts: Option<Vec<i64>> = sample.stamps.parts(sample.latency_ns, 2).collect();
        assert_eq!(parts.map(|parts| parts.iter().sum()), Some(sample.latency_ns), "{sample:?}");
    }
    let parts: Vec<_> = cell.parts.iter().map(|part| (&*part.name, part.count)).collect();
    let all = counts.taken;
    assert_eq!(parts, [("raise", all), ("receive", all), ("whole", all)]);
    eprintln!("parts, ns: {:?}", cell.parts);
    assert!(vm.marks().iter().any(|mark| mark.kind == MarkKind::Emulated));
}

/// Real programs of the profiles, with what they load of this host, on two emulated cores of which
/// each is a thread of its own here, bound, urgent, and with memory that is locked.
#[test]
#[ignore = "long: it boots guests"]
fn a_guest_has_the_loads_of_this_host_and_its_place_on_it() {
    let host = probe::cores::chosen(&probe::Host::this(), None).unwrap();
    let pinned = VmSpec {
        cores: 2,
        host_cores: Some(host.clone()),
        priority: Some(1),
        lock_memory: true,
        ..spec(GuestKernel::Rt, Accelerator::Auto)
    };
    let Some((mut vm, cores)) = prepared(&pinned) else { return };
    assert_eq!(cores.len(), 2);
    let order =
        order(200_000_000, &["stress-ng --quiet --timeout 0 --cpu 1 --io 1 --vm 1 --vm-bytes 16M"]);
    let began = Instant::now();
    let attended = begin(&mut vm, &order);
    let mut found = urgent_threads();
    found.sort_unstable();
    // Its two virtual processors, on the first cores of the host in turn.
    let turns = host.iter().collect::<Vec<_>>().into_iter().cycle().take(2);
    let mut wanted: Vec<_> = turns.map(|core| (1, core)).collect();
    wanted.sort_unstable();
    assert_eq!(found, wanted);
    let (said, ending) = said(attended, began);
    let cell = cell(&said, &ending);
    assert!(cell.count() > 0 && ending.loads_missing().is_empty(), "{ending:?}");
    // Two neighbours beside it: as many guests, each with loads only, until they are asked to end.
    let neighbour = Order { plan: None, ..order.clone() };
    let mut neighbours: Vec<_> = (0..2)
        .map(|number| vm.attend(&neighbour, Role::Neighbour(number)).unwrap_or_else(|_| panic!()))
        .collect();
    neighbours.iter_mut().for_each(Attended::stop);
    for neighbour in neighbours {
        let ending = neighbour.finish();
        assert!(ending.status.is_some_and(|status| status.success()), "{ending:?}");
        assert!(ending.loads_missing().is_empty(), "{ending:?}");
    }
}

#[test]
#[ignore = "long: a static probe is built"]
fn huge_pages_that_are_not_there_are_reported_with_the_way_to_them() {
    let huge = VmSpec {
        huge_pages: true,
        memory_mib: 1 << 20,
        ..spec(GuestKernel::Stock, Accelerator::Tcg)
    };
    let Err(Refusal::NotMeasured(why)) = Vm::new(&huge, &static_probe::binary()).prepare() else {
        panic!("no host of this test has a terabyte of huge pages")
    };
    let has_fix = why.fix.contains("vm.nr_hugepages") || why.fix.contains("qemu");
    assert!(has_fix, "{why}");
}

#[test]
#[ignore = "long: it boots guests"]
fn a_guest_ends_when_asked_to_and_leaves_nothing() {
    let Some((mut vm, _)) = prepared(&spec(GuestKernel::Stock, Accelerator::Auto)) else { return };
    let long = order(3_600_000_000_000, &["sleep 86400"]);
    let mut attended = begin(&mut vm, &long);
    let mut stream = attended.stream();
    let mut said = vec![0; 4096];
    stream.read_exact(&mut said).unwrap();
    attended.stop();
    stream.read_to_end(&mut said).unwrap();
    let ending = attended.finish();
    assert!(ending.status.is_some_and(|status| status.success()), "{ending:?}");
    let measured = Cell::from_stream(said.as_slice(), "vm", "test").unwrap();
    assert_eq!(measured.ended, Ok(Outcome::Interrupted));
    assert!(measured.cell.count() > 0 && measured.cell.is_marked(MarkKind::Cut));

    // One that nobody wants any more.
    drop(begin(&mut vm, &long));
    assert_eq!(guests(), Vec::<i32>::new());
}

/// Guests that are children of this thread, which ends them with itself.
fn guests() -> Vec<i32> {
    let own = std::fs::read_to_string("/proc/thread-self/children").unwrap();
    let children = own.split_whitespace().map(|number| number.parse().unwrap());
    children.filter(|child| process::name_of(*child).starts_with("qemu")).collect()
}

/// Priority of each thread of the guests of this thread that is of SCHED_FIFO, and the one core that it
/// is bound to.
fn urgent_threads() -> Vec<(i32, usize)> {
    let threads_of = |guest| process::threads_of(guest).into_iter().map(move |one| (guest, one));
    let urgent = guests().into_iter().flat_map(threads_of).filter_map(|(guest, thread)| {
        let stat = process::text_of(guest, thread, "stat").unwrap();
        // Behind the name: fields 40 and 41 of proc_pid_stat(5) are the priority and the class.
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let field = |number: usize| {
            fields.split_whitespace().nth(number - 3).unwrap().parse::<i32>().unwrap()
        };
        let status = process::status_of(thread);
        let allowed = process::field(&status, "Cpus_allowed_list").unwrap();
        (field(41) == libc::SCHED_FIFO)
            .then(|| (field(40), allowed.parse().expect("bound to one core")))
    });
    urgent.collect()
}
