/* Waits in a clock that jumps over idle time: none may be early, none may be lost, and no wake-up of
 * one wait may be noticed by another call. Prints what was wrong, and nothing but "done" otherwise.
 * The first argument is what to do. */
#include "guest.h"

#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <setjmp.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/un.h>

#define DAY (86400ll * BILLION)

extern char **environ;

static int failed;

static void wrong(const char *what, int64_t found, int64_t expected)
{
	printf("%s: %lld, not %lld, errno %d\n", what, (long long)found, (long long)expected, errno);
	failed = 1;
}

static void expect(const char *what, int64_t found, int64_t expected)
{
	if (found != expected)
		wrong(what, found, expected);
}

/* An hour more is a wait that was woken by another one. */
static int64_t late_at_most = 3600 * BILLION;
/* How many waits are over, as others see it. */
static _Atomic int waits;

/* It has taken as long as this: never less. */
static void took(const char *what, int64_t begun, int64_t ns)
{
	int64_t passed = now_ns(CLOCK_MONOTONIC) - begun;
	if (passed < ns || passed > ns + late_at_most)
		wrong(what, passed, ns);
	waits++;
}

static void on_signal(int signal)
{
	(void)signal;
}

static void handle(int signal, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	sigaction(signal, &action, NULL);
}

static void alarm_in(int64_t ns)
{
	struct itimerval in = { .it_value = { ns / BILLION, ns % BILLION / 1000 } };
	setitimer(ITIMER_REAL, &in, NULL);
}

static void wait_by_clocks(int64_t ns)
{
	static const int clocks[] = { CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_TAI };
	struct timespec span = span_of(ns);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	expect("nanosleep", nanosleep(&span, NULL), 0);
	took("nanosleep", begun, ns);
	for (size_t at = 0; at < COUNT(clocks); at++) {
		begun = now_ns(CLOCK_MONOTONIC);
		expect("relative", clock_nanosleep(clocks[at], 0, &span, NULL), 0);
		took("relative", begun, ns);
		begun = now_ns(CLOCK_MONOTONIC);
		struct timespec until = span_of(now_ns(clocks[at]) + ns);
		expect("absolute", clock_nanosleep(clocks[at], TIMER_ABSTIME, &until, NULL), 0);
		took("absolute", begun, ns);
	}
}

static void wait_for_descriptors(int64_t ns)
{
	struct timespec span = span_of(ns);
	struct timeval coarse = { ns / BILLION, ns % BILLION / 1000 };
	struct epoll_event event;
	int queue = epoll_create1(0), none[2];
	expect("pipe", pipe(none), 0);
	struct pollfd one = { .fd = none[0], .events = POLLIN };
	fd_set set;
	int64_t begun = now_ns(CLOCK_MONOTONIC);
#define WAIT(call) \
	do { \
		begun = now_ns(CLOCK_MONOTONIC); \
		expect(#call, call, 0); \
		took(#call, begun, ns); \
	} while (0)
	WAIT(poll(&one, 1, ns / MS));
	span = span_of(ns);
	WAIT(ppoll(&one, 1, &span, NULL));
	FD_ZERO(&set);
	FD_SET(none[0], &set);
	WAIT(select(none[0] + 1, &set, NULL, NULL, &coarse));
	FD_ZERO(&set);
	FD_SET(none[0], &set);
	WAIT(pselect(none[0] + 1, &set, NULL, NULL, &span, NULL));
	WAIT(epoll_wait(queue, &event, 1, ns / MS));
	WAIT(epoll_pwait(queue, &event, 1, ns / MS, NULL));
#ifdef SYS_epoll_pwait2
	WAIT((int)syscall(SYS_epoll_pwait2, queue, &event, 1, &span, NULL, 0));
#endif
	close(none[0]), close(none[1]), close(queue);
}

#define FAILS(call, error) \
	do { \
		begun = now_ns(CLOCK_MONOTONIC), errno = 0; \
		expect(#call, call, -1); \
		expect(#call, errno, error); \
		took(#call, begun, ns); \
	} while (0)

static void *hold_lock(void *lock)
{
	pthread_mutex_lock(lock);
	while (lock)
		pause();
	return NULL;
}

static void wait_by_futexes(int64_t ns)
{
	uint32_t word = 0;
	struct timespec span = span_of(ns), until;
	int64_t begun;
	FAILS(syscall(SYS_futex, &word, FUTEX_WAIT, 0, &span, NULL, 0), ETIMEDOUT);
	until = span_of(now_ns(CLOCK_MONOTONIC) + ns);
	FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 0, &until, NULL, 1), ETIMEDOUT);
	until = span_of(now_ns(CLOCK_REALTIME) + ns);
	FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME, 0, &until, NULL, 1),
	      ETIMEDOUT);
#ifdef SYS_futex_waitv
	struct futex_waitv one = { .val = 0, .uaddr = (uintptr_t)&word, .flags = FUTEX_32 };
	until = span_of(now_ns(CLOCK_MONOTONIC) + ns);
	FAILS(syscall(SYS_futex_waitv, &one, 1, 0, &until, CLOCK_MONOTONIC), ETIMEDOUT);
#endif
	pthread_mutexattr_t kind;
	static pthread_mutex_t lock;
	pthread_t holder;
	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&lock, &kind);
	pthread_create(&holder, NULL, hold_lock, &lock);
	while (pthread_mutex_trylock(&lock) == 0)
		pthread_mutex_unlock(&lock), sched_yield();
	begun = now_ns(CLOCK_MONOTONIC);
	until = span_of(now_ns(CLOCK_REALTIME) + ns);
	expect("LOCK_PI", pthread_mutex_timedlock(&lock, &until), ETIMEDOUT);
	took("LOCK_PI", begun, ns);
	pthread_cancel(holder);
	pthread_join(holder, NULL);
}

static void wait_by_queues(int64_t ns)
{
	struct timespec span = span_of(ns), until;
	struct timeval coarse = { ns / BILLION, ns % BILLION / 1000 };
	char octets[16];
	int64_t begun;
	sigset_t set;
	sigemptyset(&set), sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	FAILS(sigtimedwait(&set, NULL, &span), EAGAIN);
	int semaphores = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf take = { .sem_op = -1 };
	FAILS(semtimedop(semaphores, &take, 1, &span), EAGAIN);
	semctl(semaphores, 0, IPC_RMID);
	struct mq_attr small = { .mq_maxmsg = 1, .mq_msgsize = sizeof octets };
	mqd_t queue = mq_open("/qcycle-skip", O_RDWR | O_CREAT, 0600, &small);
	mq_unlink("/qcycle-skip");
	if (queue != (mqd_t)-1) {
		until = span_of(now_ns(CLOCK_REALTIME) + ns);
		FAILS(mq_timedreceive(queue, octets, sizeof octets, NULL, &until), ETIMEDOUT);
	}
	unsigned long collects = 0;
	if (syscall(SYS_io_setup, 1, &collects) == 0) {
		char event[32];
		begun = now_ns(CLOCK_MONOTONIC);
		expect("io_getevents", syscall(SYS_io_getevents, collects, 1, 1, event, &span), 0);
		took("io_getevents", begun, ns);
	}
	int pair[2];
	expect("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &coarse, sizeof coarse);
	FAILS(recv(pair[0], octets, 1, 0), EAGAIN);
	FAILS(read(pair[0], octets, 1), EAGAIN);
	close(pair[0]), close(pair[1]);
}

static void wait_by_timers(int64_t ns)
{
	uint64_t expired;
	struct itimerspec once = setting(ns, 0);
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	timerfd_settime(timer, 0, &once, NULL);
	expect("timerfd", read(timer, &expired, 8), 8);
	took("timerfd", begun, ns);
	close(timer);
	handle(SIGALRM, on_signal, 0);
	timer_t posix;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	sigset_t blocked, none;
	sigemptyset(&blocked), sigaddset(&blocked, SIGALRM), sigemptyset(&none);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	begun = now_ns(CLOCK_MONOTONIC);
	timer_create(CLOCK_MONOTONIC, &event, &posix);
	timer_settime(posix, 0, &once, NULL);
	sigsuspend(&none);
	took("timer_create", begun, ns);
	timer_delete(posix);
	begun = now_ns(CLOCK_MONOTONIC);
	alarm_in(ns);
	sigsuspend(&none);
	took("setitimer", begun, ns);
	begun = now_ns(CLOCK_MONOTONIC);
	alarm(ns / BILLION);
	sigsuspend(&none);
	took("alarm", begun, ns / BILLION * BILLION);
	sigprocmask(SIG_UNBLOCK, &blocked, NULL);
}

static void wait_by_all(int64_t ns)
{
	wait_by_clocks(ns);
	wait_for_descriptors(ns);
	wait_by_futexes(ns);
	wait_by_queues(ns);
	wait_by_timers(ns);
}

/* Threads that wait in several ways wake up in the order of their deadlines. */
#define THREADS 20
static int64_t first, woken_at[THREADS];

static void *wait_for_turn(void *number)
{
	int64_t at = (intptr_t)number, when = first + (at + 1) * 3600 * BILLION;
	struct timespec until = span_of(when), left = span_of(when - now_ns(CLOCK_MONOTONIC));
	switch (at % 3) {
	case 0:
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		break;
	case 1:
		ppoll(NULL, 0, &left, NULL);
		break;
	default:
		syscall(SYS_futex, &(uint32_t){ 0 }, FUTEX_WAIT_BITSET, 0, &until, NULL, 1);
	}
	woken_at[at] = now_ns(CLOCK_MONOTONIC) - when;
	return NULL;
}

static void wait_in_threads(void)
{
	pthread_t threads[THREADS];
	first = now_ns(CLOCK_MONOTONIC);
	for (intptr_t at = THREADS - 1; at >= 0; at--)
		pthread_create(&threads[at], NULL, wait_for_turn, (void *)at);
	for (int at = 0; at < THREADS; at++)
		pthread_join(threads[at], NULL);
	for (int at = 0; at < THREADS; at++)
		if (woken_at[at] < 0 || woken_at[at] > 1800 * BILLION)
			wrong("woken out of turn", woken_at[at], at);
}

static void wait_in_children(const char *self)
{
	char *again[] = { (char *)self, "all", NULL };
	pid_t forked = fork(), spawned;
	if (!forked)
		wait_by_clocks(DAY), _exit(failed);
	posix_spawn(&spawned, self, NULL, NULL, again, environ);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	pid_t shares = vfork();
	if (!shares) {
		struct timespec span = span_of(DAY);
		nanosleep(&span, NULL);
		_exit(0);
	}
	took("vfork", begun, DAY);
	for (int status; wait(&status) > 0;)
		expect("child", status, 0);
}

/* Threads and processes that end in a wait leave nothing behind that others notice. */
static void *wait_long(void *way)
{
	struct timespec span = span_of(2 * DAY);
	way ? ppoll(NULL, 0, &span, NULL) : nanosleep(&span, NULL);
	return NULL;
}

static void end_in_waits(void)
{
	struct timespec hour = span_of(3600 * BILLION);
	for (intptr_t way = 0; way < 2; way++) {
		pthread_t thread;
		int64_t begun = now_ns(CLOCK_MONOTONIC);
		pthread_create(&thread, NULL, wait_long, (void *)way);
		nanosleep(&hour, NULL);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		took("cancelled", begun, 3600 * BILLION);
		pid_t child = fork();
		if (!child)
			wait_long((void *)way);
		nanosleep(&hour, NULL);
		kill(child, SIGKILL);
		expect("killed", waitpid(child, NULL, 0), child);
		took("killed", begun, 7200 * BILLION);
		nanosleep(&hour, NULL);
		took("afterwards", begun, 10800 * BILLION);
	}
}

static sigjmp_buf out;

static void jump_out(int signal)
{
	(void)signal;
	siglongjmp(out, 1);
}

/* The deadline of a wait that a handler has jumped out of ends no call that comes later. */
static void jump_out_of_waits(void)
{
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	handle(SIGALRM, jump_out, SA_RESTART);
	alarm_in(5 * BILLION);
	if (!sigsetjmp(out, 1)) {
		poll(NULL, 0, 10000);
		wrong("a wait that was jumped out of", 0, 1);
	}
	handle(SIGALRM, on_signal, SA_RESTART);
	alarm_in(7200 * BILLION);
	expect("pause", pause(), -1);
	took("pause", begun, 7205 * BILLION);
}

/* Deadlines that pass by themselves while the clock is about to jump there. */
static void *wait_shortly(void *seed)
{
	unsigned random = (intptr_t)seed;
	struct epoll_event event;
	uint32_t word = 0;
	int queue = epoll_create1(0);
	for (int turn = 0; turn < 10000; turn++) {
		int64_t ns = rand_r(&random) % 200 * 1000, begun = now_ns(CLOCK_MONOTONIC);
		struct timespec span = span_of(ns);
		switch (turn % 3) {
		case 0:
			expect("short ppoll", ppoll(NULL, 0, &span, NULL), 0);
			break;
		case 1:
			expect("short epoll", epoll_wait(queue, &event, 1, 0), 0);
			ns = 0;
			break;
		default:
			syscall(SYS_futex, &word, FUTEX_WAIT, 0, &span, NULL, 0);
			expect("short futex", errno, ETIMEDOUT);
		}
		if (now_ns(CLOCK_MONOTONIC) - begun < ns)
			wrong("short wait", now_ns(CLOCK_MONOTONIC) - begun, ns);
	}
	close(queue);
	return NULL;
}

static void wait_shortly_in_threads(void)
{
	pthread_t threads[3];
	for (intptr_t at = 0; at < 3; at++)
		pthread_create(&threads[at], NULL, wait_shortly, (void *)(at + 1));
	for (int at = 0; at < 3; at++)
		pthread_join(threads[at], NULL);
}

static void *nap(void *nothing)
{
	usleep(1000);
	return nothing;
}

/* More threads than can say for what they wait, one after the other. */
static void start_many(void)
{
	for (int turn = 0; turn < 4500; turn++) {
		pthread_t thread;
		expect("thread", pthread_create(&thread, NULL, nap, NULL), 0);
		pthread_join(thread, NULL);
	}
	wait_by_clocks(DAY);
}

/* Where no signals can be queued the kernel delivers them without what was sent along. */
static void wait_without_signals(void)
{
	struct rlimit none = { 0, 0 };
	expect("limit", setrlimit(RLIMIT_SIGPENDING, &none), 0);
	wait_for_descriptors(DAY);
}

/* Several threads at once, each for much longer than a program may look at a clock that stands. */
static void *compute(void *nothing)
{
	int64_t before = now_ns(CLOCK_MONOTONIC);
	for (volatile int turn = 0; turn < 30000000; turn++)
		if (turn % 100000 == 0)
			expect("no time", now_ns(CLOCK_MONOTONIC), before);
	usleep(1000);
	expect("a wait", now_ns(CLOCK_MONOTONIC), before + 1000000);
	return nothing;
}

static void compute_in_threads(void)
{
	pthread_t threads[4];
	for (int turn = 0; turn < 2; turn++) {
		for (int at = 0; at < 4; at++)
			pthread_create(&threads[at], NULL, compute, NULL);
		for (int at = 0; at < 4; at++)
			pthread_join(threads[at], NULL);
	}
}

/* Looks at the clock until a time has come. */
static void spin(void)
{
	int64_t end = now_ns(CLOCK_MONOTONIC) + 10000000;
	while (now_ns(CLOCK_MONOTONIC) < end)
		;
}

static int read_all(int from, char *octets, size_t count)
{
	while (count > 0) {
		ssize_t got = read(from, octets, count);
		if (got <= 0)
			return -1;
		octets += got, count -= got;
	}
	return 0;
}

static void two_pipes(int ours[2], int theirs[2])
{
	int there[2], back[2];
	expect("pipes", pipe(there) | pipe(back), 0);
	ours[0] = back[0], ours[1] = there[1], theirs[0] = there[0], theirs[1] = back[1];
}

static void two_sockets(int ours[2], int theirs[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t length = sizeof at;
	int listens = socket(AF_INET, SOCK_STREAM, 0);
	bind(listens, (void *)&at, length), listen(listens, 1);
	getsockname(listens, (void *)&at, &length);
	ours[0] = ours[1] = socket(AF_INET, SOCK_STREAM, 0);
	expect("connect", connect(ours[0], (void *)&at, length), 0);
	theirs[0] = theirs[1] = accept(listens, NULL, NULL);
}

static void two_local_sockets(int ours[2], int theirs[2])
{
	int pair[2];
	expect("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ours[0] = ours[1] = pair[0], theirs[0] = theirs[1] = pair[1];
}

static void two_ends_of_a_terminal(int ours[2], int theirs[2])
{
	struct termios raw;
	memset(&raw, 0, sizeof raw), cfmakeraw(&raw);
	expect("openpty", openpty(&ours[0], &theirs[0], NULL, &raw, NULL), 0);
	ours[1] = ours[0], theirs[1] = theirs[0];
}

static void two_events(int ours[2], int theirs[2])
{
	ours[0] = theirs[1] = eventfd(0, 0), ours[1] = theirs[0] = eventfd(0, 0);
}

/* A question, in two parts if there is more than one octet, and the answer before a timeout that is
 * an hour: it comes only if the clock jumps though somebody has something to do. */
static void ask(const char *how, int rounds)
{
	static const struct {
		const char *name;
		void (*open)(int[2], int[2]);
		size_t octets;
	} ways[] = {
		{ "pipe", two_pipes, 2 },
		{ "tcp", two_sockets, 2 },
		{ "unix", two_local_sockets, 2 },
		{ "terminal", two_ends_of_a_terminal, 1 },
		{ "eventfd", two_events, 8 },
	};
	size_t way = 0;
	while (strcmp(ways[way].name, how))
		way++;
	int ours[2], theirs[2], early = 0;
	ways[way].open(ours, theirs);
	char octets[8] = { 1 };
	size_t count = ways[way].octets, half = count == 2 ? 1 : count;
	pid_t answers = fork();
	if (!answers) {
		for (int turn = 0; turn < rounds; turn++)
			if (read_all(theirs[0], octets, count) || write(theirs[1], octets, half) != (ssize_t)half)
				_exit(1);
		_exit(0);
	}
	for (int turn = 0; turn < rounds; turn++) {
		struct pollfd answer = { .fd = ours[0], .events = POLLIN };
		for (size_t sent = 0; sent < count; sent += half)
			expect("write", write(ours[1], octets + sent, half), half);
		early += poll(&answer, 1, 3600 * 1000) != 1;
		expect("answer", read_all(ours[0], octets, half), 0);
		usleep(turn % 7 * 50);
	}
	expect("timeouts before the answer", early, 0);
	int status;
	waitpid(answers, &status, 0);
	expect("who answers", status, 0);
}

/* Sleeps as others wait, for a little less, and then computes until one of them wakes up: the clock jumps over
 * the sleep, and the rest of the wait passes at host rate, in which nobody but the owner of the clock knows when the
 * wait is over. */
static void *compute_meanwhile(void *unused)
{
	struct timespec span = span_of(DAY);
	for (;;) {
		int before = waits;
		nanosleep(&span, NULL);
		int64_t begun = now_ns(CLOCK_MONOTONIC);
		while (waits == before && now_ns(CLOCK_MONOTONIC) < begun + 4 * late_at_most)
			;
	}
	return unused;
}

static void wait_beside_one_that_computes(void)
{
	pthread_t thread;
	late_at_most = 5 * BILLION;
	pthread_create(&thread, NULL, compute_meanwhile, NULL);
	wait_by_all(DAY + 20 * MS);
}

static volatile int ticks;

static void on_tick(int signal)
{
	(void)signal;
	ticks++;
}

/* Timers that are due at the very moment at which a sleep is over: the timer comes first, as it was set first,
 * and the sleep is over all the same. */
static void meet_timers(void)
{
	enum { TURNS = 100 };
	const int64_t period = 5000000;
	int64_t until = now_ns(CLOCK_MONOTONIC);
	for (int turn = 0; turn < TURNS; turn++) {
		until += period;
		struct timespec at = { until / BILLION, until % BILLION };
		struct itimerspec once = { .it_value = at };
		int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
		timerfd_settime(timer, TFD_TIMER_ABSTIME, &once, NULL);
		expect("sleep", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL), 0);
		expect("time", now_ns(CLOCK_MONOTONIC), until);
		uint64_t times = 0;
		expect("read", read(timer, &times, sizeof(times)), sizeof(times));
		struct itimerspec again = { .it_value = { 0, period } };
		timerfd_settime(timer, 0, &again, NULL);
		struct pollfd readable = { timer, POLLIN, 0 };
		expect("poll", poll(&readable, 1, 5), 1);
		until += period;
		expect("time", now_ns(CLOCK_MONOTONIC), until);
		close(timer);
	}
	handle(SIGALRM, on_tick, 0);
	struct itimerval each = { { 0, period / 1000 }, { 0, period / 1000 } };
	setitimer(ITIMER_REAL, &each, NULL);
	for (int turn = 1; turn <= TURNS; turn++) {
		until += period;
		struct timespec at = { until / BILLION, until % BILLION };
		expect("sleep", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL), 0);
		expect("ticks", ticks, turn);
	}
}

int main(int count, char **arguments)
{
	const char *what = count > 1 ? arguments[1] : "";
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(what, "all"))
		wait_by_all(DAY);
	else if (!strcmp(what, "threads"))
		wait_in_threads();
	else if (!strcmp(what, "children"))
		wait_in_children(arguments[0]);
	else if (!strcmp(what, "ends"))
		end_in_waits();
	else if (!strcmp(what, "jumps-out"))
		jump_out_of_waits();
	else if (!strcmp(what, "short"))
		wait_shortly_in_threads();
	else if (!strcmp(what, "many"))
		start_many();
	else if (!strcmp(what, "no-signals"))
		wait_without_signals();
	else if (!strcmp(what, "ask") && count == 4)
		ask(arguments[2], atoi(arguments[3]));
	else if (!strcmp(what, "ties"))
		meet_timers();
	else if (!strcmp(what, "compute"))
		compute_in_threads();
	else if (!strcmp(what, "spin"))
		spin();
	else if (!strcmp(what, "beside"))
		wait_beside_one_that_computes();
	else if (!strcmp(what, "minutes")) {
		puts("ready");
		wait_by_clocks(600 * BILLION);
	} else
		return 64;
	puts(failed ? "failed" : "done");
	return failed;
}
