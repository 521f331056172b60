//! An sshd of the test's own: on loopback, on a port of its own, with keys of its own, for this user
//! only. What the machine's own sshd does is nobody's business here.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) struct Server {
    folder: tempfile::TempDir,
    sshd: Child,
}

impl Server {
    /// Starts one; `None`, with the reason on standard error, where there is no sshd.
    pub(crate) fn start() -> Option<Self> {
        let sshd = Path::new("/usr/sbin/sshd");
        if !sshd.exists() {
            eprintln!("not tested: there is no sshd; apt-get install openssh-server");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::create_dir(path("remote")).unwrap();
        for name in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path(name))
                .status();
            assert!(made.unwrap().success());
        }
        fs::copy(path("user_key.pub"), path("authorized_keys")).unwrap();
        let mode = |path: PathBuf| fs::set_permissions(path, fs::Permissions::from_mode(0o600));
        mode(path("authorized_keys")).unwrap();
        // sshd as root wants an empty folder for itself, which the machine's own would make.
        if fs::create_dir("/run/sshd").is_ok() {
            fs::set_permissions("/run/sshd", fs::Permissions::from_mode(0o755)).unwrap();
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let shown = |name: &str| path(name).display().to_string();
        let config = format!(
            "ListenAddress 127.0.0.1:{port}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\n\
             StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n",
            shown("host_key"),
            shown("authorized_keys")
        );
        fs::write(path("sshd_config"), config).unwrap();
        let client = format!(
            "Host here\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  \
             UserKnownHostsFile {}\n  StrictHostKeyChecking accept-new\n  IdentitiesOnly yes\n\
             Host nobody\n  HostName 127.0.0.1\n  Port 1\n",
            shown("user_key"),
            shown("known_hosts")
        );
        fs::write(path("ssh_config"), client).unwrap();
        let sshd = Command::new(sshd)
            .arg("-D")
            .arg("-f")
            .arg(path("sshd_config"))
            .stdin(Stdio::null())
            .stderr(fs::File::create(path("log")).unwrap())
            .spawn()
            .unwrap();
        let mut server = Self { folder, sshd };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            let log = fs::read_to_string(server.folder.path().join("log")).unwrap();
            assert!(server.sshd.try_wait().unwrap().is_none(), "sshd ended: {log}");
            std::thread::sleep(Duration::from_millis(10));
        }
        Some(server)
    }

    /// A configuration of ssh in which the server is called `here`.
    pub(crate) fn client_config(&self) -> PathBuf {
        self.folder.path().join("ssh_config")
    }

    /// Where the far side may put the probe.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("remote")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A child that is gone needs no end.
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}
