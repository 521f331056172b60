//! The sockets of the server: one ordinary thread, which looks at all of them every few milliseconds
//! or when one has something to say. It is never waited for: what is known of the relay comes through
//! a bounded queue, and where that is full, the newest comes with the next look.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use mms::{Client, Now, Server};
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

/// The thread that serves clients, as the one that may block knows it, and what that knows of the relay.
#[derive(Debug)]
pub(crate) struct Served {
    live: Live,
    /// None when the thread is to end.
    states: Option<SyncSender<Live>>,
    /// Whether the thread does not know the newest state.
    is_behind: bool,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Starts the thread, with the relay as it is now.
    pub(crate) fn start(relay: &Relay, live: Live, listener: TcpListener) -> Result<Self> {
        let (server, bindings) = model::server(relay, &live);
        let (states, received) = sync_channel(WAITING_MAX);
        let sockets = Sockets { listener, server, bindings, clients: Vec::new() };
        let builder = Builder::new().name("mms".into()).stack_size(STACK_OCTETS);
        let thread = builder.spawn(move || sockets.run(&received)).context("thread mms")?;
        Ok(Self { live, states: Some(states), is_behind: false, thread: Some(thread) })
    }

    /// Changes what is known of the relay, and tells it where the change says that clients see it; what
    /// could not be told before is told as well.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Live) -> bool) {
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
        // What cannot be accepted now is looked at again.
        while let Ok((stream, _)) = self.listener.accept() {
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
    Ok(())
}

/// Takes in what came, and sends what waits; an error when the client is gone.
fn exchange(
    server: &mut Server,
    stream: &mut TcpStream,
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
    while !server.waiting(client).is_empty() {
        match stream.write(server.waiting(client)) {
            Ok(count) => server.sent(client, count, now),
            Err(error) => return unless_later(error),
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
