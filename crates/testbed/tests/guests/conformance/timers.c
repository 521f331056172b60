/* timerfd_create(2), timer_create(2), setitimer(2) and alarm(2). */
#include "conformance.h"

/* Calls of timers may end with EINTR in virtual time (docs/limitations.md), which is not what is
 * looked at here: so handlers run in the waits only. */
static void let_handlers_run(int now)
{
	sigset_t set = set_of(SIGUSR1);
	sigprocmask(now ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

static void make_timerfd(struct scene *s)
{
	s->object = timerfd_create(s->call->clock, 0);
	must(s->object >= 0, "timerfd_create");
}

/* The kernel reads a setting of two times; the address of none is no address of one. */
static const struct itimerspec *as_setting(struct scene *s, struct itimerspec *room)
{
	if ((uintptr_t)s->time == 8)
		return (void *)8;
	*room = (struct itimerspec){ { 0, 0 }, *s->time };
	return room;
}

static const char *by_timerfd(struct scene *s)
{
	struct itimerspec room, left;
	uint64_t count = 0;
	int absolute = s->call->flags & ABSOLUTE ? TFD_TIMER_ABSTIME : 0;
	let_handlers_run(0);
	if (syscall(SYS_timerfd_settime, s->object, absolute, as_setting(s, &room), NULL))
		return error_name(errno);
	if (!s->asked_ns)
		return "is set";
	let_handlers_run(1);
	long result = read(s->object, &count, sizeof(count));
	int error = errno;
	let_handlers_run(0);
	must(timerfd_gettime(s->object, &left) == 0, "timerfd_gettime");
	s->left_ns = ns_of(left.it_value);
	errno = error;
	return result == 8 && count == 1 ? "expires once" : told(result, "is empty");
}

static void let_timerfd_expire(struct scene *s)
{
	struct itimerspec at_once = { { 0, 0 }, { 0, 1 } };
	must(timerfd_settime(s->object, 0, &at_once, NULL) == 0, "timerfd_settime");
}

static const char *origin(int code)
{
	return code == SI_TIMER ? " of a timer" : code == SI_KERNEL ? " of the kernel" : " of a process";
}

/* Waits for one of the signals that all threads block. */
static const char *take(struct scene *s, int signal, int64_t (*left)(struct scene *))
{
	static __thread char text[64];
	sigset_t set = set_of(signal);
	siginfo_t info;
	let_handlers_run(1);
	int taken = sigwaitinfo(&set, &info), error = errno;
	let_handlers_run(0);
	s->left_ns = left(s);
	errno = error;
	if (taken < 0)
		return error_name(errno);
	snprintf(text, sizeof(text), "a signal%s", origin(info.si_code));
	return text;
}

static int64_t left_of_timer(struct scene *s)
{
	struct itimerspec left;
	must(timer_gettime(s->timer, &left) == 0, "timer_gettime");
	return ns_of(left.it_value);
}

/* By calls, as the C library translates the numbers of timers. */
static const char *by_timer(struct scene *s)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN,
				  .sigev_value.sival_int = 7 };
	struct itimerspec room;
	int absolute = s->call->flags & ABSOLUTE ? TIMER_ABSTIME : 0;
	let_handlers_run(0);
	must(timer_create(s->call->clock, &event, &s->timer) == 0, "timer_create");
	if ((uintptr_t)s->time == 8)
		return "not asked for";
	if (timer_settime(s->timer, absolute, as_setting(s, &room), NULL))
		return error_name(errno);
	return s->asked_ns ? take(s, SIGRTMIN, left_of_timer) : "is set";
}

static int64_t left_of_itimer(struct scene *s)
{
	struct itimerval left;
	must(getitimer(ITIMER_REAL, &left) == 0, "getitimer");
	return ns_of_timeval(left.it_value);
}

static const char *by_setitimer(struct scene *s)
{
	struct itimerval t = { { 0, 0 }, { s->asked_ns / BILLION, s->asked_ns % BILLION / 1000 } };
	let_handlers_run(0);
	must(setitimer(ITIMER_REAL, &t, NULL) == 0, "setitimer");
	return take(s, SIGALRM, left_of_itimer);
}

static int64_t left_of_alarm(struct scene *s)
{
	return alarm(0) * BILLION;
}

static const char *by_alarm(struct scene *s)
{
	if (s->asked_ns < BILLION)
		s->asked_ns = BILLION;
	let_handlers_run(0);
	must(alarm(s->asked_ns / BILLION) == 0, "alarm");
	return take(s, SIGALRM, left_of_alarm);
}

#define DESCRIPTOR(clock) \
	{ "timerfd " #clock, by_timerfd, make_timerfd, NULL, let_timerfd_expire, CLOCK_##clock, 0 }, \
	{ "timerfd " #clock " ABSTIME", by_timerfd, make_timerfd, NULL, let_timerfd_expire, \
	  CLOCK_##clock, ABSOLUTE }
#define POSIX(clock) \
	{ "timer_create " #clock, by_timer, NULL, NULL, NULL, CLOCK_##clock, 0 }, \
	{ "timer_create " #clock " ABSTIME", by_timer, NULL, NULL, NULL, CLOCK_##clock, ABSOLUTE }

const struct call timers[] = {
	DESCRIPTOR(REALTIME),
	DESCRIPTOR(MONOTONIC),
	DESCRIPTOR(BOOTTIME),
	POSIX(REALTIME),
	POSIX(MONOTONIC),
	POSIX(BOOTTIME),
	{ "setitimer", by_setitimer, NULL, NULL, NULL, CLOCK_MONOTONIC, NO_TIMESPEC },
	{ "alarm", by_alarm, NULL, NULL, NULL, CLOCK_MONOTONIC, NO_TIMESPEC | SECONDS },
	{ 0 },
};
