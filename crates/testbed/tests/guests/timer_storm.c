/* A program that does to timers what it can, beside one that needs them.
 *
 * timer_storm KIND SECONDS [TIMERS]: the hostile one. Says "storm" when it has begun, and goes on until it is
 * killed or the time of the host's is over.
 * timer_storm: waits for a timerfd, beside a thread that works and rests as the agent of a storm does, and
 * prints by how many microseconds the median of each was late, then makes sure that timers may still be
 * made. */
#include "silent.h"
#include <sys/resource.h>

static void begun(const char *what)
{
	printf("storm %s\n", what);
	fflush(stdout);
}

/* Always due. */
static void fast(int count)
{
	struct itimerspec set = { { 0, 1 }, { 0, 1 } };
	for (int i = 0; i < count; i++)
		timerfd_settime(timerfd_create(CLOCK_MONOTONIC, 0), 0, &set, NULL);
	begun("fast");
}

/* All that can be had. */
static void many(int most)
{
	struct rlimit limit;
	struct itimerspec set = { { 0, 0 }, { 3600, 0 } };
	timer_t id;
	int timers = 0, descriptors = 0;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max = 1 << 20;
	setrlimit(RLIMIT_SIGPENDING, &limit);
	for (int fd; (fd = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0; descriptors++)
		if (timerfd_settime(fd, 0, &set, NULL) != 0)
			break;
	for (int i = 0; i < most && syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, &id) == 0; i++)
		timers++;
	begun("many");
	fprintf(stderr, "%d timers, %d descriptors\n", timers, descriptors);
}

static char *missing;

static void *reads(void *call)
{
	if ((intptr_t)call % 2)
		setitimer(ITIMER_REAL, (void *)missing, NULL);
	else
		timerfd_settime(timerfd_create(CLOCK_MONOTONIC, 0), 0, (void *)(missing + 4096), NULL);
	return NULL;
}

/* Timers that are set from memory which never comes. */
static void faults(void)
{
	missing = silent_memory(0, 8192);
	if (!missing) {
		begun("not measured: no userfaultfd here");
		return;
	}
	for (intptr_t i = 0; i < 8; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, reads, (void *)i);
	}
	usleep(100000);
	begun("faults");
}

enum { COUNT = 101, PERIOD = 5000000 };
static int64_t timer[COUNT], worker[COUNT];

static void sleep_until(int64_t due)
{
	struct timespec until = span_of(due);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* Takes half of a processor, in rounds, and looks at the beginning of each for what is due: a scheduler
 * that has others to serve lets it wait for as long as anybody who takes so much. */
static void *works(void *unused)
{
	enum { ROUND = 500000, REST_MAX = 1000000 };
	int64_t due = now_ns(CLOCK_MONOTONIC) + PERIOD;
	for (int i = 0; i < COUNT;) {
		int64_t begun = now_ns(CLOCK_MONOTONIC), now = begun;
		if (begun >= due) {
			worker[i++] = begun - due;
			due = begun + PERIOD;
		}
		while (now < begun + ROUND)
			now = now_ns(CLOCK_MONOTONIC);
		sleep_until(now + (now - begun < REST_MAX ? now - begun : REST_MAX));
	}
	return unused;
}

static int measure(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, works, NULL) != 0)
		return 1;
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	for (int i = 0; i < COUNT; i++) {
		int64_t due = now_ns(CLOCK_MONOTONIC) + PERIOD;
		uint64_t count;
		struct itimerspec set = setting(due, 0);
		if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &set, NULL) != 0 || read(fd, &count, 8) != 8)
			return 1;
		timer[i] = now_ns(CLOCK_MONOTONIC) - due;
	}
	pthread_join(thread, NULL);
	qsort(timer, COUNT, sizeof *timer, compare_ns);
	qsort(worker, COUNT, sizeof *worker, compare_ns);
	printf("measured %lld %lld\n", (long long)timer[COUNT / 2] / 1000, (long long)worker[COUNT / 2] / 1000);
	timer_t id;
	return timer_create(CLOCK_REALTIME, NULL, &id) != 0;
}

int main(int count, char **arguments)
{
	if (count < 3)
		return measure();
	if (strcmp(arguments[1], "fast") == 0)
		fast(900);
	else if (strcmp(arguments[1], "many") == 0)
		many(count > 3 ? atoi(arguments[3]) : 5000);
	else
		faults();
	sleep(atoi(arguments[2]));
	return 0;
}
