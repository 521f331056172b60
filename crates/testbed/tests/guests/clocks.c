/* Reads every clock by the vDSO and by system calls, in turn: they must agree, that is, never go
 * back from one reading to the next, whichever way it is taken. Prints what disagrees, then
 * "monotonic" and "realtime" in nanoseconds. With a number, computes for that many milliseconds
 * of processor time in between and prints how far each clock got. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "processor.h"

#define BILLION 1000000000ll

static const struct {
	int id;
	const char *name;
} clocks[] = {
	{ CLOCK_REALTIME, "REALTIME" },		{ CLOCK_MONOTONIC, "MONOTONIC" },
	{ CLOCK_MONOTONIC_RAW, "MONOTONIC_RAW" }, { CLOCK_BOOTTIME, "BOOTTIME" },
	{ CLOCK_TAI, "TAI" },			{ CLOCK_REALTIME_COARSE, "REALTIME_COARSE" },
	{ CLOCK_MONOTONIC_COARSE, "MONOTONIC_COARSE" },
	{ CLOCK_PROCESS_CPUTIME_ID, "PROCESS_CPUTIME" }, { CLOCK_THREAD_CPUTIME_ID, "THREAD_CPUTIME" },
};
#define COUNT (sizeof(clocks) / sizeof(clocks[0]))

static int bad;

static long long by_vdso(int id)
{
	struct timespec t;
	if (clock_gettime(id, &t))
		printf("clock_gettime(%d): %s\n", id, strerror(errno)), bad = 1;
	return t.tv_sec * BILLION + t.tv_nsec;
}

static long long by_call(int id)
{
	struct timespec t;
	if (syscall(SYS_clock_gettime, id, &t))
		printf("syscall(clock_gettime, %d): %s\n", id, strerror(errno)), bad = 1;
	return t.tv_sec * BILLION + t.tv_nsec;
}

static void in_order(const char *what, long long before, long long after)
{
	if (after < before)
		printf("%s goes back by %lld\n", what, before - after), bad = 1;
}

static void time_of_day(void)
{
	struct timeval a, b;
	long long before = by_vdso(CLOCK_REALTIME) / 1000;
	gettimeofday(&a, NULL);
	syscall(SYS_gettimeofday, &b, NULL);
	long long first = a.tv_sec * 1000000ll + a.tv_usec, second = b.tv_sec * 1000000ll + b.tv_usec;
	in_order("gettimeofday after clock_gettime", before, first);
	in_order("gettimeofday by call", first, second);
	in_order("clock_gettime after gettimeofday", second, by_vdso(CLOCK_REALTIME) / 1000);
	/* The kernel's time() is that of its last tick. */
	long long seconds = time(NULL), now = by_vdso(CLOCK_REALTIME);
	if (seconds > now / BILLION || seconds < (now - BILLION / 4) / BILLION - 1)
		printf("time says %lld at %lld\n", seconds, now), bad = 1;
	if (time_by_call(NULL) < seconds)
		printf("time by call goes back\n"), bad = 1;
}

static void refused(void)
{
	struct timespec t = { 1, 0 };
	struct timex x = { .modes = ADJ_OFFSET };
	printf("settable %d %d\n", clock_settime(CLOCK_REALTIME, &t) == 0, adjtimex(&x) >= 0);
}

int main(int argc, char **argv)
{
	long long begin[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		begin[i] = by_vdso(clocks[i].id);
	for (int round = 0; round < 300; round++)
		for (size_t i = 0; i < COUNT; i++) {
			long long a = by_vdso(clocks[i].id), b = by_call(clocks[i].id);
			in_order(clocks[i].name, a, b);
			in_order(clocks[i].name, b, by_vdso(clocks[i].id));
		}
	time_of_day();
	if (argc > 1 && !strcmp(argv[1], "set"))
		refused();
	if (argc > 1 && atoi(argv[1]) > 0) {
		long long cpu = by_vdso(CLOCK_PROCESS_CPUTIME_ID) + atoi(argv[1]) * 1000000ll;
		while (by_vdso(CLOCK_PROCESS_CPUTIME_ID) < cpu)
			;
		for (size_t i = 0; i < COUNT; i++)
			printf("%s %lld\n", clocks[i].name, by_vdso(clocks[i].id) - begin[i]);
	}
	printf("realtime %lld\n", by_vdso(CLOCK_REALTIME));
	return bad;
}
