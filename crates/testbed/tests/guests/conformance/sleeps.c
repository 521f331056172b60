/* nanosleep(2) and clock_nanosleep(2). */
#include "conformance.h"

static const char *by_nanosleep(struct scene *s)
{
	struct timespec left = { 0, 0 };
	long result = syscall(SYS_nanosleep, s->time, &left);
	if (result < 0 && errno == EINTR)
		s->left_ns = ns_of(left);
	return told(result, "time is over");
}

static const char *by_clock_nanosleep(struct scene *s)
{
	struct timespec left = { 0, 0 };
	int absolute = s->call->flags & ABSOLUTE ? TIMER_ABSTIME : 0;
	long result = syscall(SYS_clock_nanosleep, s->call->clock, absolute, s->time, &left);
	if (result < 0 && errno == EINTR && !absolute)
		s->left_ns = ns_of(left);
	return told(result, "time is over");
}

#define CLOCK_SLEEP(clock) \
	{ "clock_nanosleep " #clock, by_clock_nanosleep, NULL, NULL, NULL, CLOCK_##clock, 0 }, \
	{ "clock_nanosleep " #clock " ABSTIME", by_clock_nanosleep, NULL, NULL, NULL, CLOCK_##clock, ABSOLUTE }

const struct call sleeps[] = {
	{ "nanosleep", by_nanosleep, NULL, NULL, NULL, CLOCK_MONOTONIC, 0 },
	CLOCK_SLEEP(REALTIME),
	CLOCK_SLEEP(MONOTONIC),
	CLOCK_SLEEP(BOOTTIME),
	CLOCK_SLEEP(TAI),
	{ 0 },
};
