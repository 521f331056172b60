/* Every call that waits for a finite time, each in a thread of its own, all at once.
 *
 *   waits plain MS           each waits MS milliseconds in vain
 *   waits signal RESTART     each is interrupted by a handler, with SA_RESTART or not (1, 0)
 *   waits wake               each gets what it waits for
 *
 * The last two begin to wait when a line comes in. Prints "ready" when all wait; those two act when
 * another line comes in, and print "over". Then one line for each call: name, outcome, nanoseconds
 * waited on CLOCK_MONOTONIC, asked for, and said to be left (-1: the call does not say). */
#include "guest.h"
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/select.h>

struct wait {
	const char *name;
	/* Answers 0 after the whole time, 1 if it got what it waited for, or -errno. */
	int (*run)(struct wait *);
	/* Gives it what it waits for. */
	void (*wake)(struct wait *);
	int clock;
	int absolute;
	/* A handler does not end it: POSIX lets it go on waiting. */
	int goes_on;

	int64_t asked, waited, left;
	int outcome;
	int pipe[2];
	int epoll;
	uint32_t word;
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	sem_t sem;
	pthread_t thread;
	volatile int done;
};

static pthread_barrier_t all_there;

/* The absolute time at which a wait that begins now ends. */
static struct timespec until(struct wait *w)
{
	return span_of(now_ns(w->clock) + w->asked);
}

static int many(long result)
{
	return result < 0 ? -errno : result > 0;
}

static int run_nanosleep(struct wait *w)
{
	struct timespec request = span_of(w->asked), left = { 0, 0 };
	int result = nanosleep(&request, &left) ? -errno : 0;
	w->left = ns_of(left);
	return result;
}

static int run_usleep(struct wait *w)
{
	return usleep(w->asked / 1000) ? -errno : 0;
}

static int run_clock_nanosleep(struct wait *w)
{
	struct timespec request = w->absolute ? until(w) : span_of(w->asked), left = { 0, 0 };
	int result = -clock_nanosleep(w->clock, w->absolute ? TIMER_ABSTIME : 0, &request, &left);
	if (!w->absolute)
		w->left = ns_of(left);
	return result;
}

static int run_poll(struct wait *w)
{
	struct pollfd fd = { w->pipe[0], POLLIN, 0 };
	return many(poll(&fd, 1, w->asked / 1000000));
}

static int run_ppoll(struct wait *w)
{
	struct pollfd fd = { w->pipe[0], POLLIN, 0 };
	struct timespec t = span_of(w->asked);
	sigset_t none = set_of(SIGUSR2);
	return many(ppoll(&fd, 1, &t, &none));
}

static int run_select(struct wait *w)
{
	fd_set set;
	struct timeval t = { w->asked / BILLION, w->asked % BILLION / 1000 };
	FD_ZERO(&set);
	FD_SET(w->pipe[0], &set);
	int result = many(select(w->pipe[0] + 1, &set, NULL, NULL, &t));
	if (result == 1 && !FD_ISSET(w->pipe[0], &set))
		return -EPROTO;
	w->left = ns_of_timeval(t);
	return result;
}

static int run_pselect(struct wait *w)
{
	fd_set set;
	struct timespec t = span_of(w->asked);
	sigset_t mask = set_of(SIGUSR2);
	FD_ZERO(&set);
	FD_SET(w->pipe[0], &set);
	return many(pselect(w->pipe[0] + 1, &set, NULL, NULL, &t, &mask));
}

static int run_epoll_wait(struct wait *w)
{
	struct epoll_event event;
	return many(epoll_wait(w->epoll, &event, 1, w->asked / 1000000));
}

/* The signal that interrupts it is blocked outside the call. */
static int run_epoll_pwait(struct wait *w)
{
	struct epoll_event event;
	sigset_t outside = set_of(SIGUSR1), inside;
	pthread_sigmask(SIG_BLOCK, &outside, &inside);
	int result = many(epoll_pwait(w->epoll, &event, 1, w->asked / 1000000, &inside));
	pthread_sigmask(SIG_SETMASK, &inside, NULL);
	return result;
}

static int run_epoll_pwait2(struct wait *w)
{
	struct epoll_event event;
	struct timespec t = span_of(w->asked);
	return many(syscall(SYS_epoll_pwait2, w->epoll, &event, 1, &t, NULL, 8));
}

static int run_futex(struct wait *w)
{
	struct timespec t = w->absolute ? until(w) : span_of(w->asked);
	int operation = w->absolute ? FUTEX_WAIT_BITSET : FUTEX_WAIT;
	if (w->absolute && w->clock == CLOCK_REALTIME)
		operation |= FUTEX_CLOCK_REALTIME;
	long result = syscall(SYS_futex, &w->word, operation | FUTEX_PRIVATE_FLAG, 0, &t, NULL,
			      FUTEX_BITSET_MATCH_ANY);
	if (result < 0)
		return errno == ETIMEDOUT ? 0 : errno == EAGAIN ? 1 : -errno;
	return 1;
}

static int run_sigtimedwait(struct wait *w)
{
	sigset_t set = set_of(SIGUSR2);
	struct timespec t = span_of(w->asked);
	int result = sigtimedwait(&set, NULL, &t);
	return result == SIGUSR2 ? 1 : errno == EAGAIN ? 0 : -errno;
}

static int timed(int error)
{
	return error == 0 ? 1 : error == ETIMEDOUT ? 0 : -error;
}

static int run_cond(struct wait *w)
{
	struct timespec t = until(w);
	pthread_mutex_lock(&w->mutex);
	int result = w->word ? 1 : timed(pthread_cond_timedwait(&w->cond, &w->mutex, &t));
	pthread_mutex_unlock(&w->mutex);
	return result;
}

static int run_sem(struct wait *w)
{
	struct timespec t = until(w);
	return timed(sem_timedwait(&w->sem, &t) ? errno : 0);
}

static int run_mutex(struct wait *w)
{
	struct timespec t = until(w);
	return timed(pthread_mutex_timedlock(&w->mutex, &t));
}

static void wake_pipe(struct wait *w)
{
	if (write(w->pipe[1], "", 1) != 1)
		abort();
}

static void wake_futex(struct wait *w)
{
	__atomic_store_n(&w->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &w->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void wake_sigtimedwait(struct wait *w)
{
	pthread_kill(w->thread, SIGUSR2);
}

static void wake_cond(struct wait *w)
{
	pthread_mutex_lock(&w->mutex);
	w->word = 1;
	pthread_cond_signal(&w->cond);
	pthread_mutex_unlock(&w->mutex);
}

static void wake_sem(struct wait *w)
{
	sem_post(&w->sem);
}

static void wake_mutex(struct wait *w)
{
	if (!w->word++)
		pthread_mutex_unlock(&w->mutex);
}

static struct wait waits[] = {
	{ "nanosleep", run_nanosleep, NULL, CLOCK_MONOTONIC, 0, 0 },
	{ "usleep", run_usleep, NULL, CLOCK_MONOTONIC, 0, 0 },
	{ "clock_nanosleep(REALTIME)", run_clock_nanosleep, NULL, CLOCK_REALTIME, 0, 0 },
	{ "clock_nanosleep(REALTIME,ABSTIME)", run_clock_nanosleep, NULL, CLOCK_REALTIME, 1, 0 },
	{ "clock_nanosleep(MONOTONIC)", run_clock_nanosleep, NULL, CLOCK_MONOTONIC, 0, 0 },
	{ "clock_nanosleep(MONOTONIC,ABSTIME)", run_clock_nanosleep, NULL, CLOCK_MONOTONIC, 1, 0 },
	{ "clock_nanosleep(BOOTTIME)", run_clock_nanosleep, NULL, CLOCK_BOOTTIME, 0, 0 },
	{ "clock_nanosleep(BOOTTIME,ABSTIME)", run_clock_nanosleep, NULL, CLOCK_BOOTTIME, 1, 0 },
	{ "poll", run_poll, wake_pipe, CLOCK_MONOTONIC, 0, 0 },
	{ "ppoll", run_ppoll, wake_pipe, CLOCK_MONOTONIC, 0, 0 },
	{ "select", run_select, wake_pipe, CLOCK_MONOTONIC, 0, 0 },
	{ "pselect", run_pselect, wake_pipe, CLOCK_MONOTONIC, 0, 0 },
	{ "epoll_wait", run_epoll_wait, wake_pipe, CLOCK_MONOTONIC, 0, 0 },
	{ "epoll_pwait", run_epoll_pwait, wake_pipe, CLOCK_MONOTONIC, 0, 0 },
	{ "epoll_pwait2", run_epoll_pwait2, wake_pipe, CLOCK_MONOTONIC, 0, 0 },
	{ "futex(WAIT)", run_futex, wake_futex, CLOCK_MONOTONIC, 0, 0 },
	{ "futex(WAIT_BITSET,MONOTONIC)", run_futex, wake_futex, CLOCK_MONOTONIC, 1, 0 },
	{ "futex(WAIT_BITSET,REALTIME)", run_futex, wake_futex, CLOCK_REALTIME, 1, 0 },
	{ "sigtimedwait", run_sigtimedwait, wake_sigtimedwait, CLOCK_MONOTONIC, 0, 0 },
	{ "pthread_cond_timedwait(REALTIME)", run_cond, wake_cond, CLOCK_REALTIME, 1, 1 },
	{ "pthread_cond_timedwait(MONOTONIC)", run_cond, wake_cond, CLOCK_MONOTONIC, 1, 1 },
	{ "sem_timedwait", run_sem, wake_sem, CLOCK_REALTIME, 1, 0 },
	{ "pthread_mutex_timedlock", run_mutex, wake_mutex, CLOCK_REALTIME, 1, 1 },
};

static void *run(void *argument)
{
	struct wait *w = argument;
	pthread_barrier_wait(&all_there);
	int64_t begin = now_ns(CLOCK_MONOTONIC);
	w->outcome = w->run(w);
	w->waited = now_ns(CLOCK_MONOTONIC) - begin;
	w->done = 1;
	return NULL;
}

static void handler(int signal)
{
}

static void prepare(struct wait *w)
{
	pthread_condattr_t attributes;
	struct epoll_event event = { .events = EPOLLIN };
	w->left = -1;
	if (pipe(w->pipe))
		abort();
	w->epoll = epoll_create1(0);
	epoll_ctl(w->epoll, EPOLL_CTL_ADD, w->pipe[0], &event);
	pthread_mutex_init(&w->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, w->clock);
	pthread_cond_init(&w->cond, &attributes);
	sem_init(&w->sem, 0, 0);
	if (w->run == run_mutex)
		pthread_mutex_lock(&w->mutex);
}

/* Some milliseconds by no clock at all: it may be stopped. */
static void dawdle(void)
{
	for (int i = 0; i < 200000; i++)
		ease();
}

static int wanted(struct wait *w, const char *mode)
{
	return strcmp(mode, "wake") || w->wake;
}

int main(int argc, char **argv)
{
	const char *mode = argv[1];
	int restart = argc > 2 && !strcmp(mode, "signal") && atoi(argv[2]);
	struct sigaction action = { .sa_handler = handler, .sa_flags = restart ? SA_RESTART : 0 };
	sigset_t blocked = set_of(SIGUSR2);
	char line[8];
	int count = 1;

	setvbuf(stdout, NULL, _IOLBF, 0);
	sigaction(SIGUSR1, &action, NULL);
	pthread_sigmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; i < COUNT(waits); i++)
		count += wanted(&waits[i], mode);
	pthread_barrier_init(&all_there, NULL, count);
	for (size_t i = 0; i < COUNT(waits); i++) {
		struct wait *w = &waits[i];
		prepare(w);
		if (!strcmp(mode, "plain"))
			w->asked = atoll(argv[2]) * 1000000;
		else
			w->asked = !strcmp(mode, "signal") && w->goes_on ? BILLION / 2 : 100 * BILLION;
		if (wanted(w, mode))
			pthread_create(&w->thread, NULL, run, w);
	}
	if (strcmp(mode, "plain") && !fgets(line, sizeof(line), stdin))
		return 1;
	pthread_barrier_wait(&all_there);
	dawdle();
	printf("ready\n");
	if (strcmp(mode, "plain")) {
		if (!fgets(line, sizeof(line), stdin))
			return 1;
		for (int busy = 1; busy;) {
			busy = 0;
			for (size_t i = 0; i < COUNT(waits); i++) {
				struct wait *w = &waits[i];
				int over = w->done || !wanted(w, mode);
				if (!strcmp(mode, "signal")) {
					if (!w->done)
						pthread_kill(w->thread, SIGUSR1);
					over |= w->goes_on;
				} else if (!over)
					w->wake(w);
				busy |= !over;
			}
			dawdle();
		}
		printf("over\n");
		if (!fgets(line, sizeof(line), stdin))
			return 1;
	}
	for (size_t i = 0; i < COUNT(waits); i++) {
		struct wait *w = &waits[i];
		if (!wanted(w, mode))
			continue;
		pthread_join(w->thread, NULL);
		const char *outcome = w->outcome == 0 ? "timeout" : w->outcome == 1 ? "woken" :
				      w->outcome == -EINTR ? "EINTR" : strerror(-w->outcome);
		printf("%s\t%s\t%lld\t%lld\t%lld\n", w->name, outcome, (long long)w->waited,
		       (long long)w->asked, (long long)w->left);
	}
	return 0;
}
