/* What depends on the processor: the instruction that eases a busy loop, the size of an alternate
 * signal stack that the kernel's headers advise (SIGSTKSZ), and calls that newer
 * processors do not have: there those that took their place. */
#ifndef PROCESSOR_H
#define PROCESSOR_H

#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifdef __x86_64__
#define SIGNAL_STACK 8192
#else
#define SIGNAL_STACK 16384
#endif

static inline void ease(void)
{
#ifdef __x86_64__
	__builtin_ia32_pause();
#else
	__asm__ volatile("yield");
#endif
}

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
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000l };
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
