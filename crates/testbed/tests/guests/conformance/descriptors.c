/* poll(2), select(2) and epoll(7), each on the reading end of a pipe. */
#include "conformance.h"
#include <sys/select.h>

/* A set with SIGUSR2 only, which nobody sends. */
static uint64_t mask = 1 << (12 - 1);

static const char *by_poll(struct scene *s)
{
	struct pollfd fd = { s->pipe[0], POLLIN, 0 };
	return told(syscall(SYS_poll, &fd, 1, (int)(s->asked_ns / MS)), "time is over");
}

static const char *by_ppoll(struct scene *s)
{
	struct pollfd fd = { s->pipe[0], POLLIN, 0 };
	long result = syscall(SYS_ppoll, &fd, 1, s->time, &mask, 8);
	if (s->asked_ns && (result >= 0 || errno == EINTR))
		s->left_ns = ns_of(*s->time);
	return told(result, "time is over");
}

static const char *by_select(struct scene *s)
{
	struct timeval t, *time = (void *)8;
	fd_set set;
	FD_ZERO(&set);
	FD_SET(s->pipe[0], &set);
	if ((uintptr_t)s->time != 8) {
		/* A wrong nanosecond is no wrong microsecond: that one is to be negative too. */
		t.tv_sec = s->time->tv_sec;
		t.tv_usec = s->time->tv_nsec < 0 ? -1 : s->time->tv_nsec / 1000;
		time = &t;
	}
	long result = syscall(SYS_select, s->pipe[0] + 1, &set, NULL, NULL, time);
	if (s->asked_ns && (result >= 0 || errno == EINTR))
		s->left_ns = ns_of_timeval(t);
	if (result == 1 && !FD_ISSET(s->pipe[0], &set))
		return "gets another descriptor";
	return told(result, "time is over");
}

static const char *by_pselect6(struct scene *s)
{
	uint64_t masked[2] = { (uintptr_t)&mask, 8 };
	fd_set set;
	FD_ZERO(&set);
	FD_SET(s->pipe[0], &set);
	long result = syscall(SYS_pselect6, s->pipe[0] + 1, &set, NULL, NULL, s->time, masked);
	if (s->asked_ns && (result >= 0 || errno == EINTR))
		s->left_ns = ns_of(*s->time);
	return told(result, "time is over");
}

static void make_epoll(struct scene *s)
{
	struct epoll_event event = { .events = EPOLLIN };
	s->object = epoll_create1(0);
	must(epoll_ctl(s->object, EPOLL_CTL_ADD, s->pipe[0], &event) == 0, "epoll_ctl");
}

static const char *by_epoll_wait(struct scene *s)
{
	struct epoll_event event;
	int ms = s->asked_ns / MS;
	return told(syscall(SYS_epoll_wait, s->object, &event, 1, ms), "time is over");
}

static const char *by_epoll_pwait(struct scene *s)
{
	struct epoll_event event;
	int ms = s->asked_ns / MS;
	return told(syscall(SYS_epoll_pwait, s->object, &event, 1, ms, &mask, 8), "time is over");
}

static const char *by_epoll_pwait2(struct scene *s)
{
	struct epoll_event event;
	return told(syscall(SYS_epoll_pwait2, s->object, &event, 1, s->time, &mask, 8), "time is over");
}

static void wake(struct scene *s)
{
	must(write(s->pipe[1], "", 1) == 1, "write");
}

const struct call descriptors[] = {
	{ "poll", by_poll, NULL, NULL, wake, CLOCK_MONOTONIC, NO_TIMESPEC },
	{ "ppoll", by_ppoll, NULL, NULL, wake, CLOCK_MONOTONIC, 0 },
	{ "select", by_select, NULL, NULL, wake, CLOCK_MONOTONIC, 0 },
	{ "pselect6", by_pselect6, NULL, NULL, wake, CLOCK_MONOTONIC, 0 },
	{ "epoll_wait", by_epoll_wait, make_epoll, NULL, wake, CLOCK_MONOTONIC, NO_TIMESPEC },
	{ "epoll_pwait", by_epoll_pwait, make_epoll, NULL, wake, CLOCK_MONOTONIC, NO_TIMESPEC },
	{ "epoll_pwait2", by_epoll_pwait2, make_epoll, NULL, wake, CLOCK_MONOTONIC, 0 },
	{ 0 },
};
