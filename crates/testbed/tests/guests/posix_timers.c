/* What timer_create(2) and its kin promise beyond that a timer expires: which arguments are wrong and
 * in which order that is looked at, how often a timer has expired beyond what its signal told, that
 * no timer takes the signal of another one, and limits. Prints one line for each check, the same
 * natively and in virtual time. */
#include "guest.h"
#include <limits.h>
#include <sys/prctl.h>
#include <sys/resource.h>

/* The calls themselves: the C library looks at some arguments before the kernel does. */
static int create(int clock, struct sigevent *event, int *id)
{
	return syscall(SYS_timer_create, clock, event, id);
}

static int set(int id, int flags, struct itimerspec *to, struct itimerspec *was)
{
	return syscall(SYS_timer_settime, id, flags, to, was);
}

static void kinds(void)
{
	static const int wrong[] = { 3, 5, 6, 8, 16, -1, 1 << 20 };
	int id, refused = 1;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		struct sigevent event = { .sigev_signo = SIGUSR1, .sigev_notify = wrong[i] };
		refused &= fails(create(CLOCK_MONOTONIC, &event, &id), EINVAL);
	}
	check("kinds of notification that are none are refused", refused);
	struct sigevent event = { .sigev_notify = SIGEV_NONE, .sigev_signo = 777 };
	check("who is told nothing names no signal", create(CLOCK_REALTIME, &event, &id) == 0);
	syscall(SYS_timer_delete, id);
	event = (struct sigevent){ .sigev_notify = SIGEV_SIGNAL, .sigev_signo = 65 };
	check("signals that are none are refused", fails(create(CLOCK_REALTIME, &event, &id), EINVAL));
	event = (struct sigevent){ .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	event._sigev_un._tid = 1;
	check("threads of others are refused", fails(create(CLOCK_REALTIME, &event, &id), EINVAL));
	event._sigev_un._tid = gettid();
	check("an own thread is not", create(CLOCK_REALTIME, &event, &id) == 0);
	syscall(SYS_timer_delete, id);
	check("a place for the number must be there", fails(create(CLOCK_REALTIME, NULL, NULL), EFAULT));
	check("an event must be there", fails(create(CLOCK_REALTIME, (void *)8, &id), EFAULT));
	check("a clock must be one", fails(create(77, NULL, &id), EINVAL));
	check("a coarse clock has no timers", fails(create(CLOCK_MONOTONIC_COARSE, NULL, &id), EOPNOTSUPP));
}

static void arguments(void)
{
	int id;
	struct itimerspec to = setting(60 * BILLION, 7 * MS), was;
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	create(CLOCK_MONOTONIC, &event, &id);
	check("a timer is read to somewhere", fails(syscall(SYS_timer_gettime, id, NULL), EFAULT));
	check("a wrong timer comes before that", fails(syscall(SYS_timer_gettime, id + 100, NULL), EINVAL));
	check("a timer is set to something", fails(set(id, 0, NULL, NULL), EINVAL));
	check("a setting must be there", fails(set(id, 0, (void *)8, NULL), EFAULT));
	check("a place for what it was too", fails(set(id, 0, &to, (void *)8), EFAULT));
	check("though it is set by then", syscall(SYS_timer_gettime, id, &was) == 0 && was.it_value.tv_sec > 50);
	struct itimerspec wrong = { { 0, 0 }, { 0, BILLION } };
	check("a setting must be a time", fails(set(id, 0, &wrong, NULL), EINVAL));
	wrong = (struct itimerspec){ { -1, 0 }, { 1, 0 } };
	check("and so must a period", fails(set(id, 0, &wrong, NULL), EINVAL));
	check("flags that are none are none", set(id, 1 << 8, &to, &was) == 0);
	check("what it was has its period", was.it_interval.tv_nsec == 7 * MS && was.it_value.tv_sec > 50);
	to = setting(0, 0);
	check("disarmed, it tells once more", set(id, 0, &to, &was) == 0 && was.it_interval.tv_nsec == 7 * MS);
	check("an overrun of no timer", fails(syscall(SYS_timer_getoverrun, id + 100), EINVAL));
	syscall(SYS_timer_delete, id);
	struct itimerval interval = { { 3, 5 }, { 100, 7 } }, before;
	setitimer(ITIMER_REAL, &interval, NULL);
	check("an interval is read to somewhere", fails(syscall(SYS_getitimer, ITIMER_REAL, NULL), EFAULT));
	check("an interval is one of three", fails(syscall(SYS_getitimer, 3, &before), EINVAL));
	interval.it_value.tv_usec = 1000000;
	check("an interval must be a time", fails(setitimer(ITIMER_REAL, &interval, NULL), EINVAL));
	check("without a setting it is disarmed", syscall(SYS_setitimer, ITIMER_REAL, NULL, &before) == 0 &&
						  before.it_interval.tv_sec == 3 &&
						  before.it_interval.tv_usec == 5 &&
						  before.it_value.tv_sec >= 90 && alarm(0) == 0);
	int fd = timerfd_create(CLOCK_REALTIME, 0);
	to = setting(60 * BILLION, 2 * BILLION + 3);
	check("a descriptor is set to something", fails(syscall(SYS_timerfd_settime, fd, 0, NULL, NULL), EFAULT));
	check("a descriptor is set", timerfd_settime(fd, 0, &to, NULL) == 0);
	to = setting(0, 0);
	check("and tells what it was", timerfd_settime(fd, 0, &to, &was) == 0 && was.it_value.tv_sec > 50 &&
				       was.it_interval.tv_sec == 2 && was.it_interval.tv_nsec == 3);
	check("a descriptor is read to somewhere", fails(syscall(SYS_timerfd_gettime, fd, NULL), EFAULT));
	close(fd);
}

static volatile sig_atomic_t signals, told_overrun;
static volatile uintptr_t values;

static void handler(int signal, siginfo_t *info, void *context)
{
	signals++;
	told_overrun = info->si_overrun;
	values |= 1u << info->si_value.sival_int;
}

static void wait_for(int count)
{
	sigset_t none;
	sigemptyset(&none);
	while (signals < count)
		sigsuspend(&none);
}

static void overruns(int signal)
{
	int id;
	char what[80];
	sigset_t own = set_of(signal), before;
	sigprocmask(SIG_BLOCK, &own, &before);
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = signal };
	create(CLOCK_REALTIME, &event, &id);
#define WHAT(text) (snprintf(what, sizeof what, "signal %s: %s", signal == SIGUSR1 ? "once" : "queued", text), what)
	/* Since 1970: more than an int holds. */
	struct itimerspec to = setting(1, 1), none = setting(0, 0);
	signals = 0;
	check(WHAT("a timer of a nanosecond in the past"), set(id, TIMER_ABSTIME, &to, NULL) == 0);
	wait_for(1);
	set(id, 0, &none, NULL);
	check(WHAT("has expired as often as an int holds"), told_overrun == INT_MAX);
	sigprocmask(SIG_SETMASK, &before, NULL);
	sigprocmask(SIG_BLOCK, &own, NULL);
	syscall(SYS_timer_delete, id);
	/* While its signal waits, it is not sent again, and counts. */
	create(CLOCK_MONOTONIC, &event, &id);
	to = setting(10 * MS, 10 * MS);
	signals = 0;
	set(id, 0, &to, NULL);
	check(WHAT("no overrun before anything"), syscall(SYS_timer_getoverrun, id) == 0);
	usleep(105000);
	int waits = signals == 0;
	wait_for(1);
	check(WHAT("waits while it is blocked, and is delivered once"), waits && signals == 1);
	set(id, 0, &none, NULL);
	syscall(SYS_timer_delete, id);
	sigprocmask(SIG_SETMASK, &before, NULL);
	/* The count of the last one that was delivered. */
	sigprocmask(SIG_BLOCK, &own, NULL);
	create(CLOCK_MONOTONIC, &event, &id);
	signals = 0;
	to = setting(20 * MS, 20 * MS);
	set(id, 0, &to, NULL);
	usleep(400000);
	wait_for(1);
	int overrun = syscall(SYS_timer_getoverrun, id);
	set(id, 0, &none, NULL);
	check(WHAT("tells what came beyond it"), overrun >= 6);
	syscall(SYS_timer_delete, id);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Timers of one signal that expire together: each is told. */
static void together(void)
{
	enum { COUNT = 8 };
	int ids[COUNT];
	sigset_t own = set_of(SIGRTMIN + 4), before;
	sigprocmask(SIG_BLOCK, &own, &before);
	signals = 0;
	values = 0;
	for (int i = 0; i < COUNT; i++) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4 };
		event.sigev_value.sival_int = i;
		create(CLOCK_MONOTONIC, &event, &ids[i]);
		struct itimerspec to = setting(20 * MS, 0);
		set(ids[i], 0, &to, NULL);
	}
	usleep(80000);
	wait_for(COUNT);
	sigprocmask(SIG_SETMASK, &before, NULL);
	check("eight timers of one signal are told eight times", signals == COUNT && values == (1u << COUNT) - 1);
	for (int i = 0; i < COUNT; i++)
		syscall(SYS_timer_delete, ids[i]);
}

/* A timer on an alarm clock, where there is one: what natively is refused is refused. */
static void alarm_clocks(void)
{
	static const int clocks[] = { CLOCK_REALTIME_ALARM, CLOCK_BOOTTIME_ALARM };
	for (int i = 0; i < 2; i++) {
		int id, result = create(clocks[i], NULL, &id);
		printf("alarm clock %d: %s\n", clocks[i], result == 0 ? "is there" : strerror(errno));
		if (result == 0)
			syscall(SYS_timer_delete, id);
	}
}

static void limits(void)
{
	enum { LIMIT = 50 };
	int ids[LIMIT * 2], made = 0, more;
	struct rlimit limit = { LIMIT, LIMIT };
	setrlimit(RLIMIT_SIGPENDING, &limit);
	/* The kernel counts what else this user has pending, too. */
	while (made < LIMIT * 2 && create(CLOCK_MONOTONIC, NULL, &ids[made]) == 0)
		made++;
	check("a limit of pending signals is one of timers", made <= LIMIT && errno == EAGAIN);
	for (int i = 0; i < made; i++)
		syscall(SYS_timer_delete, ids[i]);
	/* Others of this user may have more pending for a moment. */
	for (int tries = 0; tries < 1000; tries++, usleep(2000)) {
		for (more = 0; more < made && create(CLOCK_MONOTONIC, NULL, &ids[more]) == 0; more++)
			;
		for (int i = 0; i < more; i++)
			syscall(SYS_timer_delete, ids[i]);
		if (more == made)
			break;
	}
	check("those that are gone count no more", more == made);
}

/* Whose memory nobody may look at. */
static void closed(void)
{
	int id, status;
	if (fork() == 0) {
		prctl(PR_SET_DUMPABLE, 0);
		struct itimerspec to = setting(5 * MS, 0);
		signals = 0;
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4 };
		int made = create(CLOCK_MONOTONIC, &event, &id) == 0 && set(id, 0, &to, NULL) == 0;
		while (made && signals < 1)
			usleep(1000);
		_exit(made ? 0 : 1);
	}
	wait(&status);
	check("a program that is closed to others has timers", status == 0);
}

/* Whose user has as many signals queued as may be, for a while. */
static void crowded(void)
{
	int id, status;
	if (fork() == 0) {
		struct itimerspec to = setting(5 * MS, 0);
		struct timespec none = { 0, 0 };
		struct rlimit few = { 20, 20 };
		sigset_t other = set_of(SIGRTMIN + 5);
		signals = 0;
		sigprocmask(SIG_BLOCK, &other, NULL);
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 4 };
		int made = create(CLOCK_MONOTONIC, &event, &id) == 0 && setrlimit(RLIMIT_SIGPENDING, &few) == 0;
		while (sigqueue(getpid(), SIGRTMIN + 5, (union sigval){ 0 }) == 0)
			;
		made = made && set(id, 0, &to, NULL) == 0;
		usleep(30000);
		while (sigtimedwait(&other, NULL, &none) > 0)
			;
		while (made && signals < 1)
			usleep(1000);
		_exit(made ? 0 : 1);
	}
	wait(&status);
	check("a timer whose signal finds no room tells later", status == 0);
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGRTMIN + 4, &action, NULL);
	print_line("ready");
	kinds();
	arguments();
	overruns(SIGUSR1);
	overruns(SIGRTMIN + 4);
	together();
	alarm_clocks();
	closed();
	crowded();
	limits();
	return 0;
}
