"""The Linux Test Project's tests of system calls, and the Open POSIX suite that comes with it.

Both are under the GPL and no part of this project: `LTPROOT` names the folder into which LTP was
installed, `OPEN_POSIX_TESTSUITE` the one that holds its folder `conformance`. Where one is not
there, its suites are not run, and the page says so.

Which tests there are is read from those folders: LTP lists its own in `runtest`, the programs of
Open POSIX end in `.run-test`. Each tells by its exit code how it went.
"""

import os
import shlex
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from . import outcomes
from .suites import Run, Suite

EACH = Path(__file__).parent / "each.sh"
# What one test may take, and one suite; the longest test takes three minutes.
TEST_LONGEST_S = 300
SUITE_LONGEST_S = 3600

# Files below `runtest` in which LTP lists what is run here.
RUNTEST = ["syscalls", "timers"]

# Nobody may set the clock in virtual time; natively a test that does would set the host's. So all
# run without the right to. What System V's queues are called, and the host, is each run's own.
APART = ["unshare", "--ipc", "--uts"]
NO_CLOCK = ["setpriv", "--bounding-set=-sys_time", "--inh-caps=-sys_time"]

# Suite -> patterns of its tests. A test belongs to the first suite that has it.
LTP = {
    "timing": """
        adjtimex* alarm* clock_* epoll_pwait* epoll_wait* futex_wait* getitimer* gettimeofday*
        io_getevents* io_pgetevents* leapsec* mq_timed* nanosleep* poll0* ppoll* pselect* recvmmsg*
        rt_sigtimedwait* sched_rr_get_interval* select* semop* semtimedop* setitimer* settimeofday*
        sigtimedwait* sigwait* stime* sysinfo* time0* timer_* timerfd* times*
    """,
    "signals": """
        abort* kill* pause* pidfd_send_signal* rt_sig* rt_tgsigqueueinfo* sgetmask* sig* ssetmask*
        tgkill* tkill*
    """,
    "processes": """
        clone* execl* execv* exit* fork* getpgid* getpgrp* getpid* getppid* getpriority* getrlimit*
        getrusage* getsid* gettid* kcmp* nice* personality* pidfd_* prctl* process_vm* ptrace*
        sched_get* sched_set* sched_yield* seccomp* set_robust_list* set_tid_address* setpgid*
        setpgrp* setpriority* setrlimit* setsid* vfork* wait*
    """,
    "queues": "futex_* mq_* msgctl* msgget* msgrcv* msgsnd* semctl* semget* shm*",
    "descriptors": """
        close* dup* epoll* eventfd* fcntl* flock* inotify* memfd_* pipe* pread* preadv* pwrite*
        pwritev* read0* readv* sendfile* splice* tee* utime* vmsplice* write*
    """,
    "sockets": """
        accept* bind* connect* getpeername* getsockname* getsockopt* listen* recv* send* setsockopt*
        socket* sockioctl*
    """,
}
OPEN_POSIX = {
    "timing": "alarm* asctime* clock* ctime* difftime* gmtime* localtime* mktime* nanosleep* sleep* "
    "strftime* time*",
    "signals": "kill* pthread_kill* pthread_sigmask* raise* sig*",
    "threads": "pthread_*",
    "queues": "mq_* sem_*",
    "scheduling": "sched_*",
    "memory": "mlock* mmap* munlock* munmap* msync* shm_*",
    "others": "*",
}
# LTP's tests that are not run, and why.
LEFT_OUT = {
    "fork13*": "forks a million times, which takes hours",
    "msgstress*": "loads the whole machine for minutes, and tells nothing of time",
}

HOW_TO = (
    "build the Linux Test Project from its sources (`make autotools`, `./configure{option}`, `make`, "
    "`make install`; it is under the GPL, so no part of this project) and name {what} with "
    "`{variable}`"
)


def all_suites(environment: Mapping[str, str] = os.environ) -> list[Suite]:
    """All suites of both, in the order in which they run."""
    # Tests run elsewhere, so a path from here would lead nowhere.
    root = Path(environment.get("LTPROOT", "/opt/ltp")).absolute()
    posix = posix_folder(environment.get("OPEN_POSIX_TESTSUITE"), root)
    kinds = {"ltp": LTP, "open-posix": OPEN_POSIX}
    return [suite(kind, name, root, posix) for kind, names in kinds.items() for name in names]


def version(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Which LTP is there, if it is."""
    file = Path(environment.get("LTPROOT", "/opt/ltp")) / "Version"
    return {"LTP": file.read_text().strip()} if file.is_file() else {}


def posix_folder(named: str | None, root: Path) -> Path:
    """The folder that holds Open POSIX's `conformance`. LTP has installed it in two ways."""
    if named is not None:
        return Path(named).absolute()
    beside = root / "testcases/open_posix_testsuite"
    return beside if (beside / "conformance").is_dir() else root


def suite(kind: str, name: str, root: Path, posix: Path) -> Suite:
    """The tests of one group."""
    commands: Callable[[], dict[str, str]]
    if kind == "ltp":
        missing, groups, meaning = ltp_missing(root), LTP, outcomes.of_ltp_code
        commands = partial(ltp_commands, root)
    else:
        missing, groups, meaning = posix_missing(posix), OPEN_POSIX, outcomes.of_posix_code
        commands = partial(posix_commands, posix)

    def own() -> dict[str, str]:
        return {test: line for test, line in commands().items() if group_of(test, groups) == name}

    def build(scratch: Path) -> None:
        # Some tests become another user, who has to reach their files.
        scratch.chmod(0o711)

    def run(tests: list[str], scratch: Path) -> Run:
        chosen = {test: line for test, line in own().items() if not tests or test in tests}
        todo = scratch / "tests"
        todo.write_text("".join(f"{test} {line}\n" for test, line in chosen.items()))
        command = [*APART, *NO_CLOCK, "sh", str(EACH), str(todo), str(TEST_LONGEST_S)]
        environment = {
            "LTPROOT": str(root),
            "LTP_COLORIZE_OUTPUT": "n",
            "PATH": f"{os.environ.get('PATH', os.defpath)}:{root / 'testcases/bin'}",
        }
        read = partial(outcomes.of_exit_codes, meaning=meaning)
        return Run(command, scratch, environment, read, longest_s=SUITE_LONGEST_S)

    if not missing and not own():
        missing = f"there are no such tests in `{root if kind == 'ltp' else posix}`"
    return Suite(f"{kind}/{name}", run, build, missing=missing)


def ltp_missing(root: Path) -> str:
    """Why LTP's tests cannot be run; empty if they can."""
    absent = [name for name in (f"runtest/{RUNTEST[0]}", "testcases/bin") if not (root / name).exists()]
    if not absent:
        return ""
    how = HOW_TO.format(option="", what="the folder that it is installed in", variable="LTPROOT")
    return f"there is no `{absent[0]}` in `{root}`: {how}"


def posix_missing(folder: Path) -> str:
    """Why Open POSIX's tests cannot be run; empty if they can."""
    if posix_commands(folder):
        return ""
    option = " --with-open-posix-testsuite"
    what = "the folder that holds its `conformance`"
    how = HOW_TO.format(option=option, what=what, variable="OPEN_POSIX_TESTSUITE")
    return f"there is no program `*.run-test` below `{folder / 'conformance'}`: {how}"


def ltp_commands(root: Path) -> dict[str, str]:
    """Test -> shell command, from lines `TEST COMMAND` of LTP's lists."""
    found: dict[str, str] = {}
    for name in RUNTEST:
        file = root / "runtest" / name
        for line in file.read_text().splitlines() if file.is_file() else []:
            test, _, command = line.strip().replace("\t", " ").partition(" ")
            is_left_out = any(fnmatchcase(test, pattern) for pattern in LEFT_OUT)
            if command and not test.startswith("#") and not is_left_out:
                found.setdefault(test, command.strip())
    return found


def posix_commands(folder: Path) -> dict[str, str]:
    """Test -> shell command, by the files that are there."""
    files = sorted((folder / "conformance").rglob("*.run-test"))
    return {file.stem: shlex.quote(str(file)) for file in files}


def group_of(test: str, groups: dict[str, str]) -> str | None:
    """The first group that has a test."""
    has = (name for name in groups if any(fnmatchcase(test, p) for p in groups[name].split()))
    return next(has, None)
