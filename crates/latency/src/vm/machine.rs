//! A virtual machine as arguments of QEMU: a decision, taken without touching anything.
//!
//! The guest's virtual serial port is QEMU's standard output and input, so that the program that starts it
//! holds the stream of the probe in hand; the console of the guest is its standard error.
//!
//! Under **emulation by count** (QEMU's icount) a guest instruction takes 2^[`SHIFT`] ns, whatever
//! the host does meanwhile, and while the guest sleeps its clock leaps. Two runs are then equal to
//! the octet. Its times are a model's, without caches or other cores: they tell one kernel from
//! another and one load from another, and are no machine's.
//!
//! qemu-system-x86_64(1); `docs/devel/tcg-icount.rst` of QEMU.

use std::os::fd::RawFd;

use probe::init;

use super::kernel::{Kernel, Origin};

/// Of the processor's time at which an instruction counts, 2^n ns: 125 million a second.
const SHIFT: u32 = 3;
/// The kernel of a guest, without modules, and the probe need less.
pub(crate) const MEMORY_MIB_MIN: u64 = 128;

/// How instructions of the guest are carried out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Execution {
    /// By the processor itself (KVM).
    Kvm,
    /// By translation (TCG), in host time.
    Emulated,
    /// By translation, in a time that counts instructions; one core.
    Counted,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Machine {
    pub execution: Execution,
    /// Its virtual processors; one if it is counted.
    pub cores: usize,
    pub memory_mib: u64,
    pub huge_pages: bool,
    pub lock_memory: bool,
}

impl Machine {
    /// The arguments of QEMU for a kernel, a first file system and a connection to its monitor, the
    /// latter two as descriptors that it inherits. It waits for `cont` before the first instruction.
    pub(crate) fn arguments(&self, kernel: &Kernel, files: RawFd, monitor: RawFd) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut option = |name: &str, value: String| all.extend([name.to_owned(), value]);
        option("-machine", self.machine());
        option("-cpu", self.processor().to_owned());
        option("-smp", self.cores.to_string());
        option("-m", format!("{}M", self.memory_mib));
        if self.huge_pages {
            let size = self.memory_mib;
            let memory =
                format!("memory-backend-memfd,id=memory,size={size}M,hugetlb=on,prealloc=on");
            option("-object", memory);
        }
        if self.lock_memory {
            option("-overcommit", "mem-lock=on".to_owned());
        }
        if self.execution == Execution::Counted {
            option("-icount", format!("shift={SHIFT},sleep=off"));
            option("-rtc", "base=2020-01-01T00:00:00,clock=vm".to_owned());
            option("-seed", "1".to_owned());
        }
        option("-display", "none".to_owned());
        option("-chardev", "file,id=console,path=/dev/fd/2,append=on".to_owned());
        option("-serial", "chardev:console".to_owned());
        option("-chardev", "stdio,id=port,signal=off".to_owned());
        // Handled by the virtual processor that writes, not some time later by another thread: what
        // a guest sees must not depend on the host.
        let at_once = if self.execution == Execution::Counted { ",ioeventfd=off" } else { "" };
        option("-device", format!("virtio-serial-pci,max_ports=2{at_once}"));
        option("-device", format!("virtserialport,id=port,chardev=port,name={}", init::PORT));
        option("-chardev", format!("socket,id=monitor,fd={monitor}"));
        option("-mon", "chardev=monitor,mode=control".to_owned());
        option("-kernel", kernel.image.display().to_string());
        option("-initrd", format!("/dev/fd/{files}"));
        option("-append", kernel_line(&kernel.origin));
        all.extend(["-nodefaults", "-no-user-config", "-no-reboot", "-S"].map(str::to_owned));
        all
    }

    fn machine(&self) -> String {
        let accelerator = match self.execution {
            Execution::Kvm => "kvm",
            Execution::Emulated | Execution::Counted => "tcg",
        };
        let memory = if self.huge_pages { ",memory-backend=memory" } else { "" };
        format!("q35,accel={accelerator}{memory}")
    }

    fn processor(&self) -> &'static str {
        match self.execution {
            Execution::Kvm => "host",
            Execution::Emulated => "max",
            // Without instructions that give random numbers.
            Execution::Counted => "qemu64,-rdrand,-rdseed",
        }
    }
}

/// A kernel that panics ends its guest, and nothing is laid out at random. Where the kernel is from
/// stands there as well, as parameters that no kernel knows: the probe tells its line, and so each
/// result has it.
fn kernel_line(origin: &Origin) -> String {
    format!(
        "console=ttyS0 quiet panic=-1 nokaslr norandmaps random.trust_cpu=off \
         quartercycle.package={} quartercycle.sha256={} rdinit={} -- init",
        origin.package,
        origin.sha256,
        init::PROGRAM
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(execution: Execution) -> Machine {
        Machine { execution, cores: 2, memory_mib: 512, huge_pages: false, lock_memory: false }
    }

    fn line(machine: &Machine) -> String {
        let origin = Origin {
            metapackage: "linux-image-rt-amd64".to_owned(),
            package: "linux-image-1.0-rt-amd64_1.0-1_amd64.deb".to_owned(),
            sha256: "0123".to_owned(),
        };
        let kernel = Kernel { image: "/vmlinuz".into(), modules: Vec::new(), origin };
        machine.arguments(&kernel, 5, 6).join(" ")
    }

    #[test]
    fn only_a_counted_guest_has_a_clock_of_its_own() {
        let counted = line(&machine(Execution::Counted));
        for option in ["-icount shift=3,sleep=off", "clock=vm", "-seed 1", "ioeventfd=off"] {
            assert!(counted.contains(option), "{option}: {counted}");
            assert!(!line(&machine(Execution::Emulated)).contains(option), "{option}");
        }
    }

    #[test]
    fn accelerator_and_memory_are_as_asked() {
        assert!(line(&machine(Execution::Kvm)).contains("-machine q35,accel=kvm -cpu host"));
        let huge = Machine { huge_pages: true, lock_memory: true, ..machine(Execution::Kvm) };
        let line = line(&huge);
        assert!(line.contains("accel=kvm,memory-backend=memory"), "{line}");
        assert!(line.contains("size=512M,hugetlb=on") && line.contains("mem-lock=on"), "{line}");
        assert!(line.contains("-initrd /dev/fd/5") && line.contains("fd=6"), "{line}");
    }

    #[test]
    fn each_result_can_tell_where_its_kernel_is_from() {
        let line = line(&machine(Execution::Counted));
        let (kernel, init) = line.split_once(" rdinit=/qcprobe -- init").unwrap();
        assert!(kernel.contains("package=linux-image-1.0-rt-amd64_1.0-1_amd64.deb"), "{kernel}");
        assert!(kernel.contains("sha256=0123") && !init.contains("quartercycle"), "{line}");
    }
}
