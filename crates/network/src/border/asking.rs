//! Questions to other hosts and from them: what [`hosts::Questions`] decides, for threads that ask and answer.
//!
//! The network's thread only passes them on. Whoever asks waits in a thread of its own, and so does whoever answers.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use domain::host_now;
use hosts::Questions;
use hosts::questions::{Piece, Question, Refused, Wrong};
use hosts::words::Word;
use os::wake::Wake;
use parking_lot::Mutex;
use vtime::{HostSpan, HostTime};

use super::BEAT;

/// A host of which nothing was heard for so long is silent; one that works says something each [`BEAT`].
const SILENT_AFTER: HostSpan = HostSpan::from_ns(10 * BEAT.as_ns());

/// An answer, or in a sentence why there is none.
type Answer = Result<Vec<u8>, String>;

/// Another host has asked this one something.
#[derive(Debug)]
pub struct Asked {
    /// The number of that host.
    pub from: usize,
    number: u64,
    pub octets: Vec<u8>,
}

/// Where other hosts are asked, and answered, from any thread.
#[derive(Debug)]
pub struct OtherHosts {
    wake: Wake,
    to_say: Mutex<ToSay>,
    hosts: Vec<Known>,
    /// Why a host was lost without which the others do not go on, if one was.
    lost: Mutex<Option<String>>,
}

/// What any thread knows of another host.
#[derive(Debug)]
struct Known {
    name: String,
    /// When something was heard of it last, as host time.
    heard_at: AtomicI64,
    /// It is out of the run.
    is_out: AtomicBool,
}

#[derive(Debug, Default)]
struct ToSay {
    questions: Vec<(usize, Vec<u8>, Sender<Answer>)>,
    answers: Vec<(usize, u64, Vec<u8>)>,
    is_over: bool,
}

impl OtherHosts {
    /// Asks these hosts at the same time, and waits for each until it has answered, is lost, or this time is over; without
    /// one, as long as it takes. What they say is in the order of `hosts`.
    pub fn ask(&self, hosts: &[usize], octets: &[u8], longest: Option<Duration>) -> Vec<Answer> {
        let until = longest.map(|longest| (longest, Instant::now() + longest));
        let answers: Vec<_> = {
            let mut to_say = self.to_say.lock();
            let is_over = to_say.is_over;
            let asked = hosts.iter().map(|&host| {
                let (sender, answer) = channel();
                if !is_over {
                    to_say.questions.push((host, octets.to_vec(), sender));
                }
                answer
            });
            asked.collect()
        };
        self.wake.wake();
        let answered = hosts.iter().zip(answers);
        answered.map(|(&host, answer)| self.wait(host, &answer, until)).collect()
    }

    /// Whether a host is one of the run, which it is not any more once it is lost.
    pub fn is_there(&self, host: usize) -> bool {
        self.hosts.get(host).is_some_and(|known| !known.is_out.load(Ordering::Relaxed))
    }

    /// Answers what this host was asked.
    pub fn answer(&self, asked: &Asked, octets: Vec<u8>) {
        self.to_say.lock().answers.push((asked.from, asked.number, octets));
        self.wake.wake();
    }

    /// Why nothing more comes of anything: as a host is lost, if one is.
    pub fn why_over(&self) -> String {
        let over = "the run is over";
        self.lost.lock().as_ref().map_or_else(|| over.to_owned(), |why| format!("{over}: {why}"))
    }

    fn wait(
        &self,
        host: usize,
        answer: &Receiver<Answer>,
        until: Option<(Duration, Instant)>,
    ) -> Answer {
        let over = || Err(self.why_over());
        let Some((longest, until)) = until else {
            return answer.recv().unwrap_or_else(|_| over());
        };
        match answer.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Disconnected) => over(),
            Err(RecvTimeoutError::Timeout) => Err(self.why_silent(host, longest)),
        }
    }

    fn why_silent(&self, host: usize, longest: Duration) -> String {
        let Known { name, heard_at, .. } = &self.hosts[host];
        let silence = host_now() - HostTime::from_ns(heard_at.load(Ordering::Relaxed));
        if silence >= SILENT_AFTER {
            let ms = silence.as_ns() / 1_000_000;
            return format!("nothing was heard of host `{name}` for {ms} ms");
        }
        format!("host `{name}` is there, but its agent has not answered for {longest:?}")
    }

    pub(super) fn end(&self) {
        *self.to_say.lock() = ToSay { is_over: true, ..ToSay::default() };
    }
}

/// Those who wait for answers, in the network's thread.
#[derive(Debug)]
pub(super) struct Asking {
    questions: Questions,
    others: Arc<OtherHosts>,
    waiting: BTreeMap<(usize, u64), Sender<Answer>>,
    asked: Sender<Asked>,
    /// Why hosts are lost.
    lost: BTreeMap<usize, String>,
}

impl Asking {
    /// Between hosts of these names; `asked` is told what others ask.
    pub(super) fn new(names: Vec<String>, asked: Sender<Asked>, now: HostTime) -> io::Result<Self> {
        let questions = Questions::new(names.len());
        let known = |name| Known {
            name,
            heard_at: AtomicI64::new(now.as_ns()),
            is_out: AtomicBool::new(false),
        };
        let hosts = names.into_iter().map(known).collect();
        let others = OtherHosts {
            wake: Wake::new()?,
            to_say: Mutex::default(),
            hosts,
            lost: Mutex::default(),
        };
        let (waiting, lost) = (BTreeMap::new(), BTreeMap::new());
        Ok(Self { questions, others: Arc::new(others), waiting, asked, lost })
    }

    pub(super) fn others(&self) -> Arc<OtherHosts> {
        Arc::clone(&self.others)
    }

    pub(super) fn descriptor(&self) -> BorrowedFd<'_> {
        self.others.wake.as_fd()
    }

    /// Something has come from a host.
    pub(super) fn heard(&self, host: usize, now: HostTime) {
        self.others.hosts[host].heard_at.store(now.as_ns(), Ordering::Relaxed);
    }

    /// A host is out of the run, for this reason.
    pub(super) fn is_out(&mut self, host: usize, why: &str) {
        self.others.hosts[host].is_out.store(true, Ordering::Relaxed);
        self.lost(host, why);
        // The others go on.
        *self.others.lost.lock() = None;
    }

    /// A host does not do as it should, or is lost: nobody waits for it, and who asks it is told why.
    pub(super) fn lost(&mut self, host: usize, why: &str) {
        self.others.lost.lock().get_or_insert_with(|| why.to_owned());
        let why = self.lost.entry(host).or_insert_with(|| why.to_owned());
        self.waiting.retain(|(of, _), waiting| {
            if *of == host {
                // Whoever has asked may be gone.
                let _ = waiting.send(Err(why.clone()));
            }
            *of != host
        });
    }

    pub(super) fn was_asked(&mut self, from: usize, question: Question) -> Result<(), Wrong> {
        self.questions.was_asked(from, &question)?;
        let Question { number, octets } = question;
        // Who answers may be gone, at the end of a run.
        let _ = self.asked.send(Asked { from, number, octets });
        Ok(())
    }

    pub(super) fn was_answered(&mut self, from: usize, piece: Piece) -> Result<(), Wrong> {
        if let Some((number, octets)) = self.questions.was_answered(from, piece)?
            && let Some(waiting) = self.waiting.remove(&(from, number))
        {
            // Whoever has asked may have given up.
            let _ = waiting.send(match octets.is_empty() {
                true => Err(format!("{} has more to say than fits", self.name(from))),
                false => Ok(octets),
            });
        }
        Ok(())
    }

    /// What is to be said now, and to whom.
    pub(super) fn step(&mut self) -> Vec<(usize, Word)> {
        self.others.wake.clear();
        let (questions, answers) = {
            let mut to_say = self.others.to_say.lock();
            (std::mem::take(&mut to_say.questions), std::mem::take(&mut to_say.answers))
        };
        let mut says = Vec::new();
        for (host, octets, waiting) in questions {
            if let Some(why) = self.lost.get(&host) {
                // Whoever has asked may be gone, here and below.
                let _ = waiting.send(Err(why.clone()));
                continue;
            }
            match self.questions.ask(host, octets) {
                Ok(question) => {
                    self.waiting.insert((host, question.number), waiting);
                    says.push((host, Word::Question(question)));
                }
                Err(refused) => {
                    let name = self.name(host);
                    let _ = waiting.send(Err(match refused {
                        Refused::TooLong => format!("the request is too long for {name}"),
                        Refused::TooMany => {
                            format!("{name} has not answered the last requests; wait and try again")
                        }
                    }));
                }
            }
        }
        for (host, number, octets) in answers {
            let pieces = self.questions.answer(host, number, &octets);
            says.extend(pieces.into_iter().map(|piece| (host, Word::Answer(piece))));
        }
        says
    }

    /// Nobody is answered any more.
    pub(super) fn end(&mut self) {
        self.others.end();
        self.waiting.clear();
    }

    fn name(&self, host: usize) -> String {
        format!("host `{}`", self.others.hosts[host].name)
    }
}
