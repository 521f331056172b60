/* Many threads that wait at once, each in vain and for the same time: in poll, epoll_wait, futex,
 * nanosleep and for a condition, in turn, or all in one of these.
 *
 * Usage: crowd THREADS WAIT_MS [poll | epoll | futex | sleep | condition]
 * Prints `ready` when all are about to wait. At the end, in one line: how late the threads were in
 * the median and at most, in ns, how late the earliest was, for how long the program computed while
 * they waited, in ns, and how often threads left a processor meanwhile because they had to wait.
 */
#include "guest.h"
#include <linux/futex.h>
#include <sys/resource.h>

static const char *const kinds[] = { "poll", "epoll", "futex", "sleep", "condition" };
#define KINDS (int)COUNT(kinds)

static pthread_barrier_t all;
static int64_t *late_ns;
static long wait_ms;
static int epoll, only = -1;

static void wait_for_condition(void)
{
	struct timespec until = span_of(now_ns(CLOCK_REALTIME) + wait_ms * MS);
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

	pthread_mutex_lock(&mutex);
	while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&mutex);
}

static void *one(void *argument)
{
	long number = (long)argument;
	struct timespec span = span_of(wait_ms * MS);
	struct epoll_event event;
	int64_t begun;
	int word = 0;

	pthread_barrier_wait(&all);
	begun = now_ns(CLOCK_MONOTONIC);
	switch (only < 0 ? number % KINDS : only) {
	case 0:
		poll(NULL, 0, wait_ms);
		break;
	case 1:
		epoll_wait(epoll, &event, 1, wait_ms);
		break;
	case 2:
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &span, NULL, 0);
		break;
	case 3:
		nanosleep(&span, NULL);
		break;
	default:
		wait_for_condition();
	}
	late_ns[number] = now_ns(CLOCK_MONOTONIC) - begun - wait_ms * MS;
	return NULL;
}

static int64_t computed_ns(const struct rusage *usage)
{
	return ns_of_timeval(usage->ru_utime) + ns_of_timeval(usage->ru_stime);
}

int main(int count, char **arguments)
{
	long threads = count > 2 ? atol(arguments[1]) : 0;
	struct rusage before, after;
	pthread_attr_t small;
	pthread_t *ids;

	if (threads < 1)
		return 2;
	wait_ms = atol(arguments[2]);
	for (int kind = 0; count > 3 && kind < KINDS; kind++)
		if (!strcmp(arguments[3], kinds[kind]))
			only = kind;
	ids = calloc(threads, sizeof(*ids));
	late_ns = calloc(threads, sizeof(*late_ns));
	epoll = epoll_create1(0);
	pthread_barrier_init(&all, NULL, threads + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 65536);
	for (long thread = 0; thread < threads; thread++)
		if (pthread_create(&ids[thread], &small, one, (void *)thread))
			return 3;
	pthread_barrier_wait(&all);
	getrusage(RUSAGE_SELF, &before);
	print_line("ready");
	for (long thread = 0; thread < threads; thread++)
		pthread_join(ids[thread], NULL);
	getrusage(RUSAGE_SELF, &after);
	qsort(late_ns, threads, sizeof(*late_ns), compare_ns);
	printf("%ld %ld %ld %ld %ld\n", late_ns[threads / 2], late_ns[threads - 1], late_ns[0],
	       computed_ns(&after) - computed_ns(&before), after.ru_nvcsw - before.ru_nvcsw);
	return 0;
}
