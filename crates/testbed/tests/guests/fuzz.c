/* Random calls with random arguments, from a list of those that harm nobody.
 *
 *   fuzz SEED COUNT     prints one line for each: the call, its arguments, what came of it
 *
 * The same seed makes the same calls, and natively and in virtual time they must have the same
 * results, errors and outputs; of times that are written, only that they are. A wait that may be
 * long is ended by signals of a helper, so its line does not depend on how fast the machine is. */
#include "guest.h"
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/sem.h>

#define ROOM 256
#define FILL 0xa5
#define PLACE ((void *)0x100000000000)

/* What an argument is: clock (c), to sleep on (C), int as it is (i), flags of sleeps and timers (l), descriptor (d),
 * number of elements (n), of descriptors in a set (e), relative (r) and absolute (a) timespec, timeval (v), setting of a timer
 * (s), milliseconds (m), signal mask (k) and its size (z), memory that is read and written (b), always writable (B),
 * times that are written (t), futex operation (o) and word (w), how of a mask (h), signal (g),
 * semaphore operations (x), none (0). */
static const struct {
	const char *name;
	int number;
	const char *arguments;
} calls[] = {
	{ "clock_gettime", SYS_clock_gettime, "ct" },
	{ "clock_getres", SYS_clock_getres, "cb" },
	{ "gettimeofday", SYS_gettimeofday, "tb" },
	{ "time", SYS_time, "t" },
	{ "times", SYS_times, "t" },
	{ "sysinfo", SYS_sysinfo, "t" },
	{ "nanosleep", SYS_nanosleep, "rt" },
	{ "clock_nanosleep", SYS_clock_nanosleep, "Clrt" },
	{ "clock_nanosleep", SYS_clock_nanosleep, "C1at" },
	{ "poll", SYS_poll, "bnm" },
	{ "ppoll", SYS_ppoll, "bnrkz" },
	{ "select", SYS_select, "eBBBv" },
	{ "pselect6", SYS_pselect6, "eBBBrp" },
	{ "epoll_wait", SYS_epoll_wait, "dbnm" },
	{ "epoll_pwait", SYS_epoll_pwait, "dbnmkz" },
	{ "epoll_pwait2", 441, "dbnrkz" },
	{ "futex", SYS_futex, "woirwi" },
	{ "futex", SYS_futex, "woiawi" },
	{ "futex_waitv", 449, "bniac" },
	{ "futex_wait", 455, "wiiiac" },
	{ "rt_sigtimedwait", SYS_rt_sigtimedwait, "kbrz" },
	{ "semtimedop", SYS_semtimedop, "dxnr" },
	{ "mq_timedreceive", SYS_mq_timedreceive, "dbnba" },
	{ "mq_timedsend", SYS_mq_timedsend, "dbnia" },
	{ "io_getevents", 208, "qiibr" },
	{ "io_pgetevents", 333, "qiibrp" },
	{ "rt_sigprocmask", SYS_rt_sigprocmask, "hkbz" },
	{ "rt_sigaction", SYS_rt_sigaction, "g0bz" },
	{ "timerfd_settime", SYS_timerfd_settime, "dlst" },
	{ "timerfd_gettime", SYS_timerfd_gettime, "dt" },
	{ "timer_gettime", SYS_timer_gettime, "it" },
	{ "timer_settime", SYS_timer_settime, "ilst" },
	{ "timer_delete", SYS_timer_delete, "i" },
	{ "timer_getoverrun", SYS_timer_getoverrun, "i" },
	{ "getitimer", SYS_getitimer, "it" },
};

static struct {
	volatile unsigned armed;
} *helped;

static uint64_t state;
static char *page, *read_only, *edge;
static int descriptors[8];
static aio_context_t context;
static uint32_t *word;
static int long_wait;
static char told[400];

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static int one_in(int n)
{
	return next() % n == 0;
}

static void tell(const char *format, long long value)
{
	snprintf(told + strlen(told), sizeof(told) - strlen(told), format, value);
}

static int64_t odd_number(void)
{
	static const int64_t odd[] = { 0, 1, -1, 2, 3, 7, 8, 63, 64, 65, 1024, 4096, INT32_MAX, INT32_MIN,
				       0x100000000, INT64_MAX, INT64_MIN, 999999999, 1000000000 };
	return odd[next() % (sizeof(odd) / sizeof(odd[0]))];
}

/* An address of memory, or of none; `*good` is where it can be written beforehand, or NULL. */
static uintptr_t address(int index, int length, int may_be_read_only, char **good)
{
	*good = NULL;
	if (one_in(8)) {
		switch (next() % 5) {
		case 0: tell(" null", 0); return 0;
		case 1: tell(" nowhere", 0); return 8;
		case 2: tell(" kernel", 0); return (uintptr_t)1 << 63;
		case 3: tell(" edge", 0); return (uintptr_t)edge - length / 2;
		default:
			if (may_be_read_only) {
				tell(" read-only", 0);
				return (uintptr_t)read_only + index * ROOM;
			}
		}
	}
	int shift = one_in(10);
	*good = page + index * ROOM + shift;
	tell(shift ? " odd" : " here", 0);
	return (uintptr_t)*good;
}

/* A span: wrong, none, short or long. */
static struct timespec random_span(void)
{
	struct timespec t = { 0, 0 };
	switch (next() % 6) {
	case 0: t.tv_sec = odd_number(), t.tv_nsec = one_in(2) ? 0 : odd_number(); break;
	case 1: t.tv_nsec = odd_number(); break;
	case 2: break;
	default: t.tv_nsec = next() % 3000000;
	}
	long_wait |= t.tv_sec || t.tv_nsec < 0 || t.tv_nsec > 3000000;
	return t;
}

static uintptr_t time_at(int index, int kind)
{
	char *good;
	struct timespec t = random_span();
	/* Past or far, on any clock. */
	if (kind == 'a' && t.tv_sec > 0)
		t.tv_sec |= 1ll << 33;
	tell(" %lld", t.tv_sec);
	tell(".%lld", t.tv_nsec);
	/* Beyond 292 years a semaphore is not waited for at all. */
	if (strstr(told, "semtimedop") && t.tv_sec > INT32_MAX)
		t.tv_sec = INT32_MAX;
	uintptr_t at = address(index, kind == 's' ? 32 : 16, 1, &good);
	long_wait |= at == 0;
	if (good && kind == 's') {
		/* Long or not at all, so that nothing expires on the way. */
		struct itimerspec setting = { { 0, 0 }, t };
		if (setting.it_value.tv_sec == 0 && setting.it_value.tv_nsec)
			setting.it_value.tv_sec = 1000;
		memcpy(good, &setting, sizeof(setting));
	} else if (good && kind == 'v') {
		int64_t value[2] = { t.tv_sec, t.tv_nsec < 0 ? t.tv_nsec : t.tv_nsec / 1000 };
		memcpy(good, value, sizeof(value));
		long_wait |= t.tv_nsec >= 1000000000;
	} else if (good) {
		memcpy(good, &t, sizeof(t));
	}
	return at;
}

static uintptr_t number(const char *name, int64_t value)
{
	tell(name, value);
	return value;
}

/* What is in memory that a call reads and writes; fit for the array that the call takes. */
static void fill(char *good, const char *call)
{
	memset(good, 0, 64);
	if (!strcmp(call, "poll") || !strcmp(call, "ppoll")) {
		struct pollfd fds[] = { { descriptors[next() % 3], POLLIN, 0 }, { -1, POLLIN, 0 } };
		memcpy(good, fds, sizeof(fds));
	} else if (!strcmp(call, "select") || !strcmp(call, "pselect6")) {
		uint64_t set = one_in(2) ? 0 : 1ull << descriptors[next() % 3];
		memcpy(good, &set, 8);
	} else if (!strcmp(call, "futex_waitv")) {
		uint64_t words[3] = { one_in(3), (uintptr_t)word, one_in(4) ? 0 : 2 };
		memcpy(good, words, sizeof(words));
	}
}

static uintptr_t argument(int kind, int index, const char *call)
{
	static const int clocks[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 16, -1, -2, -6, 99, INT32_MIN };
	static const int operations[] = { 0, 9, 0, 9, 128, 137, 256, 265, 393, 3, 4, 5, 10, 1, 7, 99 };
	char *good;
	uintptr_t at;
	switch (kind) {
	case 'C': case 'c': at = clocks[next() % (one_in(2) ? 2 : 19)];
		/* Processor time does not pass for who sleeps. */
		long_wait |= at > 1 && at != 7 && at != 11;
		/* Sleeps on processor time end when the kernel next looks at it. */
		if (kind == 'C' && ((int)at == 2 || (int)at == -6))
			at = 3;
		return number(" clock %lld", (int)at);
	case 'l': return number(" flags %lld", one_in(3) ? 0 : one_in(3) ? 1 : odd_number());
	case '1': return number(" flags %lld", 1);
	case '0': return number(" none", 0);
	case 'i': return number(" %lld", one_in(2) ? 0 : odd_number());
	case 'n': return number(" %lld", one_in(4) ? odd_number() : next() % 3);
	/* More than image and limitations know of are another matter. */
	case 'e': return number(" %lld", one_in(4) ? -1 : next() % 65);
	case 'd': at = next() % 8; tell(" fd#%lld", at); return descriptors[at];
	case 'q': return one_in(4) ? number(" no context", odd_number()) : (tell(" context", 0), context);
	case 'm': at = one_in(5) ? odd_number() : next() % 4; long_wait |= (int)at < 0 || (int)at > 3;
		return number(" %lld ms", at);
	case 'o': return number(" op %lld", operations[next() % 16]);
	case 'h': return number(" how %lld", one_in(4) ? odd_number() : next() % 3);
	case 'g': return number(" signal %lld", one_in(4) ? odd_number() : 13 + next() % 3);
	case 'z': return number(" size %lld", one_in(6) ? odd_number() : 8);
	case 'w': *word = 0; tell(one_in(6) ? " nowhere" : " word", 0);
		return strstr(told, " nowhere") ? 8 : (uintptr_t)word;
	case 'r': case 'a': case 'v': case 's': return time_at(index, kind);
	case 'k': at = address(index, 8, 0, &good);
		/* SIGSTKFLT and SIGSYS are blocked together. */
		if (good) {
			uint64_t mask = next() & ~(1ull << (SIGUSR1 - 1) | 1ull << (SIGSYS - 1) | 1ull << 31 | 1ull << 32);
			*(uint64_t *)good = mask | (mask >> (SIGSTKFLT - 1) & 1) << (SIGSYS - 1);
		}
		return at;
	case 'p': at = address(index, 16, 0, &good);
		if (good)
			memset(good, 0, 16);
		return at;
	case 'x': at = address(index, 12, 0, &good);
		if (good) {
			struct sembuf take[2] = { { 0, -1, one_in(2) ? IPC_NOWAIT : 0 }, { 0, -1, 0 } };
			memcpy(good, take, sizeof(take));
		}
		return at;
	default: at = address(index, 64, kind != 'B', &good);
		if (good && kind != 't')
			fill(good, call);
		return at;
	}
}

static void handler(int signal)
{
}

/* Ends what waits long: a signal every now and then while a call is under way. */
static void help(pid_t process)
{
	struct timespec t = { 0, 2000000 };
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned seen = 0;; nanosleep(&t, NULL)) {
		if (helped->armed && helped->armed == seen)
			kill(process, SIGUSR1);
		seen = helped->armed;
	}
}

static void prepare(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct mq_attr room = { .mq_maxmsg = 1, .mq_msgsize = 2 };
	struct sigaction action = { .sa_handler = handler };
	char name[32];
	int empty[2], ready[2], access = PROT_READ | PROT_WRITE;
	/* Always at the same place, and nothing that a call could write to behind each. */
	page = mmap(PLACE, 8 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (page != PLACE || mprotect(page, 4096, access) || mprotect(page + 2 * 4096, 4096, PROT_READ) ||
	    mprotect(page + 4 * 4096, 4096, access) || mprotect(page + 6 * 4096, 4096, access))
		abort();
	read_only = page + 2 * 4096;
	edge = page + 5 * 4096;
	word = (uint32_t *)(page + 6 * 4096);
	helped = mmap(NULL, 4096, access, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (pipe(empty) || pipe(ready) || write(ready[1], "ready", 5) != 5)
		abort();
	snprintf(name, sizeof(name), "/fuzz-%d", getpid());
	descriptors[0] = empty[0];
	descriptors[1] = ready[0];
	descriptors[2] = epoll_create1(0);
	descriptors[3] = epoll_create1(0);
	epoll_ctl(descriptors[3], EPOLL_CTL_ADD, ready[0], &event);
	descriptors[4] = mq_open(name, O_RDWR | O_CREAT, 0600, &room);
	descriptors[5] = timerfd_create(CLOCK_MONOTONIC, 0);
	descriptors[6] = semget(IPC_PRIVATE, 1, 0600);
	descriptors[7] = -1;
	mq_unlink(name);
	syscall(SYS_io_setup, 4, &context);
	sigaction(SIGUSR1, &action, NULL);
}

/* A time that is written, or a result that is one, only counts as that. */
static void tell_outcome(const char *name, const char *kinds, long result, int error)
{
	int is_time = (!strcmp(name, "time") || !strcmp(name, "times")) && result > 0;
	printf("%s -> %s", told, result < 0 ? strerrorname_np(error) : is_time ? "a time" : "");
	if (result >= 0 && !is_time)
		printf("%ld", result);
	for (int i = 0; kinds[i]; i++) {
		unsigned char *room = (unsigned char *)page + i * ROOM;
		if (strchr("bBk", kinds[i])) {
			unsigned long sum = 0;
			for (int k = 0; k < ROOM; k++)
				sum = sum * 31 + room[k];
			printf(" %lx", sum);
		} else if (kinds[i] == 't') {
			int written = 0;
			for (int k = 0; k < ROOM; k++)
				written |= room[k] != FILL;
			printf(" %s", written ? "written" : "untouched");
		}
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int count = argc > 2 ? atoi(argv[2]) : 100;
	sigset_t none;
	sigemptyset(&none);
	setvbuf(stdout, NULL, _IOLBF, 0);
	prepare();
	pid_t self = getpid(), helper = fork();
	if (helper == 0)
		help(self);
	for (int i = 0; i < count; i++) {
		state = (seed * 1000003 + i + 1) * 0x9e3779b97f4a7c15ull | 1;
		for (int k = 0; k < 8; k++)
			next();
		size_t which = next() % COUNT(calls);
		const char *kinds = calls[which].arguments;
		uintptr_t args[6] = { 0 };
		memset(page, FILL, 4096);
		memset(edge - 4096, FILL, 4096);
		long_wait = 0;
		snprintf(told, sizeof(told), "%d %s", i, calls[which].name);
		for (int k = 0; kinds[k]; k++)
			args[k] = argument(kinds[k], k, calls[which].name);
		helped->armed = long_wait ? i + 1 : 0;
		errno = 0;
		long result = syscall(calls[which].number, args[0], args[1], args[2], args[3], args[4], args[5]);
		int error = errno;
		helped->armed = 0;
		sigprocmask(SIG_SETMASK, &none, NULL);
		tell_outcome(calls[which].name, kinds, result, error);
	}
	semctl(descriptors[6], 0, IPC_RMID);
	kill(helper, SIGKILL);
	return 0;
}
