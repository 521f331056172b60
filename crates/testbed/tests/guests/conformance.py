"""The guest of the conformance suite in Python: what the interpreter waits with, and calls by
ctypes. Says "ready" when it is about to wait, waits when its gate is closed, and helpers act when
its trigger is, as the guest in C does.

    conformance.py list
    conformance.py call CONDITION CALL PHASE
"""

import asyncio
import ctypes
import errno
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import threading
import time

SHORT_S = 0.24
LONG_S = 1000.0
GATE, TRIGGER = 8, 9

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


class Timespec(ctypes.Structure):
    """struct timespec"""

    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class Wait:
    """One wait as it happens: what is asked for, and what a helper needs to end it."""

    def __init__(self):
        self.asked_s = 0.0
        self.reader, self.writer = socket.socketpair()
        self.lock = threading.Lock()
        self.lock.acquire()
        self.event = threading.Event()
        self.condition = threading.Condition()
        self.queue = queue.Queue()
        self.word = ctypes.c_uint32(0)


def by_sleep(wait):
    time.sleep(wait.asked_s)
    return False


def by_lock(wait):
    return wait.lock.acquire(timeout=wait.asked_s)


def by_event(wait):
    return wait.event.wait(wait.asked_s)


def by_condition(wait):
    with wait.condition:
        return wait.condition.wait(wait.asked_s)


def wake_condition(wait):
    while True:
        with wait.condition:
            wait.condition.notify()
        os.sched_yield()


def by_queue(wait):
    try:
        return wait.queue.get(timeout=wait.asked_s)
    except queue.Empty:
        return False


def by_select(wait):
    return bool(select.select([wait.reader], [], [], wait.asked_s)[0])


def by_poll(wait):
    poll = select.poll()
    poll.register(wait.reader, select.POLLIN)
    return bool(poll.poll(wait.asked_s * 1000))


def by_epoll(wait):
    with select.epoll() as epoll:
        epoll.register(wait.reader, select.EPOLLIN)
        return bool(epoll.poll(wait.asked_s))


def by_socket(wait):
    wait.reader.settimeout(wait.asked_s)
    try:
        return bool(wait.reader.recv(1))
    except TimeoutError:
        return False


def by_asyncio(wait):
    async def read():
        reader, _ = await asyncio.open_connection(sock=wait.reader)
        return await reader.read(1)

    async def wait_for():
        try:
            return bool(await asyncio.wait_for(read(), wait.asked_s))
        except TimeoutError:
            return False

    return asyncio.run(wait_for())


def by_timer(wait):
    timer = threading.Timer(wait.asked_s, wait.event.set)
    timer.daemon = True
    timer.start()
    wait.event.wait()
    return False


def by_process(wait):
    child = subprocess.Popen(["cat"], stdin=wait.reader, stdout=subprocess.DEVNULL)
    wait.reader.close()
    try:
        child.wait(wait.asked_s)
        return True
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False


def by_setitimer(wait):
    signal.setitimer(signal.ITIMER_REAL, wait.asked_s)
    return signal.sigwait({signal.SIGALRM}) != signal.SIGALRM


def by_sigtimedwait(wait):
    return signal.sigtimedwait({signal.SIGUSR2}, wait.asked_s) is not None


def checked(result, *over):
    if result >= 0:
        return result > 0
    if ctypes.get_errno() in over:
        return False
    raise OSError(ctypes.get_errno(), "call")


def span(wait):
    return Timespec(int(wait.asked_s), int(wait.asked_s % 1 * 1_000_000_000))


def until(wait, clock):
    ns = time.clock_gettime_ns(clock) + int(wait.asked_s * 1_000_000_000)
    return Timespec(*divmod(ns, 1_000_000_000))


def by_nanosleep(wait):
    return checked(libc.syscall(35, ctypes.byref(span(wait)), None))


def by_clock_nanosleep(wait):
    time_up = until(wait, time.CLOCK_REALTIME)
    call = libc.syscall(230, time.CLOCK_REALTIME, 1, ctypes.byref(time_up), None)
    return checked(call)


def by_futex(wait):
    word, time_up = ctypes.byref(wait.word), span(wait)
    call = libc.syscall(202, word, 0, 0, ctypes.byref(time_up), None, 0)
    # EAGAIN: somebody was there before the wait.
    checked(call, errno.ETIMEDOUT, errno.EAGAIN)
    return wait.word.value != 0


def by_futex_bitset(wait):
    word, time_up = ctypes.byref(wait.word), until(wait, time.CLOCK_REALTIME)
    call = libc.syscall(202, word, 9 | 256, 0, ctypes.byref(time_up), None, ctypes.c_uint32(-1))
    checked(call, errno.ETIMEDOUT, errno.EAGAIN)
    return wait.word.value != 0


def wake_futex(wait):
    wait.word.value = 1
    libc.syscall(202, ctypes.byref(wait.word), 1, 1, None, None, 0)


def write(wait):
    wait.writer.send(b"x")


# Name, the wait, what ends it.
CALLS = [
    ("nanosleep", by_nanosleep, None),
    ("clock_nanosleep REALTIME ABSTIME", by_clock_nanosleep, None),
    ("futex WAIT", by_futex, wake_futex),
    ("futex WAIT_BITSET REALTIME", by_futex_bitset, wake_futex),
    ("select", by_select, write),
    ("poll", by_poll, write),
    ("epoll_wait", by_epoll, write),
    ("rt_sigtimedwait", by_sigtimedwait, lambda wait: os.kill(os.getpid(), signal.SIGUSR2)),
    ("setitimer", by_setitimer, None),
    ("its sleep", by_sleep, None),
    ("its lock", by_lock, lambda wait: wait.lock.release()),
    ("its condition", by_condition, wake_condition),
    ("its event or context", by_event, lambda wait: wait.event.set()),
    ("its queue or channel", by_queue, lambda wait: wait.queue.put(True)),
    ("its socket with a time limit", by_socket, write),
    ("its timer", by_timer, None),
    ("its event loop", by_asyncio, write),
    ("its wait for a child", by_process, lambda wait: wait.writer.close()),
]

CLOCKS = {
    "clock_gettime REALTIME": lambda: time.clock_gettime_ns(time.CLOCK_REALTIME),
    "clock_gettime MONOTONIC": lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC),
    "clock_gettime MONOTONIC_RAW": lambda: time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW),
    "clock_gettime BOOTTIME": lambda: time.clock_gettime_ns(time.CLOCK_BOOTTIME),
    "clock_gettime TAI": lambda: time.clock_gettime_ns(time.CLOCK_TAI),
    "clock_gettime REALTIME, by call": lambda: by_call(time.CLOCK_REALTIME),
    "clock_gettime MONOTONIC, by call": lambda: by_call(time.CLOCK_MONOTONIC),
    "clock_gettime BOOTTIME, by call": lambda: by_call(time.CLOCK_BOOTTIME),
    "its clock": time.perf_counter_ns,
}


def by_call(clock):
    now = Timespec()
    libc.syscall(228, clock, ctypes.byref(now))
    return now.seconds * 1_000_000_000 + now.nanoseconds


def advances(read):
    a, first, b = time.monotonic_ns(), read(), time.monotonic_ns()
    time.sleep(0.12)
    c, last, d = time.monotonic_ns(), read(), time.monotonic_ns()
    if c - b < 120_000_000:
        return "a sleep in between is early"
    if last - first + 100_000 < c - b:
        return "too slow"
    return "too fast" if last - first - 100_000 > d - a else "gets on as CLOCK_MONOTONIC does"


def act(name, phase):
    def say(text):
        os.write(1, f"{name}\t{phase}\t{text}\n".encode())

    def ready():
        say("ready")
        os.read(GATE, 1)

    if phase == "read":
        ready()
        say(advances(CLOCKS[name]))
        return
    function, wake = next(call[1:] for call in CALLS if call[0] == name)
    wait = Wait()
    if phase == "woken":
        def help_out():
            os.read(TRIGGER, 1)
            wake(wait)

        threading.Thread(target=help_out, daemon=True).start()
    ready()
    wait.asked_s = SHORT_S if phase == "timeout" else LONG_S
    begin = time.monotonic_ns()
    outcome = "gets it" if function(wait) else "time is over"
    waited_s = (time.monotonic_ns() - begin) / 1e9
    early = "early: " if phase == "timeout" and waited_s < wait.asked_s else ""
    say(early + outcome)


def in_condition(condition, name, phase):
    own = [sys.executable, os.path.abspath(__file__), "call", "plain", name, phase]
    if condition == "exec":
        os.execv(own[0], own)
    elif condition == "fork":
        child = os.fork()
        if child == 0:
            act(name, phase)
            os._exit(0)
        sys.exit(os.waitpid(child, 0)[1] != 0)
    elif condition == "vfork":
        sys.exit(subprocess.run(own, close_fds=False, check=False).returncode)
    elif condition == "thread":
        thread = threading.Thread(target=act, args=(name, phase))
        thread.start()
        thread.join()
    else:
        act(name, phase)


def listed():
    for name, _, wake in CALLS:
        print(f"{name}\ttimeout")
        if wake:
            print(f"{name}\twoken")
    for name in CLOCKS:
        print(f"{name}\tread")


if __name__ == "__main__":
    # Taken by those who wait for a signal.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGUSR2})
    if sys.argv[1] == "list":
        listed()
    else:
        in_condition(*sys.argv[2:5])
        sys.stdout.flush()
        os._exit(0)
