/* What reads or sets a clock: each must get on as CLOCK_MONOTONIC does, within its resolution. */
#include "conformance.h"
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/timex.h>

/* A reading, in nanoseconds. */
typedef int64_t reading(int clock);

static int64_t by_vdso(int clock)
{
	return now_ns(clock);
}

static int64_t by_call(int clock)
{
	struct timespec t;
	must(syscall(SYS_clock_gettime, clock, &t) == 0, "clock_gettime");
	return ns_of(t);
}

static int64_t of_timeval(struct timeval t)
{
	return t.tv_sec * BILLION + t.tv_usec * 1000;
}

static int64_t by_gettimeofday(int clock)
{
	struct timeval t;
	(void)clock;
	must(gettimeofday(&t, NULL) == 0, "gettimeofday");
	return of_timeval(t);
}

static int64_t by_gettimeofday_call(int clock)
{
	struct timeval t;
	(void)clock;
	must(syscall(SYS_gettimeofday, &t, NULL) == 0, "gettimeofday");
	return of_timeval(t);
}

static int64_t by_time(int clock)
{
	(void)clock;
	return time(NULL) * BILLION;
}

static int64_t by_time_call(int clock)
{
	(void)clock;
	return syscall(SYS_time, NULL) * BILLION;
}

static int64_t by_sysinfo(int clock)
{
	struct sysinfo info;
	(void)clock;
	must(sysinfo(&info) == 0, "sysinfo");
	return info.uptime * BILLION;
}

static int64_t by_times(int clock)
{
	struct tms spent;
	(void)clock;
	return times(&spent) * (BILLION / sysconf(_SC_CLK_TCK));
}

static int64_t by_adjtimex(int clock)
{
	struct timex t = { .modes = 0 };
	(void)clock;
	must(adjtimex(&t) >= 0, "adjtimex");
	return t.time.tv_sec * BILLION + t.time.tv_usec * (t.status & STA_NANO ? 1 : 1000);
}

/* Sleeps between two readings; each lies between two of CLOCK_MONOTONIC. */
static const char *advances(reading *read, int clock, int64_t resolution_ns)
{
	int64_t a = now_ns(CLOCK_MONOTONIC), from = read(clock), b = now_ns(CLOCK_MONOTONIC);
	pause_ns(120 * MILLION);
	int64_t c = now_ns(CLOCK_MONOTONIC), to = read(clock), d = now_ns(CLOCK_MONOTONIC);
	if (c - b < 120 * MILLION)
		return "a sleep in between is early";
	if (to - from + resolution_ns < c - b)
		return "too slow";
	return to - from - resolution_ns > d - a ? "too fast" : "gets on as CLOCK_MONOTONIC does";
}

/* NTP may slew REALTIME natively by half a thousandth. */
#define FINE_NS 100000
/* Ticks come late to a machine whose processor is taken away. */
#define TICK_NS (60 * MILLION)

#define READS(name, how, clock, resolution) \
	static const char *reads_##name(struct scene *s) \
	{ \
		(void)s; \
		return advances(how, clock, resolution); \
	}

READS(realtime, by_vdso, CLOCK_REALTIME, FINE_NS)
READS(monotonic, by_vdso, CLOCK_MONOTONIC, FINE_NS)
READS(raw, by_vdso, CLOCK_MONOTONIC_RAW, FINE_NS)
READS(boottime, by_vdso, CLOCK_BOOTTIME, FINE_NS)
READS(tai, by_vdso, CLOCK_TAI, FINE_NS)
READS(realtime_coarse, by_vdso, CLOCK_REALTIME_COARSE, TICK_NS)
READS(monotonic_coarse, by_vdso, CLOCK_MONOTONIC_COARSE, TICK_NS)
READS(realtime_call, by_call, CLOCK_REALTIME, FINE_NS)
READS(monotonic_call, by_call, CLOCK_MONOTONIC, FINE_NS)
READS(raw_call, by_call, CLOCK_MONOTONIC_RAW, FINE_NS)
READS(boottime_call, by_call, CLOCK_BOOTTIME, FINE_NS)
READS(tai_call, by_call, CLOCK_TAI, FINE_NS)
READS(realtime_coarse_call, by_call, CLOCK_REALTIME_COARSE, TICK_NS)
READS(monotonic_coarse_call, by_call, CLOCK_MONOTONIC_COARSE, TICK_NS)
READS(gettimeofday, by_gettimeofday, 0, FINE_NS)
READS(gettimeofday_call, by_gettimeofday_call, 0, FINE_NS)
READS(time, by_time, 0, BILLION)
READS(time_call, by_time_call, 0, BILLION)
READS(sysinfo, by_sysinfo, 0, BILLION)
READS(times, by_times, 0, TICK_NS)

static const char *reads_adjtimex(struct scene *s)
{
	struct timex t = { .modes = 0 };
	(void)s;
	if (adjtimex(&t) < 0)
		return error_name(errno);
	return advances(by_adjtimex, 0, FINE_NS);
}

/* Of this thread: no faster than the time that passes for it natively, and never back. */
static const char *reads_cpu(struct scene *s)
{
	int64_t from = by_call(CLOCK_THREAD_CPUTIME_ID);
	(void)s;
	for (int i = 0; i < 1000; i++) {
		int64_t to = i % 2 ? by_call(CLOCK_THREAD_CPUTIME_ID) : by_vdso(CLOCK_THREAD_CPUTIME_ID);
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
	(void)s;
	return clock_settime(CLOCK_REALTIME, &t) ? "is refused" : "is set";
}

static const char *sets_tick(struct scene *s)
{
	struct timex t = { .modes = ADJ_TICK, .tick = 1 };
	(void)s;
	return adjtimex(&t) < 0 ? "is refused" : "is set";
}

static const char *resolution(struct scene *s)
{
	static char text[64];
	struct timespec fine, coarse;
	(void)s;
	must(clock_getres(CLOCK_MONOTONIC, &fine) == 0, "clock_getres");
	must(clock_getres(CLOCK_MONOTONIC_COARSE, &coarse) == 0, "clock_getres");
	snprintf(text, sizeof(text), "%lld ns and %lld ns", (long long)ns_of(fine),
		 (long long)ns_of(coarse));
	return text;
}

#define READ(name, check) { name, check, NULL, NULL, NULL, CLOCK_MONOTONIC, AT_ONCE }

const struct call clocks[] = {
	READ("clock_gettime REALTIME", reads_realtime),
	READ("clock_gettime MONOTONIC", reads_monotonic),
	READ("clock_gettime MONOTONIC_RAW", reads_raw),
	READ("clock_gettime BOOTTIME", reads_boottime),
	READ("clock_gettime TAI", reads_tai),
	READ("clock_gettime REALTIME_COARSE", reads_realtime_coarse),
	READ("clock_gettime MONOTONIC_COARSE", reads_monotonic_coarse),
	READ("clock_gettime THREAD_CPUTIME", reads_cpu),
	READ("gettimeofday", reads_gettimeofday),
	READ("time", reads_time),
	READ("clock_gettime REALTIME, by call", reads_realtime_call),
	READ("clock_gettime MONOTONIC, by call", reads_monotonic_call),
	READ("clock_gettime MONOTONIC_RAW, by call", reads_raw_call),
	READ("clock_gettime BOOTTIME, by call", reads_boottime_call),
	READ("clock_gettime TAI, by call", reads_tai_call),
	READ("clock_gettime REALTIME_COARSE, by call", reads_realtime_coarse_call),
	READ("clock_gettime MONOTONIC_COARSE, by call", reads_monotonic_coarse_call),
	READ("gettimeofday, by call", reads_gettimeofday_call),
	READ("time, by call", reads_time_call),
	READ("sysinfo", reads_sysinfo),
	READ("times", reads_times),
	READ("adjtimex", reads_adjtimex),
	READ("adjtimex that sets", sets_tick),
	READ("clock_settime", sets_clock),
	READ("clock_getres", resolution),
	{ 0 },
};
