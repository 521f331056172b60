//! A lab of the test's own: network namespaces on one bridge, each with an sshd, and a desk from which they are
//! reached. All of it is gone with the test, whatever becomes of that.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::guests::is_there;
use crate::common::patience::within;

const SSHD: &str = "/usr/sbin/sshd";
/// How long an sshd may take to listen.
const LISTEN_LONGEST: Duration = Duration::from_secs(20);

pub(crate) struct Lab {
    folder: tempfile::TempDir,
    /// Processes that keep the namespaces: the desk, then the hosts.
    keepers: Vec<Child>,
    servers: Vec<Child>,
}

impl Lab {
    /// One with so many hosts; `None`, and a word about it, where that cannot be made.
    pub(crate) fn new(hosts: usize) -> Option<Self> {
        if !os::namespaces::is_root() {
            println!("not run: only root may do what this test does");
            return None;
        }
        if !["ip", "nsenter", "ssh", "ssh-keygen", SSHD].into_iter().all(is_there) {
            return None;
        }
        let folder = tempfile::Builder::new().prefix("qcycle-lab-").tempdir().unwrap();
        let keepers = (0..=hosts).map(|_| keeper()).collect();
        let mut lab = Self { folder, keepers, servers: Vec::new() };
        if !lab.has_bridge() {
            println!("not run: this kernel has no bridge");
            return None;
        }
        lab.connect();
        lab.make_keys();
        for host in 1..=hosts {
            let server = lab.serve(host);
            lab.servers.push(server);
        }
        for host in 1..=hosts {
            within(LISTEN_LONGEST, "its sshd does not listen", || lab.listens(host));
        }
        Some(lab)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where qcycle lies on a host while it runs there.
    pub(crate) fn folder_of(&self, host: usize) -> PathBuf {
        self.path().join(format!("host-{host}"))
    }

    /// What is left on a host.
    pub(crate) fn left_on(&self, host: usize) -> Vec<PathBuf> {
        let all =
            |folder: &str| fs::read_dir(self.folder_of(host).join(folder)).into_iter().flatten();
        let left = all("tmp").chain(all("sockets/quartercycle"));
        left.flatten().map(|entry| entry.path()).collect()
    }

    /// What whoever logs in at a host runs first, where the shell is bash.
    pub(crate) fn at_login(&self, host: usize, commands: &str) {
        fs::write(self.folder_of(host).join(".bashrc"), commands).unwrap();
    }

    /// The line of a host in a scenario.
    pub(crate) fn yaml(&self, host: usize) -> String {
        let tmp = self.folder_of(host).join("tmp");
        let config = self.path().join("ssh_config");
        format!(
            "  h{host}: {{ssh: h{host}, config: {}, folder: {}}}\n",
            config.display(),
            tmp.display()
        )
    }

    /// A command at the desk.
    pub(crate) fn at_desk(&self, command: &Command) -> Command {
        self.inside(0, command)
    }

    /// A command in the network of a host, 0 for the desk.
    pub(crate) fn inside(&self, host: usize, command: &Command) -> Command {
        let mut inside = Command::new("nsenter");
        inside.arg("--target").arg(self.keepers[host].id().to_string()).args(["--net", "--"]);
        inside.arg(command.get_program()).args(command.get_args());
        inside.env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside.stdin(Stdio::null());
        inside
    }

    /// Cuts a host off from all others, or connects it again.
    pub(crate) fn cut(&self, host: usize, is_cut: bool) {
        let state = if is_cut { "down" } else { "up" };
        self.ip(0, &format!("link set to-h{host} {state}"));
    }

    fn ip(&self, host: usize, arguments: &str) {
        let mut ip = Command::new("ip");
        ip.args(arguments.split(' '));
        assert!(self.with_path(host, ip).status().unwrap().success(), "ip {arguments}");
    }

    fn with_path(&self, host: usize, mut command: Command) -> Command {
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        self.inside(host, &command)
    }

    fn has_bridge(&self) -> bool {
        let mut ip = Command::new("ip");
        ip.args(["link", "add", "br0", "type", "bridge"]);
        self.with_path(0, ip).status().is_ok_and(|status| status.success())
    }

    fn connect(&self) {
        for line in ["address add 10.1.0.1/24 dev br0", "link set br0 up", "link set lo up"] {
            self.ip(0, line);
        }
        for host in 1..self.keepers.len() {
            let process = self.keepers[host].id();
            self.ip(0, &format!("link add to-h{host} type veth peer name eth0 netns {process}"));
            self.ip(0, &format!("link set to-h{host} master br0 up"));
            self.ip(host, "link set lo up");
            self.ip(host, &format!("address add 10.1.0.{}/24 dev eth0", 10 + host));
            self.ip(host, "link set eth0 up");
        }
    }

    fn make_keys(&self) {
        let path = |name: &str| self.path().join(name);
        for name in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path(name))
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(path("user_key.pub"), path("authorized_keys")).unwrap();
        fs::set_permissions(path("authorized_keys"), fs::Permissions::from_mode(0o600)).unwrap();
        let hosts = (1..self.keepers.len())
            .map(|host| format!("Host h{host}\n  HostName 10.1.0.{}\n", 10 + host));
        let config = format!(
            "{}Host *\n  User root\n  IdentityFile {}\n  UserKnownHostsFile {}\n  StrictHostKeyChecking accept-new\n  \
             IdentitiesOnly yes\n",
            hosts.collect::<String>(),
            path("user_key").display(),
            path("known_hosts").display()
        );
        fs::write(path("ssh_config"), config).unwrap();
        fs::write(path("banner"), "For members of the lab.\n").unwrap();
        // sshd as root wants an empty folder for itself, which the machine's own would make.
        if fs::create_dir("/run/sshd").is_ok() {
            fs::set_permissions("/run/sshd", fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn serve(&self, host: usize) -> Child {
        let folder = self.folder_of(host);
        for part in ["tmp", "sockets"] {
            fs::create_dir_all(folder.join(part)).unwrap();
        }
        fs::set_permissions(folder.join("sockets"), fs::Permissions::from_mode(0o700)).unwrap();
        let path = |name: &str| self.path().join(name).display().to_string();
        // Each has sockets of its own, as each machine has.
        let config = format!(
            "ListenAddress 10.1.0.{}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin yes\nBanner {}\nSetEnv XDG_RUNTIME_DIR={} PATH={} HOME={}\n",
            10 + host,
            path("host_key"),
            path("authorized_keys"),
            path("banner"),
            folder.join("sockets").display(),
            self.search_path(),
            folder.display()
        );
        fs::write(folder.join("sshd_config"), config).unwrap();
        let mut sshd = Command::new(SSHD);
        sshd.arg("-D").arg("-f").arg(folder.join("sshd_config"));
        let mut sshd = self.with_path(host, sshd);
        sshd.stderr(fs::File::create(folder.join("sshd.log")).unwrap());
        die_with_the_test(&mut sshd);
        sshd.spawn().unwrap()
    }

    fn search_path(&self) -> String {
        let tools =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin").canonicalize().unwrap();
        format!("{}:{}", tools.display(), std::env::var("PATH").unwrap_or_default())
    }

    fn listens(&self, host: usize) -> bool {
        let mut ss = Command::new("ss");
        ss.args(["-Hltn", "sport = :22"]);
        let listening = self.with_path(host, ss).output().unwrap().stdout;
        !listening.is_empty()
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for process in self.servers.iter_mut().chain(&mut self.keepers) {
            // One that is gone needs no end.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A process in a network namespace of its own.
fn keeper() -> Child {
    let mut keeper = Command::new("unshare");
    keeper.args(["--net", "sleep", "1d"]).stdin(Stdio::null());
    die_with_the_test(&mut keeper);
    let keeper = keeper.spawn().unwrap();
    let own = fs::read_link("/proc/self/ns/net").unwrap();
    let its = format!("/proc/{}/ns/net", keeper.id());
    within(LISTEN_LONGEST, "no namespace is made", || {
        fs::read_link(&its).is_ok_and(|its| its != own)
    });
    keeper
}

fn die_with_the_test(command: &mut Command) {
    // SAFETY: asks the kernel for a signal at the death of the thread that started it, between fork and exec.
    unsafe {
        command.pre_exec(|| match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        });
    }
}
