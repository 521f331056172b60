/* Timers of every kind: each expires as often as it should and never early, reads back what was
 * set, and is gone when it is deleted. Prints one line for each check, the same natively and in
 * virtual time; how late a timer was goes to standard error, in microseconds. */
#include "guest.h"
#include <sys/prctl.h>

/* Whether not before `due`; says how much later. */
static int not_early(const char *what, int clock, int64_t due)
{
	int64_t late = now_ns(clock) - due;
	fprintf(stderr, "%s\t%lld\n", what, (long long)(late / 1000));
	return late >= 0;
}

static void descriptors(int clock, const char *name)
{
	char what[80];
	uint64_t count = 0;
	struct itimerspec left;
	int fd = timerfd_create(clock, TFD_CLOEXEC);
	int64_t begun = now_ns(clock);
	struct itimerspec set = setting(80 * MS, 30 * MS);
#define WHAT(text) (snprintf(what, sizeof what, "timerfd %s %s", name, text), what)
	check(WHAT("is set"), timerfd_settime(fd, 0, &set, NULL) == 0);
	timerfd_gettime(fd, &left);
	check(WHAT("tells its period"), left.it_interval.tv_nsec == 30 * MS);
	check(WHAT("has some time left"), left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 80 * MS);
	check(WHAT("is read"), read(fd, &count, sizeof count) == 8 && count >= 1);
	check(WHAT("is not early"), not_early(name, clock, begun + 80 * MS + (int64_t)(count - 1) * 30 * MS));
	usleep(100000);
	uint64_t more = 0, next;
	struct pollfd ready = { fd, POLLIN, 0 };
	check(WHAT("is ready"), poll(&ready, 1, -1) == 1);
	/* All at once, unless the machine is slow. */
	for (; more < 3; more += next)
		if (read(fd, &next, sizeof next) != 8)
			break;
	check(WHAT("counts what was missed"), more >= 3);
	check(WHAT("counts nothing twice"),
	      begun + 80 * MS + (int64_t)(count + more - 1) * 30 * MS <= now_ns(clock));
	set = setting(0, 0);
	check(WHAT("tells what it was"), timerfd_settime(fd, 0, &set, &left) == 0 &&
					 left.it_interval.tv_nsec == 30 * MS);
	check(WHAT("is silent when disarmed"), poll(&ready, 1, 80) == 0);
	int64_t due = now_ns(clock) + 40 * MS;
	set = setting(due, 0);
	check(WHAT("takes an absolute time"), timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, NULL) == 0);
	check(WHAT("waits for it"), poll(&ready, 1, -1) == 1 && not_early(name, clock, due));
	set = setting(1, 0);
	check(WHAT("fires at once in the past"), timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, NULL) == 0 &&
						 read(fd, &count, sizeof count) == 8 && count == 1);
	close(fd);
}

static void mistakes(void)
{
	struct itimerspec set = setting(MS, 0), wrong = { { 0, 0 }, { 0, BILLION } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	timer_t id;
	check("timerfd: no descriptor", fails(timerfd_settime(99, 0, &set, NULL), EBADF));
	check("timerfd: no timer", fails(timerfd_settime(0, 0, &set, NULL), EINVAL));
	check("timerfd: no time", fails(timerfd_settime(fd, 0, &wrong, NULL), EINVAL));
	check("timerfd: no flag", fails(timerfd_settime(fd, 64, &set, NULL), EINVAL));
	check("timerfd: no setting", fails(timerfd_settime(fd, 0, (void *)8, NULL), EFAULT));
	check("timer: no clock", fails(timer_create(99, NULL, &id), EINVAL));
	check("timer: no timer", fails(timer_settime((timer_t)77, 0, &set, NULL), EINVAL));
	close(fd);
}

/* Whether epoll goes on telling of a timerfd that was set and that everybody has closed: first waited
 * for if it is to have expired before. Who lets it expire may need a moment to let it go. */
static int told_of_closed(struct itimerspec set, int expires_first)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), poller = epoll_create1(0), quiet = 0, round;
	struct epoll_event event = { .events = EPOLLIN };
	epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
	timerfd_settime(fd, 0, &set, NULL);
	if (expires_first)
		epoll_wait(poller, &event, 1, 5000);
	close(fd);
	for (round = 0; quiet < 5 && round < 500; round++) {
		usleep(10000);
		quiet = epoll_wait(poller, &event, 1, 10) > 0 ? 0 : quiet + 1;
	}
	close(poller);
	return quiet < 5;
}

/* Made, set and closed again and again, waited for or not; answers how many could not be set. */
static int refused(int count, int64_t first, int reads)
{
	struct itimerspec set = setting(first, 0);
	uint64_t times;
	int i, failed = 0;
	for (i = 0; i < count; i++) {
		int fd = timerfd_create(CLOCK_MONOTONIC, 0);
		failed += timerfd_settime(fd, 0, &set, NULL) != 0;
		if (reads && read(fd, &times, sizeof(times)) != sizeof(times))
			failed++;
		close(fd);
	}
	return failed;
}

/* A timerfd that a child has, when who set it has closed it. */
static int inherited(void)
{
	struct itimerspec set = setting(20 * MS, 20 * MS);
	int fd = timerfd_create(CLOCK_MONOTONIC, 0), status = 0;
	uint64_t times;
	timerfd_settime(fd, 0, &set, NULL);
	pid_t child = fork();
	if (child == 0) {
		int i, came = 0;
		for (i = 0; i < 5; i++)
			came += read(fd, &times, sizeof(times)) == sizeof(times);
		_exit(came);
	}
	close(fd);
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void closed(void)
{
	/* Of what is closed to its user, nobody else can tell what it has. */
	check("timerfd: closed, periodic",
	      !prctl(PR_GET_DUMPABLE) || !told_of_closed(setting(MS, MS), 0));
	check("timerfd: closed, once", !told_of_closed(setting(10 * MS, 0), 0));
	check("timerfd: expired and closed", !told_of_closed(setting(MS, 0), 1));
	check("timerfd: many, one after the other", refused(600, 1000, 1) == 0);
	check("timerfd: many, closed before they expire", refused(600, 3600 * BILLION, 0) == 0);
	check("timerfd: a child has it", inherited() == 5);
}

static volatile int signals, last_value, last_code;

static void handler(int signal, siginfo_t *info, void *context)
{
	signals++;
	last_value = info->si_value.sival_int;
	last_code = info->si_code;
}

static void count(union sigval value)
{
	__sync_fetch_and_add((int *)value.sival_ptr, 1);
}

static void posix(void)
{
	struct itimerspec left;
	timer_t id;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3 };
	event.sigev_value.sival_int = 7;
	check("timer is made", timer_create(CLOCK_MONOTONIC, &event, &id) == 0);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	struct itimerspec set = setting(40 * MS, 40 * MS);
	signals = 0;
	check("timer is set", timer_settime(id, 0, &set, NULL) == 0);
	while (signals < 3)
		pause();
	check("timer is not early", not_early("timer", CLOCK_MONOTONIC, begun + 120 * MS));
	check("timer gives its value", last_value == 7 && last_code == SI_TIMER);
	timer_gettime(id, &left);
	check("timer has some time left", left.it_value.tv_nsec > 0 && left.it_value.tv_nsec <= 40 * MS);
	check("timer is deleted", timer_delete(id) == 0);
	check("timer is gone", fails(timer_delete(id), EINVAL));

	int calls = 0;
	event = (struct sigevent){ .sigev_notify = SIGEV_THREAD, .sigev_notify_function = count };
	event.sigev_value.sival_ptr = &calls;
	check("timer with a thread is made", timer_create(CLOCK_REALTIME, &event, &id) == 0);
	set = setting(20 * MS, 20 * MS);
	timer_settime(id, 0, &set, NULL);
	while (__sync_fetch_and_add(&calls, 0) < 3)
		usleep(1000);
	check("timer with a thread calls", 1);
	timer_delete(id);

	event = (struct sigevent){ .sigev_notify = SIGEV_NONE };
	timer_create(CLOCK_BOOTTIME, &event, &id);
	set = setting(1000 * MS, 0);
	timer_settime(id, 0, &set, NULL);
	timer_gettime(id, &left);
	check("timer that only counts", left.it_value.tv_sec * BILLION + left.it_value.tv_nsec > 0);
	timer_delete(id);
	check("timer of processor time", timer_create(CLOCK_PROCESS_CPUTIME_ID, NULL, &id) == 0 &&
					 timer_delete(id) == 0);
}

static void intervals(void)
{
	struct itimerval left, none = { { 0, 0 }, { 0, 0 } };
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	struct itimerval set = { { 0, 50000 }, { 0, 50000 } };
	signals = 0;
	check("itimer is set", setitimer(ITIMER_REAL, &set, NULL) == 0);
	while (signals < 3)
		pause();
	check("itimer is not early", not_early("itimer", CLOCK_MONOTONIC, begun + 150 * MS));
	getitimer(ITIMER_REAL, &left);
	check("itimer has some time left", left.it_value.tv_usec > 0 && left.it_value.tv_usec <= 50000);
	setitimer(ITIMER_REAL, &none, NULL);
	check("itimer of processor time", setitimer(ITIMER_VIRTUAL, &none, NULL) == 0);
	begun = now_ns(CLOCK_MONOTONIC);
	signals = 0;
	check("alarm is set", alarm(1) == 0);
	usleep(200000);
	check("alarm tells what it was", alarm(1) == 1);
	begun = now_ns(CLOCK_MONOTONIC);
	while (signals < 1)
		pause();
	check("alarm is not early", not_early("alarm", CLOCK_MONOTONIC, begun + 990 * MS));
	/* Over exec the interval timer stays: the new program dies of it. */
	pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		struct itimerval soon = { { 0, 0 }, { 0, 100000 } };
		setitimer(ITIMER_REAL, &soon, NULL);
		execlp("sleep", "sleep", "60", NULL);
		_exit(1);
	}
	int status;
	waitpid(child, &status, 0);
	check("itimer stays over exec", WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM);
}

/* With any argument, closed to others of its user. */
int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };
	if (argc > 1 && prctl(PR_SET_DUMPABLE, 0))
		return 2;
	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGRTMIN + 3, &action, NULL);
	print_line("ready");
	descriptors(CLOCK_MONOTONIC, "monotonic");
	descriptors(CLOCK_REALTIME, "realtime");
	descriptors(CLOCK_BOOTTIME, "boottime");
	mistakes();
	closed();
	posix();
	intervals();
	return 0;
}
