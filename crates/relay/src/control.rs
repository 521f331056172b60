//! A socket in the file system through which users of this host see and change the active setting
//! group: who protects what is nothing for an address that anybody can reach.
//!
//! The file belongs to the relay's user alone from its first moment (mode 0600, set before the name is
//! given), and the kernel says who asks (`SO_PEERCRED`, unix(7)): that user, or root. A request is one
//! line, so is the answer, from the thread that may block; a client that is slow is cut off.
//!
//! Of relays that are given the same path the first has it: a file beside it (`.lock`) is locked while
//! a relay runs (flock(2)), and by no relay that was killed.

mod lock;

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::fs::{Mode, fchmod};
use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

use crate::group::GroupBoard;
use lock::{Inode, Lock};

/// How long a client may take for its request and its answer.
const CLIENT_MAX: Duration = Duration::from_millis(200);
/// How long the task may take to answer: some hundred cycles.
const TASK_MAX: Duration = Duration::from_millis(200);
/// How long a client waits, for its turn and for the answer.
const RELAY_MAX: Duration = Duration::from_secs(5);
const REQUEST_OCTETS_MAX: usize = 64;
const ANSWER_OCTETS_MAX: usize = 4096;
/// Begins an answer of what was done; one of what was refused begins otherwise.
const DONE: &str = "ok ";
const REFUSED: &str = "no ";

/// The socket of a relay that runs; its file goes with it.
#[derive(Debug)]
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
    inode: Inode,
    _lock: Lock,
}

impl Control {
    /// Makes the socket. A file that a relay left behind when it was killed is replaced; that of one
    /// which runs, and anything else, is not.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        let unmade = |error: io::Error| {
            let fix = "give `control` a short path in a folder that this user may write to";
            anyhow!("{shown} cannot be made ({error}): {fix}")
        };
        let in_use = || {
            anyhow!("{shown} is in use: end the relay that has it, or give `control` another path")
        };
        let lock = Lock::take(path).map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => in_use(),
            _ => unmade(error),
        })?;
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                bail!("{shown} is there and no socket: give `control` another path");
            }
            // Another program that listens there knows nothing of the lock.
            let answers = connect(path, CLIENT_MAX);
            if !answers.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                return Err(in_use());
            }
            fs::remove_file(path).with_context(|| format!("{shown} cannot be replaced"))?;
        }
        let listener = bound(path).map_err(unmade)?;
        let inode = Inode::of(&fs::symlink_metadata(path).map_err(unmade)?);
        Ok(Self { listener, path: path.into(), inode, _lock: lock })
    }

    /// Answers one waiting client, if there is one.
    pub(crate) fn serve(&self, board: &GroupBoard, groups: u8) {
        if let Ok((client, _)) = self.listener.accept() {
            // A client that leaves is none of ours.
            let _left = serve_one(client, board, groups);
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.inode.remove(&self.path);
    }
}

/// Connects to a relay, waiting so long for a place among those that it has not yet accepted: as long
/// as a socket may take to send (`SO_SNDTIMEO`, socket(7)).
fn connect(path: &Path, within: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(within))?;
    let address = SocketAddrUnix::new(path)?;
    // With a timeout, whoever was stopped and goes on is interrupted too (signal(7)).
    retry_on_intr(|| rustix::net::connect(&socket, &address))?;
    Ok(socket.into())
}

/// A line that comes as a whole within a time, without its end.
fn line(from: &UnixStream, octets_max: usize, within: Duration) -> io::Result<String> {
    let end = Instant::now() + within;
    let mut line = Vec::new();
    while line.len() < octets_max && line.last() != Some(&b'\n') {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        from.set_read_timeout(Some(left))?;
        let mut octet = [0];
        match (&*from).read(&mut octet) {
            Ok(0) => break,
            Ok(_) => line.extend(octet),
            // With a timeout, whoever was stopped and goes on is interrupted too (signal(7)).
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    String::from_utf8(line.trim_ascii_end().into()).map_err(io::Error::other)
}

fn bound(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    listen(&socket, 4)?;
    Ok(socket.into())
}

fn serve_one(client: UnixStream, board: &GroupBoard, groups: u8) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_write_timeout(Some(CLIENT_MAX))?;
    let user = socket_peercred(&client)?.uid.as_raw();
    let request = line(&client, REQUEST_OCTETS_MAX, CLIENT_MAX)?;
    let answer = match is_allowed(user, os::namespaces::effective_user()) {
        true => answer(&request, user, board, groups),
        false => Err(format!("user {user} may not: become the user of the relay, or root")),
    };
    let (begin, text) = match answer {
        Ok(text) => (DONE, text),
        Err(text) => (REFUSED, text),
    };
    (&client).write_all(format!("{begin}{text}\n").as_bytes())
}

const fn is_allowed(user: u32, own: u32) -> bool {
    user == own || user == 0
}

/// What is answered to a request: what holds, or why it was refused.
fn answer(request: &str, user: u32, board: &GroupBoard, groups: u8) -> Result<String, String> {
    let is_active = |group| format!("group {group} of {groups} is active");
    if request == "group" {
        return Ok(is_active(board.active()));
    }
    let number = request.strip_prefix("group ").and_then(|number| number.parse::<u8>().ok());
    let number = number.ok_or("it is not understood: use `qcrelay group` of the same version")?;
    if !(1..=groups).contains(&number) {
        return Err(format!("there is no group {number}: the groups are 1 to {groups}"));
    }
    let Some(wish) = board.ask(number, user) else {
        return Err("another change is being asked for: try again".into());
    };
    let begin = Instant::now();
    while board.is_waiting() && begin.elapsed() < TASK_MAX {
        sleep(Duration::from_millis(1));
    }
    if board.withdraw(wish) {
        return Err("the protection task does not answer, and nothing is changed: try again".into());
    }
    if board.is_waiting() {
        return Err("the protection task is in a long cycle: ask which group is active".into());
    }
    match (board.active(), board.selected()) {
        (active, _) if active == number => Ok(is_active(number)),
        (active, Some(selected)) if selected != number => Err(format!(
            "a GOOSE message selects group {selected}: change it there; {}",
            is_active(active)
        )),
        (active, _) => Ok(format!(
            "group {number} follows when no element sees a fault whose settings differ, in {} s at \
             the latest; {}",
            substation::engine::WAIT_MAX.as_secs(),
            is_active(active)
        )),
    }
}

/// Asks the relay that has this socket for its active group, or for another one; answers what it
/// said, or why it refused.
///
/// # Errors
/// When no relay answers there.
pub(crate) fn ask(path: &Path, group: Option<u8>) -> Result<Result<String, String>> {
    let exchange = || {
        let relay = connect(path, RELAY_MAX)?;
        let request = group.map_or("group\n".into(), |group| format!("group {group}\n"));
        (&relay).write_all(request.as_bytes())?;
        line(&relay, ANSWER_OCTETS_MAX, RELAY_MAX)
    };
    let answer: String = exchange().map_err(|error: io::Error| {
        let path = path.display();
        let fix = match error.kind() {
            ErrorKind::PermissionDenied => "become the user of the relay, or root",
            _ => "start a relay whose settings name it in `control`, or give that path",
        };
        anyhow!("no relay answers at {path} ({error}): {fix}")
    })?;
    match (answer.strip_prefix(DONE), answer.strip_prefix(REFUSED)) {
        (Some(done), _) => Ok(Ok(done.into())),
        (_, Some(why)) => Ok(Err(why.into())),
        _ => bail!("{} is not the socket of a relay: give that of one", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::thread::scope;

    use super::*;
    use crate::group::By;

    /// What a relay whose task answers so says to a request.
    fn said(request: &str, task: impl Fn(&GroupBoard) + Sync) -> Result<String, String> {
        let board = GroupBoard::default();
        board.tell(1, None, None);
        scope(|scope| {
            let answered = scope.spawn(|| answer(request, 7, &board, 3));
            while !answered.is_finished() {
                task(&board);
                sleep(Duration::from_millis(1));
            }
            answered.join().expect("it does not panic")
        })
    }

    #[test]
    fn answers_say_what_holds() {
        let obeys = |board: &GroupBoard| {
            if let Some(wish) = board.take() {
                assert_eq!(wish.of().1, By::User(7));
                board.tell(wish.of().0, None, Some(wish));
            }
        };
        assert_eq!(said("group", obeys).as_deref(), Ok("group 1 of 3 is active"));
        assert_eq!(said("group 3", obeys).as_deref(), Ok("group 3 of 3 is active"));
        for (request, words) in [
            ("group 4", "the groups are 1 to 3"),
            ("group 0", "the groups are 1 to 3"),
            ("group 256", "not understood"),
            ("", "not understood"),
            ("trip Q0", "not understood"),
        ] {
            let why = said(request, obeys).expect_err(request);
            assert!(why.contains(words), "{request}: {why}");
        }
        let held = |board: &GroupBoard| board.tell(1, Some(1), board.take());
        assert!(said("group 2", held).is_err_and(|why| why.contains("GOOSE message selects")));
        let follows = "in 10 s at the latest";
        let waits = |board: &GroupBoard| board.tell(1, None, board.take());
        assert!(said("group 2", waits).is_ok_and(|said| said.contains(follows)));
        // What a message selects already, and what is awaited because of it, is no contradiction.
        let agrees = |board: &GroupBoard| board.tell(1, Some(2), board.take());
        assert!(said("group 2", agrees).is_ok_and(|said| said.contains(follows)));
    }

    #[test]
    fn what_the_task_does_not_answer_does_not_happen_later() {
        let board = GroupBoard::default();
        assert!(
            answer("group 2", 7, &board, 3).is_err_and(|why| why.contains("nothing is changed"))
        );
        assert_eq!(board.take(), None);
        let takes = |board: &GroupBoard| {
            board.take();
        };
        assert!(said("group 2", takes).is_err_and(|why| why.contains("ask which group is active")));
    }

    #[test]
    fn a_client_has_one_deadline_for_all_that_it_sends() {
        let (mut client, relay) = UnixStream::pair().expect("a pair");
        scope(|scope| {
            let read = scope.spawn(|| line(&relay, 500, Duration::from_millis(50)));
            // An octet each 20 ms would keep a limit of each read from ending it.
            while !read.is_finished() {
                client.write_all(b"g").expect("it is open");
                sleep(Duration::from_millis(20));
            }
            let read = read.join().expect("it does not panic");
            assert!(read.is_err(), "it was cut off before it had sent all octets");
        });
    }

    #[test]
    fn a_request_ends_with_its_line() {
        let (mut client, relay) = UnixStream::pair().expect("a pair");
        client.write_all(b"group 2\nmore").expect("it is open");
        let read = line(&relay, REQUEST_OCTETS_MAX, Duration::from_secs(60));
        assert_eq!(read.expect("it comes"), "group 2");
    }

    #[test]
    fn a_relay_that_accepts_nobody_is_not_waited_for_for_ever() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control");
        let _listener = bound(&path).expect("it binds");
        let mut waiting = Vec::new();
        let refused = loop {
            match connect(&path, Duration::from_millis(10)) {
                Ok(client) if waiting.len() < 100 => waiting.push(client),
                refused => break refused,
            }
        };
        assert_eq!(refused.map_err(|error| error.kind()).err(), Some(ErrorKind::WouldBlock));
    }

    #[test]
    fn a_path_of_which_another_relay_is_making_its_socket_is_in_use() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control");
        // As after SIGKILL, and another relay has seen so just now.
        drop(UnixListener::bind(&path).expect("it binds"));
        let other = Lock::take(&path).expect("nobody has it");
        let error = Control::open(&path).expect_err("it has the lock").to_string();
        assert!(error.contains("is in use: end the relay"), "{error}");
        assert!(path.exists(), "it is left to the other");
        drop(other);
        Control::open(&path).expect("it is free again");
    }

    #[test]
    fn of_relays_that_start_together_one_has_the_socket() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control");
        for _ in 0..20 {
            // As after SIGKILL.
            drop(UnixListener::bind(&path).expect("it binds"));
            let opened: Vec<_> = scope(|scope| {
                let open = || scope.spawn(|| Control::open(&path));
                let threads: Vec<_> = (0..4).map(|_| open()).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            assert_eq!(opened.iter().filter(|opened| opened.is_ok()).count(), 1);
            assert!(connect(&path, CLIENT_MAX).is_ok(), "and it is the one that is there");
            drop(opened);
            assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 0);
        }
    }

    #[test]
    fn a_relay_removes_no_socket_but_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control");
        let control = Control::open(&path).expect("it is free");
        fs::remove_file(&path).expect("it is there");
        let _other = UnixListener::bind(&path).expect("it binds");
        drop(control);
        assert!(path.exists());
    }

    #[test]
    fn the_relays_user_and_root_may_ask() {
        let allowed = [(7, 7), (0, 7), (7, 0), (8, 7)].map(|(user, own)| is_allowed(user, own));
        assert_eq!(allowed, [true, true, false, false]);
    }

    #[test]
    fn a_file_that_was_left_is_replaced_and_another_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("control");
        // As after SIGKILL: a socket whose listener is gone.
        drop(UnixListener::bind(&path).expect("it binds"));
        assert!(
            ask(&path, None).is_err_and(|error| error.to_string().contains("no relay answers"))
        );
        let control = Control::open(&path).expect("it replaces what was left");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let second = Control::open(&path).expect_err("another one has it").to_string();
        assert!(second.contains("is in use: end the relay"), "{second}");
        drop(control);
        assert!(!path.exists(), "it goes with the relay");
        fs::write(&path, "a text").expect("it writes");
        let error = Control::open(&path).expect_err("a file").to_string();
        assert!(error.contains("no socket: give `control` another path"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "a text");
        let error = Control::open(&folder.path().join("no/folder")).expect_err("no folder");
        assert!(error.to_string().contains("cannot be made"), "{error}");
    }
}
