//! The sockets of the server: one ordinary thread, which looks at all of them every few milliseconds
//! or when one has something to say. It is never waited for: what is known of the relay comes through
//! a bounded queue, and where that is full, the newest comes with the next look. What one look does for
//! each client is bounded, so that none waits for another one that asks much and reads fast.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use mms::{CLIENTS_MAX, Client, Now, Server};
use realtime::time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt;
use substation::settings::Relay;

use super::live::Live;
use super::model::{self, Bindings};

/// Longest time between two looks: changes are reported within it.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
/// States of the relay that may wait for the thread.
const WAITING_MAX: usize = 256;
/// Of recursion there is little, and all of it stays in memory.
const STACK_OCTETS: usize = 512 << 10;
const READ_OCTETS: usize = 16 << 10;
/// A client that says nothing is asked whether it is still there.
const KEEP_ALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(10);
const KEEP_ALIVE_COUNT: u32 = 3;
/// What was sent must be acknowledged within so long (RFC 5482): the kernel takes much for a host that
/// is gone, and asks whether it is there only when there is nothing to send. It stands above the count of
/// questions, too (tcp(7), `TCP_USER_TIMEOUT`), so that it is as long as all of them together.
const UNACKNOWLEDGED_MS_MAX: u32 =
    KEEP_ALIVE_IDLE.as_millis() as u32 + KEEP_ALIVE_COUNT * KEEP_ALIVE_INTERVAL.as_millis() as u32;
/// Connections that one look accepts.
const ACCEPTED_MAX: usize = CLIENTS_MAX;

/// The thread that serves clients, as the one that may block knows it, and what that knows of the relay.
#[derive(Debug)]
pub struct Served {
    live: Live,
    /// None when the thread is to end.
    states: Option<SyncSender<Live>>,
    /// Whether the thread does not know the newest state.
    is_behind: bool,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Starts the thread, with the relay as it is now.
    pub fn start(relay: &Relay, live: Live, listener: TcpListener) -> Result<Self> {
        let (server, bindings) = model::server(relay, &live);
        let (states, received) = sync_channel(WAITING_MAX);
        let sockets = Sockets { listener, server, bindings, clients: Vec::new() };
        let builder = Builder::new().name("mms".into()).stack_size(STACK_OCTETS);
        let thread = builder.spawn(move || sockets.run(&received)).context("thread mms")?;
        Ok(Self { live, states: Some(states), is_behind: false, thread: Some(thread) })
    }

    /// Changes what is known of the relay, and tells it where the change says that clients see it; what
    /// could not be told before is told as well.
    pub fn change(&mut self, change: impl FnOnce(&mut Live) -> bool) {
        if change(&mut self.live) || self.is_behind {
            let is_sent = |states: &SyncSender<Live>| states.try_send(self.live.clone()).is_ok();
            self.is_behind = !self.states.as_ref().is_some_and(is_sent);
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.states = None;
        // One that has panicked has said so.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

struct Sockets {
    listener: TcpListener,
    server: Server,
    bindings: Bindings,
    clients: Vec<(TcpStream, Client)>,
}

impl Sockets {
    fn run(mut self, states: &Receiver<Live>) {
        let begin = Instant::now();
        let now = || Now { own: begin.elapsed(), realtime_ns: time::common().ns() };
        loop {
            self.wait();
            loop {
                match states.try_recv() {
                    Ok(live) => self.server.update(&self.bindings.values(&live), now()),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return,
                }
            }
            self.server.tick(now());
            self.accept(now());
            let (server, clients) = (&mut self.server, &mut self.clients);
            clients.retain_mut(|(stream, client)| {
                let is_there = exchange(server, stream, *client, now()).is_ok();
                let stays = is_there && !server.is_over(*client, now());
                if !stays {
                    server.disconnect(*client);
                }
                stays
            });
        }
    }

    /// Until a socket has something, or for one look.
    fn wait(&self) {
        let mut sockets = vec![PollFd::new(&self.listener, PollFlags::IN)];
        for (stream, client) in &self.clients {
            let mut what = PollFlags::empty();
            what.set(PollFlags::IN, self.server.takes_more(*client));
            what.set(PollFlags::OUT, !self.server.waiting(*client).is_empty());
            sockets.push(PollFd::new(stream, what));
        }
        // A signal ends the wait early, which is no harm.
        let _interrupted = poll(&mut sockets, Some(&LOOK));
    }

    fn accept(&mut self, now: Now) {
        for _ in 0..ACCEPTED_MAX {
            // What cannot be accepted now is looked at again.
            let Ok((stream, _)) = self.listener.accept() else { return };
            // One too many is closed at once, and so is one that left already.
            if prepare(&stream).is_ok()
                && let Some(client) = self.server.connect(now)
            {
                self.clients.push((stream, client));
            }
        }
    }
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)?;
    sockopt::set_socket_keepalive(stream, true)?;
    sockopt::set_tcp_keepidle(stream, KEEP_ALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(stream, KEEP_ALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(stream, KEEP_ALIVE_COUNT)?;
    sockopt::set_tcp_user_timeout(stream, UNACKNOWLEDGED_MS_MAX)?;
    Ok(())
}

/// Takes in what came, and sends what waits, each with one call; an error when the client is gone.
fn exchange(
    server: &mut Server,
    stream: &mut (impl Read + Write),
    client: Client,
    now: Now,
) -> io::Result<()> {
    let mut octets = [0; READ_OCTETS];
    if server.takes_more(client) {
        match stream.read(&mut octets) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => server.receive(client, &octets[..count], now),
            Err(error) => unless_later(error)?,
        }
    }
    if !server.waiting(client).is_empty() {
        match stream.write(server.waiting(client)) {
            Ok(count) => server.sent(client, count, now),
            Err(error) => unless_later(error)?,
        }
    }
    Ok(())
}

fn unless_later(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(()),
        _ => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mms::{Identity, Model};
    use std::net::Ipv4Addr;

    /// A connect request of transport class 0, which is confirmed with as many octets.
    const CONNECT: [u8; 11] = [3, 0, 0, 11, 6, 0xe0, 0, 0, 0, 1, 0];

    fn empty_server() -> Server {
        Server::new(Identity::default(), Model::new("LD0", Vec::new(), Vec::new()), &[])
    }

    fn listener() -> TcpListener {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        listener.set_nonblocking(true).expect("an option");
        listener
    }

    fn connect(listener: &TcpListener) -> TcpStream {
        TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens")
    }

    /// A socket that has something to read, and takes some octets with each call.
    struct Narrow {
        calls: usize,
    }

    impl Read for Narrow {
        fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
            octets[..CONNECT.len()].copy_from_slice(&CONNECT);
            Ok(CONNECT.len())
        }
    }

    impl Write for Narrow {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            self.calls += 1;
            Ok(4)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn one_look_writes_to_a_client_once() {
        let (mut server, now) = (empty_server(), Now::default());
        let client = server.connect(now).expect("there is room");
        let mut socket = Narrow { calls: 0 };
        exchange(&mut server, &mut socket, client, now).expect("it is there");
        assert_eq!((socket.calls, server.waiting(client).len()), (1, CONNECT.len() - 4));
    }

    #[test]
    fn one_look_accepts_no_more_than_all_places() {
        let (server, listener, bindings) = (empty_server(), listener(), Bindings::default());
        let _clients: Vec<_> = (0..=ACCEPTED_MAX).map(|_| connect(&listener)).collect();
        let mut sockets = Sockets { listener, server, bindings, clients: Vec::new() };
        sockets.accept(Now::default());
        assert_eq!(sockets.clients.len(), CLIENTS_MAX);
        assert!(sockets.listener.accept().is_ok(), "the last one waits for another look");
    }

    #[test]
    fn a_client_whose_host_is_gone_is_given_up() {
        let listener = listener();
        let stream = connect(&listener);
        prepare(&stream).expect("options");
        assert!(sockopt::socket_keepalive(&stream).expect("it is there"));
        // Not before it has let all questions pass unanswered, nor later when there is something to send.
        let [idle, interval] = [sockopt::tcp_keepidle(&stream), sockopt::tcp_keepintvl(&stream)];
        let [idle, interval] = [idle, interval].map(|span| span.expect("it is there"));
        let asked = idle + interval * sockopt::tcp_keepcnt(&stream).expect("it is there");
        let unacknowledged_ms = sockopt::tcp_user_timeout(&stream).expect("it is there");
        assert_eq!(Duration::from_millis(unacknowledged_ms.into()), asked);
        assert_eq!(asked, Duration::from_secs(60));
    }
}
