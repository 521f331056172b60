/* What reads or sets a clock: each must get on as CLOCK_MONOTONIC does, within its resolution. */
#include "conformance.h"
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>

static int64_t by_gettimeofday(int clock)
{
	struct timeval t;
	must(gettimeofday(&t, NULL) == 0, "gettimeofday");
	return ns_of_timeval(t);
}

static int64_t by_gettimeofday_call(int clock)
{
	struct timeval t;
	must(syscall(SYS_gettimeofday, &t, NULL) == 0, "gettimeofday");
	return ns_of_timeval(t);
}

static int64_t by_time(int clock)
{
	return time(NULL) * BILLION;
}

static int64_t by_time_call(int clock)
{
	return syscall(SYS_time, NULL) * BILLION;
}

static int64_t by_sysinfo(int clock)
{
	struct sysinfo info;
	must(sysinfo(&info) == 0, "sysinfo");
	return info.uptime * BILLION;
}

static int64_t by_times(int clock)
{
	struct tms spent;
	return times(&spent) * (BILLION / sysconf(_SC_CLK_TCK));
}

static int64_t by_adjtimex(int clock)
{
	struct timex t = { .modes = 0 };
	must(adjtimex(&t) >= 0, "adjtimex");
	return t.time.tv_sec * BILLION + t.time.tv_usec * (t.status & STA_NANO ? 1 : 1000);
}

/* Sleeps between two readings; each lies between two of CLOCK_MONOTONIC. */
static const char *advances(struct scene *s)
{
	const struct call *call = s->call;
	int64_t a = now_ns(CLOCK_MONOTONIC), from = call->read(call->clock), b = now_ns(CLOCK_MONOTONIC);
	pause_ns(120 * MS);
	int64_t c = now_ns(CLOCK_MONOTONIC), to = call->read(call->clock), d = now_ns(CLOCK_MONOTONIC);
	if (c - b < 120 * MS)
		return "a sleep in between is early";
	if (to - from + call->resolution_ns < c - b)
		return "too slow";
	return to - from - call->resolution_ns > d - a ? "too fast" : "gets on as CLOCK_MONOTONIC does";
}

static const char *reads_adjtimex(struct scene *s)
{
	struct timex t = { .modes = 0 };
	return adjtimex(&t) < 0 ? error_name(errno) : advances(s);
}

/* Of this thread: no faster than the time that passes for it natively, and never back. */
static const char *reads_cpu(struct scene *s)
{
	int64_t from = now_ns_by_call(CLOCK_THREAD_CPUTIME_ID);
	for (int i = 0; i < 1000; i++) {
		int64_t to = i % 2 ? now_ns_by_call(CLOCK_THREAD_CPUTIME_ID) : now_ns(CLOCK_THREAD_CPUTIME_ID);
		if (to < from)
			return "goes back";
		from = to;
	}
	return "gets on";
}

/* Nonsense, so that natively nobody's clock is set by a test. */
static const char *sets_clock(struct scene *s)
{
	struct timespec t = { -1, 0 };
	return clock_settime(CLOCK_REALTIME, &t) ? "is refused" : "is set";
}

static const char *sets_tick(struct scene *s)
{
	struct timex t = { .modes = ADJ_TICK, .tick = 1 };
	return adjtimex(&t) < 0 ? "is refused" : "is set";
}

static const char *resolution(struct scene *s)
{
	static char text[64];
	struct timespec fine, coarse;
	must(clock_getres(CLOCK_MONOTONIC, &fine) == 0, "clock_getres");
	must(clock_getres(CLOCK_MONOTONIC_COARSE, &coarse) == 0, "clock_getres");
	snprintf(text, sizeof(text), "%lld ns and %lld ns", (long long)ns_of(fine),
		 (long long)ns_of(coarse));
	return text;
}

/* NTP may slew REALTIME natively by half a thousandth. */
#define FINE_NS 100000
/* Ticks come late to a machine whose processor is taken away. */
#define TICK_NS (60 * MS)

#define CHECK(name, check) { name, check, NULL, NULL, NULL, CLOCK_MONOTONIC, AT_ONCE, NULL, 0 }
#define READ(name, read, clock, ns) { name, advances, NULL, NULL, NULL, clock, AT_ONCE, read, ns }
#define GETTIME(clock, ns) READ("clock_gettime " #clock, now_ns, CLOCK_##clock, ns)
#define CALL(clock, ns) \
	READ("clock_gettime " #clock ", by call", now_ns_by_call, CLOCK_##clock, ns)

const struct call clocks[] = {
	GETTIME(REALTIME, FINE_NS),
	GETTIME(MONOTONIC, FINE_NS),
	GETTIME(MONOTONIC_RAW, FINE_NS),
	GETTIME(BOOTTIME, FINE_NS),
	GETTIME(TAI, FINE_NS),
	GETTIME(REALTIME_COARSE, TICK_NS),
	GETTIME(MONOTONIC_COARSE, TICK_NS),
	CHECK("clock_gettime THREAD_CPUTIME", reads_cpu),
	READ("gettimeofday", by_gettimeofday, 0, FINE_NS),
	READ("time", by_time, 0, BILLION),
	CALL(REALTIME, FINE_NS),
	CALL(MONOTONIC, FINE_NS),
	CALL(MONOTONIC_RAW, FINE_NS),
	CALL(BOOTTIME, FINE_NS),
	CALL(TAI, FINE_NS),
	CALL(REALTIME_COARSE, TICK_NS),
	CALL(MONOTONIC_COARSE, TICK_NS),
	READ("gettimeofday, by call", by_gettimeofday_call, 0, FINE_NS),
	READ("time, by call", by_time_call, 0, BILLION),
	READ("sysinfo", by_sysinfo, 0, BILLION),
	READ("times", by_times, 0, TICK_NS),
	{ "adjtimex", reads_adjtimex, NULL, NULL, NULL, 0, AT_ONCE, by_adjtimex, FINE_NS },
	CHECK("adjtimex that sets", sets_tick),
	CHECK("clock_settime", sets_clock),
	CHECK("clock_getres", resolution),
	{ 0 },
};
