/* Stamps of what sockets receive and send: each must lie between two readings of CLOCK_REALTIME,
 * before the datagram was sent and after it had arrived, however long it then waits to be looked
 * at. Prints what does not, and one line for each kind of stamp.
 *
 *   stamps NS           sends and looks at once; NS nanoseconds off is right
 *   stamps NS later     prints "sent" when all are sent, and looks when a line comes in */
#include "guest.h"
#include <arpa/inet.h>
#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

static int bad;

enum kind { MICRO, NANO, FULL, SENT, MANY, ASKED_MICRO, ASKED_NANO, LOCAL, KINDS };
static const char *names[] = { "SO_TIMESTAMP", "SO_TIMESTAMPNS", "SO_TIMESTAMPING",
			       "SO_TIMESTAMPING of sending", "recvmmsg", "SIOCGSTAMP",
			       "SIOCGSTAMPNS", "SO_TIMESTAMP of a local socket" };

static struct socket {
	int in, out;
	long long before, after;
} sockets[KINDS];

static void ask(int fd, enum kind kind)
{
	int on = 1;
	int full = SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE |
		   SOF_TIMESTAMPING_TX_SOFTWARE;
	int failed = 0;
	if (kind == MICRO || kind == LOCAL)
		failed = setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on);
	if (kind == NANO || kind == MANY)
		failed = setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
	if (kind == FULL || kind == SENT)
		failed = setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &full, sizeof full);
	if (failed)
		perror(names[kind]), bad = 1;
}

static void open_pair(enum kind kind)
{
	struct socket *s = &sockets[kind];
	if (kind == LOCAL) {
		int pair[2];
		socketpair(AF_UNIX, SOCK_DGRAM, 0, pair);
		s->in = pair[0], s->out = pair[1];
		ask(s->in, kind);
		return;
	}
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof to;
	s->in = socket(AF_INET, SOCK_DGRAM, 0);
	s->out = socket(AF_INET, SOCK_DGRAM, 0);
	if (bind(s->in, (void *)&to, sizeof to) || getsockname(s->in, (void *)&to, &length) ||
	    connect(s->out, (void *)&to, sizeof to))
		perror("sockets"), bad = 1;
	ask(kind == SENT ? s->out : s->in, kind);
	/* The first question turns stamps on. */
	struct timespec t;
	if (kind == ASKED_MICRO || kind == ASKED_NANO)
		if (ioctl(s->in, SIOCGSTAMP, &t) == 0 || errno != ENOENT)
			printf("a stamp of nothing\n"), bad = 1;
}

static long long in_message(struct msghdr *message)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_TIMESTAMP)
			return ns_of_timeval(*(struct timeval *)CMSG_DATA(c));
		if (c->cmsg_type == SCM_TIMESTAMPNS || c->cmsg_type == SCM_TIMESTAMPING)
			return ns_of(*(struct timespec *)CMSG_DATA(c));
	}
	return -1;
}

static long long stamp(enum kind kind)
{
	struct socket *s = &sockets[kind];
	char data[64], control[256];
	struct iovec buffer = { data, sizeof data };
	struct mmsghdr message = { .msg_hdr = { .msg_iov = &buffer, .msg_iovlen = 1,
						.msg_control = control, .msg_controllen = sizeof control } };
	long got;
	if (kind == MANY)
		got = recvmmsg(s->in, &message, 1, 0, NULL);
	else if (kind == SENT)
		got = recvmsg(s->out, &message.msg_hdr, MSG_ERRQUEUE);
	else
		got = recvmsg(s->in, &message.msg_hdr, 0);
	if (got < 0)
		perror(names[kind]), bad = 1;
	struct timeval micro;
	struct timespec nano;
	if (kind == ASKED_MICRO)
		return ioctl(s->in, SIOCGSTAMP, &micro) ? -1 : ns_of_timeval(micro);
	if (kind == ASKED_NANO)
		return ioctl(s->in, SIOCGSTAMPNS, &nano) ? -1 : ns_of(nano);
	return in_message(&message.msg_hdr);
}

/* The kernel begins to stamp what arrives a while after it was asked to, and until then stamps what
 * is looked at: so datagrams are sent until one has a stamp of its arrival, which only
 * SO_TIMESTAMPING tells apart. */
static void begun(void)
{
	struct timespec t = { 0, 1000000 };
	do {
		nanosleep(&t, NULL);
		if (send(sockets[FULL].out, "x", 1, 0) != 1)
			perror("send"), exit(1);
	} while (stamp(FULL) <= 0);
}

int main(int argc, char **argv)
{
	long long slack = atoll(argv[1]);
	int later = argc > 2;
	for (enum kind kind = 0; kind < KINDS; kind++)
		open_pair(kind);
	begun();
	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct socket *s = &sockets[kind];
		s->before = now_ns(CLOCK_REALTIME);
		if (send(s->out, "x", 1, 0) != 1)
			perror("send"), bad = 1;
		struct pollfd arrived = { kind == SENT ? s->out : s->in, POLLIN, 0 };
		poll(&arrived, 1, -1);
		s->after = now_ns(CLOCK_REALTIME);
	}
	if (later) {
		char line[64];
		print_line("sent");
		if (!fgets(line, sizeof line, stdin))
			return 2;
	}
	for (enum kind kind = 0; kind < KINDS; kind++) {
		struct socket *s = &sockets[kind];
		long long at = stamp(kind);
		/* The kernel stamps a local datagram only when it is looked at. */
		long long after = kind == LOCAL ? now_ns(CLOCK_REALTIME) : s->after;
		if (at < s->before - slack || at > after + slack)
			printf("%s is off by %lld before, %lld after\n", names[kind], s->before - at,
			       at - after),
				bad = 1;
		printf("%s\n", names[kind]);
	}
	return bad;
}
