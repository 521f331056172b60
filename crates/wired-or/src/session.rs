//! One guest at a socket: what QEMU and the guest's driver say goes to the wire, and what the wire answers into the
//! memory of whichever guest it is for.
//!
//! The guest's driver is not trusted: what it hands over wrongly is given back or left alone. QEMU 7.2 does not
//! let a guest know that the device has interrupts (VIRTIO_GPIO_F_IRQ), so the driver has to use its second
//! queue without asking.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vhost::vhost_user::message::{VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use vhost_user_backend::{VhostUserBackendMut, VringRwLock, VringT};
use virtio_queue::{DescriptorChain, QueueOwnedT as _};
use vm_memory::{
    Bytes as _, GuestAddress, GuestAddressSpace as _, GuestMemoryAtomic, GuestMemoryLoadGuard,
    GuestMemoryMmap,
};
use vmm_sys_util::epoll::EventSet;
use vmm_sys_util::event::{
    EventConsumer, EventFlag, EventNotifier, new_event_consumer_and_notifier,
};

use crate::protocol::{self, REQUEST_SIZE, Request, WATCH_SIZE};
use crate::wire::{Answer, LINES, Wire};

/// The queue of requests, and that of the buffers for interrupts.
const QUEUES: usize = 2;
const REQUESTS: u16 = 0;
const EVENTS: u16 = 1;
const QUEUE_SIZE_MAX: usize = 256;
/// `VIRTIO_F_VERSION_1`.
const VERSION_1: u64 = 1 << 32;
/// `VIRTIO_GPIO_F_IRQ`.
const INTERRUPTS: u64 = 1;

type Memory = GuestMemoryAtomic<GuestMemoryMmap>;
type Chain = DescriptorChain<GuestMemoryLoadGuard<GuestMemoryMmap>>;

/// A buffer in the memory of a guest: where its queue has it, and where the octet for the answer is.
#[derive(Clone, Copy, Debug)]
struct Buffer {
    head: u16,
    status: GuestAddress,
}

/// Where the answers for a guest go.
struct Guest {
    memory: Memory,
    events: VringRwLock,
}

struct State {
    wire: Wire<Buffer>,
    /// Those whose driver has begun to watch lines.
    guests: Vec<Option<Guest>>,
}

/// The wire, which all sessions share.
#[derive(Clone)]
pub(crate) struct Shared(Arc<Mutex<State>>);

impl Shared {
    /// A wire between guests, with its idle level.
    pub(crate) fn new(guests: usize, idle_high: bool) -> Self {
        let wire = Wire::new(guests, idle_high);
        let guests = (0..guests).map(|_| None).collect();
        Self(Arc::new(Mutex::new(State { wire, guests })))
    }

    /// A guest is gone.
    pub(crate) fn leave(&self, guest: usize) {
        let mut state = self.lock();
        state.guests[guest] = None;
        let answers = state.wire.leave(guest);
        state.deliver(answers);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn deliver(&self, answers: Vec<Answer<Buffer>>) {
        for Answer { guest, buffer, is_edge } in answers {
            // A guest that has left meanwhile is owed nothing.
            if let Some(Guest { memory, events }) = &self.guests[guest] {
                let wrote = memory.memory().write_obj(u8::from(is_edge), buffer.status);
                finish(events, buffer.head, wrote.map_or(0, |()| 1));
            }
        }
    }
}

/// Gives a buffer back. One that the queue does not know any more is nobody's.
fn finish(queue: &VringRwLock, head: u16, written: u32) {
    if queue.add_used(head, written).is_ok() {
        // A guest that cannot be interrupted looks by itself.
        let _ = queue.signal_used_queue();
    }
}

/// A guest's end of the wire, as QEMU and the guest's driver see it.
pub(crate) struct Session {
    guest: usize,
    shared: Shared,
    memory: Memory,
}

impl Session {
    /// The end of one of the guests, and the memory that QEMU is going to share.
    pub(crate) fn new(guest: usize, shared: Shared, memory: Memory) -> Self {
        Self { guest, shared, memory }
    }

    fn chains(&self, queue: &VringRwLock) -> Vec<Chain> {
        let memory = self.memory.memory();
        let mut queue = queue.get_mut();
        let chains = queue.get_queue_mut().iter(memory);
        chains.map(Iterator::collect).unwrap_or_default()
    }

    fn answer_requests(&self, queue: &VringRwLock) {
        for chain in self.chains(queue) {
            let head = chain.head_index();
            let memory = self.memory.memory();
            let written = places::<REQUEST_SIZE>(&chain).and_then(|(octets, answer_at)| {
                let answer = protocol::encode_answer(self.carry_out(octets));
                memory.write_slice(&answer, answer_at).ok()?;
                u32::try_from(answer.len()).ok()
            });
            finish(queue, head, written.unwrap_or(0));
        }
    }

    fn carry_out(&self, octets: [u8; REQUEST_SIZE]) -> Option<u8> {
        let (line, request) = Request::decode(octets)?;
        let mut state = self.shared.lock();
        let (value, answers) = state.wire.request(self.guest, line, request);
        state.deliver(answers);
        value
    }

    fn queue_buffers(&self, queue: &VringRwLock) {
        let mut state = self.shared.lock();
        state.guests[self.guest] =
            Some(Guest { memory: self.memory.clone(), events: queue.clone() });
        for chain in self.chains(queue) {
            let head = chain.head_index();
            let Some((octets, status)) = places::<WATCH_SIZE>(&chain) else {
                finish(queue, head, 0);
                continue;
            };
            let line = u16::from_le_bytes(octets);
            let answer = state.wire.queue(self.guest, line, Buffer { head, status });
            state.deliver(answer.into_iter().collect());
        }
    }
}

/// What a guest says in the first descriptor of a chain, and where it wants the answer.
fn places<const SIZE: usize>(chain: &Chain) -> Option<([u8; SIZE], GuestAddress)> {
    let asked = chain.clone().readable().next()?;
    let answer = chain.clone().writable().next()?;
    let mut octets = [0; SIZE];
    if (asked.len() as usize) < SIZE {
        return None;
    }
    chain.memory().read_slice(&mut octets, asked.addr()).ok()?;
    Some((octets, answer.addr()))
}

impl VhostUserBackendMut for Session {
    type Bitmap = ();
    type Vring = VringRwLock;

    fn num_queues(&self) -> usize {
        QUEUES
    }

    fn max_queue_size(&self) -> usize {
        QUEUE_SIZE_MAX
    }

    fn features(&self) -> u64 {
        VERSION_1 | INTERRUPTS | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }

    fn protocol_features(&self) -> VhostUserProtocolFeatures {
        VhostUserProtocolFeatures::CONFIG | VhostUserProtocolFeatures::MQ
    }

    fn set_event_idx(&mut self, _enabled: bool) {}

    fn get_config(&self, offset: u32, size: u32) -> Vec<u8> {
        let config = protocol::encode_config(LINES);
        let rest = config.iter().skip(offset as usize).copied().chain(std::iter::repeat(0));
        rest.take(size as usize).collect()
    }

    fn update_memory(&mut self, memory: Memory) -> io::Result<()> {
        self.memory = memory;
        Ok(())
    }

    fn exit_event(&self, _thread_index: usize) -> Option<(EventConsumer, EventNotifier)> {
        new_event_consumer_and_notifier(EventFlag::NONBLOCK).ok()
    }

    fn handle_event(
        &mut self,
        queue: u16,
        _events: EventSet,
        queues: &[VringRwLock],
        _thread: usize,
    ) -> io::Result<()> {
        match queue {
            REQUESTS => self.answer_requests(&queues[0]),
            EVENTS => self.queue_buffers(&queues[1]),
            other => return Err(io::Error::other(format!("the device has no queue {other}"))),
        }
        Ok(())
    }
}
