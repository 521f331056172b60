/* Many programs with timers: half of them count the expirations of a timerfd, the others sleep to
 * absolute times. Each compares what it has counted with what its clock says, so that whatever is
 * lost or comes twice is found, and so is one that is early.
 *
 * Usage: load PROGRAMS PERIOD_MS TICKS
 * Prints `ready`, and after the last tick of the last program how late the programs woke up.
 */
#include "guest.h"

struct result {
	int64_t ticks, latest_ns, sum_ns;
};

static int note(struct result *result, int64_t late_ns)
{
	if (late_ns < 0)
		return 2; /* early */
	result->sum_ns += late_ns;
	if (late_ns > result->latest_ns)
		result->latest_ns = late_ns;
	return 0;
}

/* Asks when the timer expires next: all expirations before that must have been counted. */
static int whole(struct result *result, int timer, int64_t begin_ns, int64_t period_ns)
{
	for (int tries = 0; tries < 1000; tries++) {
		int64_t before_ns = now_ns(CLOCK_MONOTONIC), due;
		struct itimerspec left;
		uint64_t times;

		timerfd_gettime(timer, &left);
		int64_t left_ns = ns_of(left.it_value);
		if (left_ns <= 1 || now_ns(CLOCK_MONOTONIC) - before_ns > period_ns / 4) {
			struct timespec nap = span_of(period_ns / 3);

			nanosleep(&nap, NULL);
			continue; /* it is late just now, or this is */
		}
		due = (before_ns + left_ns - begin_ns + period_ns / 2) / period_ns;
		fcntl(timer, F_SETFL, O_NONBLOCK);
		if (read(timer, &times, sizeof times) == sizeof times)
			result->ticks += times;
		return result->ticks < due ? 6 : 0;
	}
	return 7;
}

static int count(struct result *result, int64_t period_ns, int64_t wanted)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	int64_t begin_ns = now_ns(CLOCK_MONOTONIC) + period_ns;
	struct itimerspec wanted_times = setting(begin_ns, period_ns);
	uint64_t times;

	if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &wanted_times, NULL))
		return 3;
	while (result->ticks < wanted) {
		if (read(timer, &times, sizeof times) != sizeof times)
			return 4;
		result->ticks += times;
		/* The last expiration counted cannot lie in the future: else one came twice. */
		if (note(result, now_ns(CLOCK_MONOTONIC) - (begin_ns + (result->ticks - 1) * period_ns)))
			return 2;
	}
	return whole(result, timer, begin_ns, period_ns);
}

static int sleeps(struct result *result, int64_t period_ns, int64_t wanted)
{
	int64_t begin_ns = now_ns(CLOCK_MONOTONIC);

	while (result->ticks < wanted) {
		int64_t next_ns = begin_ns + ++result->ticks * period_ns;
		struct timespec next = span_of(next_ns);

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
			return 5;
		if (note(result, now_ns(CLOCK_MONOTONIC) - next_ns))
			return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 64;
	int programs = atoi(argv[1]), status, failed = 0;
	int64_t period_ns = atoll(argv[2]) * 1000000, ticks = atoll(argv[3]);
	int64_t latest_ns = 0, sum_ns = 0, counted = 0;
	size_t size = programs * sizeof(struct result);
	struct result *results =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < programs; i++) {
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (child == 0)
			_exit((i % 2 ? sleeps : count)(&results[i], period_ns, ticks));
	}
	print_line("ready");
	while (wait(&status) > 0)
		if (status) {
			printf("a program ended with %d\n", WEXITSTATUS(status));
			failed++;
		}
	for (int i = 0; i < programs; i++) {
		counted += results[i].ticks;
		sum_ns += results[i].sum_ns;
		if (results[i].latest_ns > latest_ns)
			latest_ns = results[i].latest_ns;
	}
	printf("%d programs, %ld ticks, late by %.1f us in the mean, %.1f us at most, %d failed\n",
	       programs, counted, sum_ns / 1e3 / counted, latest_ns / 1e3, failed);
	return failed != 0 || counted < programs * ticks;
}
