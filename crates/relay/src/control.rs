//! A socket in the file system through which users of this host see and change the active setting
//! group: who protects what is nothing for an address that anybody can reach.
//!
//! The file belongs to the relay's user alone from its first moment (mode 0600, set before the name is
//! given), and the kernel says who asks (`SO_PEERCRED`, unix(7)): that user, or root. A request is one
//! line, so is the answer, from the thread that may block; a client that is slow is cut off.

use std::fs;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::FileTypeExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use rustix::fs::{Mode, fchmod};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, listen, socket_with,
};

use crate::group::GroupBoard;

/// How long a client may take for its request and its answer.
const CLIENT_MAX: Duration = Duration::from_millis(200);
/// How long the task may take to answer: some hundred cycles.
const TASK_MAX: Duration = Duration::from_millis(200);
const REQUEST_OCTETS_MAX: u64 = 64;
/// Begins an answer of what was done; one of what was refused begins otherwise.
const DONE: &str = "ok ";
const REFUSED: &str = "no ";

/// The socket of a relay that runs; its file goes with it.
#[derive(Debug)]
pub(crate) struct Control {
    listener: UnixListener,
    path: PathBuf,
}

impl Control {
    /// Makes the socket. A file that a relay left behind when it was killed is replaced; that of one
    /// which runs, and anything else, is not.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let shown = path.display();
        if let Ok(found) = fs::symlink_metadata(path) {
            if !found.file_type().is_socket() {
                bail!("{shown} is there and no socket: give `control` another path");
            }
            let answers = UnixStream::connect(path);
            if !answers.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
                bail!(
                    "{shown} is in use: end the relay that has it, or give `control` another path"
                );
            }
            fs::remove_file(path).with_context(|| format!("{shown} cannot be replaced"))?;
        }
        let listener = bound(path).map_err(|error| {
            let fix = "give `control` a short path in a folder that this user may write to";
            anyhow!("{shown} cannot be made ({error}): {fix}")
        })?;
        Ok(Self { listener, path: path.into() })
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
        // Who has removed it already has done the same.
        let _gone = fs::remove_file(&self.path);
    }
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
    client.set_read_timeout(Some(CLIENT_MAX))?;
    client.set_write_timeout(Some(CLIENT_MAX))?;
    let user = socket_peercred(&client)?.uid.as_raw();
    let mut request = String::new();
    BufReader::new(&client).take(REQUEST_OCTETS_MAX).read_line(&mut request)?;
    let answer = match is_allowed(user, os::namespaces::effective_user()) {
        true => answer(request.trim_end(), user, board, groups),
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
    if !board.ask(number, user) {
        return Err("another change is being asked for: try again".into());
    }
    let begin = Instant::now();
    while board.is_waiting() && begin.elapsed() < TASK_MAX {
        sleep(Duration::from_millis(1));
    }
    match (board.active(), board.selected()) {
        _ if board.is_waiting() => Err("the protection task does not answer: try again".into()),
        (active, _) if active == number => Ok(is_active(number)),
        (active, Some(selected)) => Err(format!(
            "a GOOSE message selects group {selected}: change it there; {}",
            is_active(active)
        )),
        (active, None) => Ok(format!(
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
        let mut relay = UnixStream::connect(path)?;
        relay.set_read_timeout(Some(Duration::from_secs(5)))?;
        let request = group.map_or("group\n".into(), |group| format!("group {group}\n"));
        relay.write_all(request.as_bytes())?;
        let mut answer = String::new();
        relay.take(4096).read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer: String = exchange().map_err(|error: io::Error| {
        let path = path.display();
        let fix = match error.kind() {
            ErrorKind::PermissionDenied => "become the user of the relay, or root",
            _ => "start a relay whose settings name it in `control`, or give that path",
        };
        anyhow!("no relay answers at {path} ({error}): {fix}")
    })?;
    let answer = answer.trim_end();
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
            if let Some(wish) = board.wish() {
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
        let held = |board: &GroupBoard| board.tell(1, Some(1), board.wish());
        assert!(said("group 2", held).is_err_and(|why| why.contains("GOOSE message selects")));
        let waits = |board: &GroupBoard| board.tell(1, None, board.wish());
        assert!(said("group 2", waits).is_ok_and(|said| said.contains("in 10 s at the latest")));
        assert!(said("group 2", |_| {}).is_err_and(|why| why.contains("does not answer")));
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
