/* Time limits of sockets, and recvmmsg(2), which looks at its limit after each datagram. */
#include "conformance.h"
#include <sys/prctl.h>
#include <sys/socket.h>

static void make_pair(struct scene *s, int kind)
{
	close(s->pipe[0]);
	close(s->pipe[1]);
	must(socketpair(AF_UNIX, kind, 0, s->pipe) == 0, "socketpair");
}

static void make_stream(struct scene *s)
{
	make_pair(s, SOCK_STREAM);
}

static void limit(struct scene *s, int option)
{
	struct timeval t = { s->asked_ns / BILLION, s->asked_ns % BILLION / 1000 };
	must(setsockopt(s->pipe[0], SOL_SOCKET, option, &t, sizeof(t)) == 0, "setsockopt");
	struct timeval set = { 0, 0 };
	socklen_t length = sizeof(set);
	must(getsockopt(s->pipe[0], SOL_SOCKET, option, &set, &length) == 0, "getsockopt");
	must(set.tv_sec == t.tv_sec && set.tv_usec == t.tv_usec, "the limit is told as it was set");
}

static const char *over(long result)
{
	return result < 0 && errno == EAGAIN ? "time is over" : told(result, "is closed");
}

static const char *by_recv(struct scene *s)
{
	char octet;
	limit(s, SO_RCVTIMEO);
	return over(recv(s->pipe[0], &octet, 1, 0));
}

static const char *by_read(struct scene *s)
{
	char octet;
	limit(s, SO_RCVTIMEO);
	return over(read(s->pipe[0], &octet, 1));
}

static void make_full(struct scene *s)
{
	static char octets[4096];
	make_stream(s);
	while (send(s->pipe[0], octets, sizeof(octets), MSG_DONTWAIT) > 0)
		;
	while (send(s->pipe[0], octets, 1, MSG_DONTWAIT) > 0)
		;
}

static const char *by_send(struct scene *s)
{
	limit(s, SO_SNDTIMEO);
	return over(send(s->pipe[0], "", 1, 0));
}

static void give(struct scene *s)
{
	must(send(s->pipe[1], "", 1, 0) == 1, "send");
}

static void take_all(struct scene *s)
{
	static char octets[4096];
	while (recv(s->pipe[1], octets, sizeof(octets), MSG_DONTWAIT) > 0)
		;
}

static pid_t feeder;

/* Somebody who sends a datagram every 5 ms. */
static void make_fed(struct scene *s)
{
	make_pair(s, SOCK_DGRAM);
	feeder = fork();
	if (feeder)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		pause_ns(5 * MS);
		send(s->pipe[1], "", 1, 0);
	}
}

static const char *by_recvmmsg(struct scene *s)
{
	enum { MOST = 1000 };
	static struct mmsghdr messages[MOST];
	long result = syscall(SYS_recvmmsg, s->pipe[0], messages, MOST, 0, s->time);
	if (s->asked_ns && result > 0 && result < MOST)
		s->left_ns = ns_of(*s->time);
	return result == MOST ? "gets all" : told(result, "gets none");
}

const struct call sockets[] = {
	{ "recv SO_RCVTIMEO", by_recv, make_stream, NULL, give, CLOCK_MONOTONIC, NO_TIMESPEC | TICKS },
	{ "read SO_RCVTIMEO", by_read, make_stream, NULL, give, CLOCK_MONOTONIC, NO_TIMESPEC | TICKS },
	{ "send SO_SNDTIMEO", by_send, make_full, NULL, take_all, CLOCK_MONOTONIC, NO_TIMESPEC | TICKS },
	{ "recvmmsg", by_recvmmsg, make_fed, NULL, NULL, CLOCK_MONOTONIC, NO_SIGNALS },
	{ 0 },
};
