/* What guests share, to be included first: what most of them need of the C library, times in
 * nanoseconds, sets of one signal, lines and checks, and what depends on the processor. */
#ifndef GUEST_H
#define GUEST_H
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000ll
#define BILLION 1000000000ll
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The size of an alternate signal stack that the kernel's headers advise (SIGSTKSZ). */
#ifdef __x86_64__
#define SIGNAL_STACK 8192
#else
#define SIGNAL_STACK 16384
#endif

static inline int64_t ns_of(struct timespec t)
{
	return t.tv_sec * BILLION + t.tv_nsec;
}

static inline int64_t ns_of_timeval(struct timeval t)
{
	return t.tv_sec * BILLION + t.tv_usec * 1000;
}

static inline struct timespec span_of(int64_t ns)
{
	return (struct timespec){ ns / BILLION, ns % BILLION };
}

static inline struct itimerspec setting(int64_t first, int64_t period)
{
	return (struct itimerspec){ span_of(period), span_of(first) };
}

static inline int64_t now_ns(int clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t))
		perror("clock_gettime"), _exit(70);
	return ns_of(t);
}

static inline int64_t now_ns_by_call(int clock)
{
	struct timespec t;
	if (syscall(SYS_clock_gettime, clock, &t))
		perror("clock_gettime by call"), _exit(70);
	return ns_of(t);
}

static inline sigset_t set_of(int signal)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, signal);
	return set;
}

/* At once, also into a pipe. */
static inline void print_line(const char *line)
{
	puts(line);
	fflush(stdout);
}

static inline void check(const char *what, int holds)
{
	printf("%s: %s\n", what, holds ? "yes" : "NO");
	fflush(stdout);
}

static inline int fails(long result, int error)
{
	return result == -1 && errno == error;
}

/* For qsort(3). */
static inline int compare_ns(const void *one, const void *other)
{
	int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
	return (a > b) - (a < b);
}

/* One of the ways that a guest can go; the last of them has no name. */
struct mode {
	const char *name;
	void (*run)(void);
};

/* Goes the way that the first argument names. */
static inline int run_mode(const struct mode *mode, int argc, char **argv)
{
	while (mode->name && (argc < 2 || strcmp(argv[1], mode->name)))
		mode++;
	if (!mode->name)
		return 64;
	mode->run();
	return 0;
}

/* Eases a busy loop. */
static inline void ease(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

/* Newer processors do not have these calls, but those that took their place. */
static inline long time_by_call(void *place)
{
#ifdef SYS_time
	return syscall(SYS_time, place);
#else
	struct timeval now = { 0 };
	return syscall(SYS_gettimeofday, place ? place : &now, NULL) ? -1 : now.tv_sec;
#endif
}

static inline long poll_by_call(void *fds, int count, int timeout_ms)
{
#ifdef SYS_poll
	return syscall(SYS_poll, fds, count, timeout_ms);
#else
	struct timespec timeout = span_of(timeout_ms * MS);
	return syscall(SYS_ppoll, fds, count, &timeout, NULL, 8);
#endif
}

static inline long select_by_call(int count, void *set, struct timeval *timeout)
{
#ifdef SYS_select
	return syscall(SYS_select, count, set, NULL, NULL, timeout);
#else
	struct timespec time = { timeout->tv_sec, timeout->tv_usec * 1000l };
	return syscall(SYS_pselect6, count, set, NULL, NULL, &time, NULL);
#endif
}

#endif
