/* Reads every clock by the vDSO and by system calls, in turn: they must agree, that is, never go
 * back from one reading to the next, whichever way it is taken. Prints what disagrees, then
 * "monotonic" and "realtime" in nanoseconds. With a number, computes for that many milliseconds
 * of processor time in between and prints how far each clock got. */
#include "guest.h"
#include <sys/timex.h>

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

static int bad;

static void in_order(const char *what, int64_t before, int64_t after)
{
	if (after < before)
		printf("%s goes back by %ld\n", what, before - after), bad = 1;
}

static void time_of_day(void)
{
	struct timeval a, b;
	int64_t before = now_ns(CLOCK_REALTIME) / 1000;
	gettimeofday(&a, NULL);
	syscall(SYS_gettimeofday, &b, NULL);
	int64_t first = a.tv_sec * 1000000ll + a.tv_usec, second = b.tv_sec * 1000000ll + b.tv_usec;
	in_order("gettimeofday after clock_gettime", before, first);
	in_order("gettimeofday by call", first, second);
	in_order("clock_gettime after gettimeofday", second, now_ns(CLOCK_REALTIME) / 1000);
	/* The kernel's time() is that of its last tick. */
	int64_t seconds = time(NULL), now = now_ns(CLOCK_REALTIME);
	if (seconds > now / BILLION || seconds < (now - BILLION / 4) / BILLION - 1)
		printf("time says %ld at %ld\n", seconds, now), bad = 1;
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
	int64_t begin[COUNT(clocks)];
	for (size_t i = 0; i < COUNT(clocks); i++)
		begin[i] = now_ns(clocks[i].id);
	for (int round = 0; round < 300; round++)
		for (size_t i = 0; i < COUNT(clocks); i++) {
			int64_t a = now_ns(clocks[i].id), b = now_ns_by_call(clocks[i].id);
			in_order(clocks[i].name, a, b);
			in_order(clocks[i].name, b, now_ns(clocks[i].id));
		}
	time_of_day();
	if (argc > 1 && !strcmp(argv[1], "set"))
		refused();
	if (argc > 1 && atoi(argv[1]) > 0) {
		int64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) + atoi(argv[1]) * 1000000ll;
		while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < cpu)
			;
		for (size_t i = 0; i < COUNT(clocks); i++)
			printf("%s %ld\n", clocks[i].name, now_ns(clocks[i].id) - begin[i]);
	}
	printf("realtime %ld\n", now_ns(CLOCK_REALTIME));
	return bad;
}
