/* A process in a time namespace of its own: its clocks since the start of the machine are shifted, once
 * and for reading, waiting and timers alike; the time of day is not. Prints one line for each check, the
 * same natively and in virtual time; "not measured" where no such namespace may be made. */
#include "guest.h"
#include <sched.h>
#include <sys/sysinfo.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
#define MONOTONIC_AHEAD (100000 * BILLION + 5)
#define BOOTTIME_AHEAD (-40 * BILLION)

static void checks(const char *who, const char *what, int holds)
{
	printf("%s: ", who);
	check(what, holds);
}

/* Not before, and within the seconds that a busy machine may need. */
static int soon(int64_t passed, int64_t wanted)
{
	return passed >= wanted && passed < wanted + 15 * BILLION;
}

static const int clocks[] = { CLOCK_MONOTONIC, CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_COARSE,
			      CLOCK_BOOTTIME, CLOCK_REALTIME, CLOCK_TAI };
static const char *const names[] = { "monotonic", "raw", "coarse", "boottime", "realtime", "tai" };

static void waits(const char *who, int clock)
{
	char what[60];
	struct timespec until;
	struct itimerspec set = { { 0, 0 }, { 0, 0 } };
	uint64_t count;
	int64_t begun = now_ns(CLOCK_REALTIME), due = now_ns(clock) + 40 * MS;
	until = set.it_value = span_of(due);
	clock_nanosleep(clock, TIMER_ABSTIME, &until, NULL);
	snprintf(what, sizeof what, "sleeps until a time of clock %d", clock);
	checks(who, what, now_ns(clock) >= due && soon(now_ns(CLOCK_REALTIME) - begun, 40 * MS));
	begun = now_ns(CLOCK_REALTIME);
	due = now_ns(clock) + 40 * MS;
	set.it_value = span_of(due);
	int fd = timerfd_create(clock, 0);
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, NULL);
	int whole = read(fd, &count, sizeof count) == sizeof count;
	close(fd);
	snprintf(what, sizeof what, "has a descriptor until a time of clock %d", clock);
	checks(who, what, whole && now_ns(clock) >= due && soon(now_ns(CLOCK_REALTIME) - begun, 40 * MS));
	struct itimerspec left;
	timer_t id;
	struct sigevent event = { .sigev_notify = SIGEV_NONE };
	due = now_ns(clock) + 60 * BILLION;
	set.it_value = span_of(due);
	timer_create(clock, &event, &id);
	timer_settime(id, TIMER_ABSTIME, &set, NULL);
	timer_gettime(id, &left);
	snprintf(what, sizeof what, "has a timer until a time of clock %d", clock);
	checks(who, what, left.it_value.tv_sec > 40 && left.it_value.tv_sec <= 60);
	timer_delete(id);
}

static void shifted(const char *who, const int64_t *parents)
{
	static const int64_t ahead[] = { MONOTONIC_AHEAD, MONOTONIC_AHEAD, MONOTONIC_AHEAD,
					 BOOTTIME_AHEAD, 0, 0 };
	char what[60];
	for (int i = 0; i < 6; i++) {
		snprintf(what, sizeof what, "%s is ahead as it should be", names[i]);
		/* The coarse clock lags natively, by a tick of 10 ms at most. */
		checks(who, what, soon(now_ns(clocks[i]) - parents[i] - ahead[i] + 10 * MS, 0));
		snprintf(what, sizeof what, "%s by a call too", names[i]);
		checks(who, what, soon(now_ns_by_call(clocks[i]) - parents[i] - ahead[i] + 10 * MS, 0));
	}
	waits(who, CLOCK_MONOTONIC);
	waits(who, CLOCK_BOOTTIME);
	struct sysinfo info;
	sysinfo(&info);
	int64_t off = info.uptime - now_ns(CLOCK_BOOTTIME) / BILLION;
	checks(who, "is up for as long as its clock says", off >= -2 && off <= 2);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition;
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&condition, &attributes);
	int64_t begun = now_ns(CLOCK_REALTIME), due = now_ns(CLOCK_MONOTONIC) + 40 * MS;
	struct timespec until = span_of(due);
	pthread_mutex_lock(&mutex);
	int ended = pthread_cond_timedwait(&condition, &mutex, &until);
	checks(who, "waits for a condition until then",
	      ended == ETIMEDOUT && soon(now_ns(CLOCK_REALTIME) - begun, 40 * MS));
	begun = now_ns(CLOCK_REALTIME);
	usleep(40000);
	checks(who, "sleeps for a time", soon(now_ns(CLOCK_REALTIME) - begun, 40 * MS));
}

static int enter(void)
{
	char offsets[120];
	/* Shifts are written by who may set clocks in the user namespace that the other belongs to. */
	if (unshare(CLONE_NEWTIME) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWTIME) != 0)
		return 0;
	int fd = open("/proc/self/timens_offsets", O_WRONLY);
	int length = snprintf(offsets, sizeof offsets, "monotonic %lld %lld\nboottime %lld 0\n",
			      MONOTONIC_AHEAD / BILLION, MONOTONIC_AHEAD % BILLION, BOOTTIME_AHEAD / BILLION);
	int whole = fd >= 0 && write(fd, offsets, length) == length;
	close(fd);
	return whole;
}

int main(int count, char **arguments)
{
	int64_t parents[6];
	if (count == 7) {
		for (int i = 0; i < 6; i++)
			parents[i] = strtoll(arguments[i + 1], NULL, 10);
		shifted("after exec", parents);
		return 0;
	}
	if (!enter()) {
		printf("not measured: no time namespace may be made here\n");
		return 0;
	}
	for (int i = 0; i < 6; i++)
		parents[i] = now_ns(clocks[i]);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		char text[6][24];
		shifted("child", parents);
		if (fork() == 0) {
			shifted("grandchild", parents);
			_exit(0);
		}
		wait(NULL);
		char *next[8] = { "/proc/self/exe" };
		for (int i = 0; i < 6; i++) {
			snprintf(text[i], sizeof text[i], "%lld", (long long)parents[i]);
			next[i + 1] = text[i];
		}
		execv(next[0], next);
		_exit(1);
	}
	waitpid(child, NULL, 0);
	int64_t later = now_ns(CLOCK_MONOTONIC);
	checks("parent", "is where it was", later >= parents[0] && later < parents[0] + 60 * BILLION);
	waits("parent", CLOCK_MONOTONIC);
	return 0;
}
