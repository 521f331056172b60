/* Many programs with timers: half of them count the expirations of a timerfd, the others sleep to
 * absolute times. Each compares what it has counted with what its clock says, so that whatever is
 * lost or comes twice is found, and so is whoever is early.
 *
 * Usage: load PROGRAMS PERIOD_MS TICKS
 * Prints `ready`, and after the last tick of the last program how late the programs woke up.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct result {
	long long ticks, latest_ns, sum_ns;
};

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static struct timespec spec(long long ns)
{
	return (struct timespec){ ns / 1000000000, ns % 1000000000 };
}

static int note(struct result *result, long long late_ns)
{
	if (late_ns < 0)
		return 2; /* early */
	result->sum_ns += late_ns;
	if (late_ns > result->latest_ns)
		result->latest_ns = late_ns;
	return 0;
}

/* Asks when the timer expires next: all expirations before that must have been counted. */
static int whole(struct result *result, int timer, long long begin_ns, long long period_ns)
{
	for (int tries = 0; tries < 1000; tries++) {
		long long before_ns = now_ns(), due;
		struct itimerspec left;
		unsigned long long times;

		timerfd_gettime(timer, &left);
		long long left_ns = left.it_value.tv_sec * 1000000000LL + left.it_value.tv_nsec;
		if (left_ns <= 1 || now_ns() - before_ns > period_ns / 4) {
			struct timespec nap = spec(period_ns / 3);

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

static int count(struct result *result, long long period_ns, long long wanted)
{
	int timer = timerfd_create(CLOCK_MONOTONIC, 0);
	long long begin_ns = now_ns() + period_ns;
	struct itimerspec setting = { spec(period_ns), spec(begin_ns) };
	unsigned long long times;

	if (timer < 0 || timerfd_settime(timer, TFD_TIMER_ABSTIME, &setting, NULL))
		return 3;
	while (result->ticks < wanted) {
		if (read(timer, &times, sizeof times) != sizeof times)
			return 4;
		result->ticks += times;
		/* The last expiration counted cannot lie in the future: else one came twice. */
		if (note(result, now_ns() - (begin_ns + (result->ticks - 1) * period_ns)))
			return 2;
	}
	return whole(result, timer, begin_ns, period_ns);
}

static int sleeps(struct result *result, long long period_ns, long long wanted)
{
	long long begin_ns = now_ns();

	while (result->ticks < wanted) {
		long long next_ns = begin_ns + ++result->ticks * period_ns;
		struct timespec next = spec(next_ns);

		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL))
			return 5;
		if (note(result, now_ns() - next_ns))
			return 2;
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 64;
	int programs = atoi(argv[1]), status, failed = 0;
	long long period_ns = atoll(argv[2]) * 1000000, ticks = atoll(argv[3]);
	long long latest_ns = 0, sum_ns = 0, counted = 0;
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
	puts("ready");
	fflush(stdout);
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
	printf("%d programs, %lld ticks, late by %.1f us in the mean, %.1f us at most, %d failed\n",
	       programs, counted, sum_ns / 1e3 / counted, latest_ns / 1e3, failed);
	return failed != 0 || counted < programs * ticks;
}
