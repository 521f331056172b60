/* Timeouts of sockets. Each call of "plain" waits in vain, in a thread of its own, all at once.
 *
 *   sockets plain MS    each waits MS milliseconds; prints "ready" when all do, then name,
 *                       outcome, nanoseconds waited on CLOCK_MONOTONIC and nanoseconds asked for
 *   sockets rest        what calls with a timeout do when it is not the timeout that ends them;
 *                       prints one line for each
 *   sockets child       a child and what it executes share the socket of their parent */
#include "guest.h"
#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

static int64_t asked;
static pthread_barrier_t all_there;

static void limit(int fd, int option)
{
	struct timeval t = { asked / BILLION, asked % BILLION / 1000 }, set;
	socklen_t length = sizeof set;
	if (setsockopt(fd, SOL_SOCKET, option, &t, sizeof t) ||
	    getsockopt(fd, SOL_SOCKET, option, &set, &length))
		perror("setsockopt"), exit(1);
	/* The kernel counts in ticks, of which there are no fewer than 100 in a second. */
	int64_t off = (set.tv_sec - t.tv_sec) * 1000000ll + set.tv_usec - t.tv_usec;
	if (off < 0 || off > 10000)
		printf("%ld.%06ld s were set, and are %ld.%06ld\n", t.tv_sec, t.tv_usec, set.tv_sec,
		       set.tv_usec),
			exit(1);
}

static int pair(int type, int end)
{
	int fds[2];
	if (socketpair(AF_UNIX, type, 0, fds))
		perror("socketpair"), exit(1);
	limit(fds[0], SO_RCVTIMEO);
	limit(fds[0], SO_SNDTIMEO);
	return fds[end];
}

/* Both ends of a connection, the first of which has timeouts. */
static void tcp(int ends[2])
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof to;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	limit(ends[0], SO_RCVTIMEO);
	limit(ends[0], SO_SNDTIMEO);
	if (bind(listener, (void *)&to, sizeof to) || listen(listener, 1) ||
	    getsockname(listener, (void *)&to, &length) || connect(ends[0], (void *)&to, sizeof to) ||
	    (ends[1] = accept(listener, NULL, NULL)) < 0)
		perror("tcp"), exit(1);
	close(listener);
}

static char data[1 << 20];

static int udp(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	bind(fd, (void *)&to, sizeof to);
	limit(fd, SO_RCVTIMEO);
	return fd;
}

static long do_read(void)
{
	return read(pair(SOCK_STREAM, 0), data, 10);
}

static long do_readv(void)
{
	struct iovec v[2] = { { data, 3 }, { data + 3, 4 } };
	return readv(pair(SOCK_STREAM, 0), v, 2);
}

static long do_recv(void)
{
	return recv(udp(), data, 10, 0);
}

static long do_recv_tcp(void)
{
	int ends[2];
	tcp(ends);
	return recv(ends[0], data, 10, 0);
}

static long do_recvmsg(void)
{
	struct iovec v = { data, 10 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	return recvmsg(udp(), &m, 0);
}

static long do_recvmmsg(void)
{
	struct iovec v = { data, 10 };
	struct mmsghdr m = { .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	return recvmmsg(udp(), &m, 1, 0, NULL);
}

/* The timeout is looked at after each datagram only: the first that comes behind it ends the call. */
static long do_recvmmsg_timeout(void)
{
	enum { MOST = 64 };
	struct iovec v = { data, 10 };
	struct mmsghdr m[MOST];
	struct timespec time = span_of(asked);
	int fds[2];
	socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
	for (int i = 0; i < MOST; i++)
		m[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &v, .msg_iovlen = 1 } };
	pid_t child = fork();
	if (child == 0) {
		struct timespec t = span_of(asked / 8);
		for (;;) {
			send(fds[1], "datagram", 8, 0);
			nanosleep(&t, NULL);
		}
	}
	long got = recvmmsg(fds[0], m, MOST, 0, &time);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	if (got < 1 || got == MOST || m[got - 1].msg_len != 8 || time.tv_sec || time.tv_nsec)
		return 100 + got;
	errno = EAGAIN;
	return -1;
}

static long do_recv_all(void)
{
	int ends[2];
	tcp(ends);
	send(ends[1], "half", 4, 0);
	long got = recv(ends[0], data, 10, MSG_WAITALL);
	errno = EAGAIN;
	return got == 4 ? -1 : got;
}

static long do_recv_mark(void)
{
	int ends[2], mark = 6;
	tcp(ends);
	setsockopt(ends[0], SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark);
	send(ends[1], "half", 4, 0);
	long got = recv(ends[0], data, 10, 0);
	errno = EAGAIN;
	return got == 4 ? -1 : got;
}

static long do_accept(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	listen(fd, 1);
	limit(fd, SO_RCVTIMEO);
	return accept(fd, NULL, NULL);
}

static int full(void)
{
	int fd = pair(SOCK_STREAM, 0);
	while (send(fd, data, sizeof data, MSG_DONTWAIT) > 0)
		;
	return fd;
}

static long do_write(void)
{
	return write(full(), data, 10);
}

static long do_send(void)
{
	return send(full(), data, 10, 0);
}

static long do_sendmsg(void)
{
	struct iovec v = { data, 10 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	return sendmsg(full(), &m, 0);
}

static long do_writev_part(void)
{
	struct iovec v[2] = { { data, 3 }, { data, sizeof data } };
	long sent = writev(pair(SOCK_STREAM, 0), v, 2);
	errno = EAGAIN;
	return sent > 3 && sent < (long)sizeof data ? -1 : sent;
}

/* A local listener whose queue is full. */
static long do_connect(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	socklen_t length = sizeof to;
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(listener, (void *)&to, sizeof(sa_family_t));
	getsockname(listener, (void *)&to, &length);
	listen(listener, 0);
	int first = socket(AF_UNIX, SOCK_STREAM, 0), second = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(first, (void *)&to, length))
		return -1;
	limit(second, SO_SNDTIMEO);
	return connect(second, (void *)&to, length);
}

static struct call {
	const char *name;
	long (*run)(void);
	int outcome;
	int64_t waited;
	pthread_t thread;
} calls[] = {
	{ "read", do_read },
	{ "readv", do_readv },
	{ "recv", do_recv },
	{ "recv tcp", do_recv_tcp },
	{ "recvmsg", do_recvmsg },
	{ "recvmmsg", do_recvmmsg },
	{ "recvmmsg timeout", do_recvmmsg_timeout },
	{ "recv all", do_recv_all },
	{ "recv mark", do_recv_mark },
	{ "accept", do_accept },
	{ "write", do_write },
	{ "send", do_send },
	{ "sendmsg", do_sendmsg },
	{ "writev part", do_writev_part },
	{ "connect", do_connect },
};

static void *run(void *place)
{
	struct call *call = place;
	pthread_barrier_wait(&all_there);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	long result = call->run();
	call->outcome = result < 0 ? errno : -(int)result;
	call->waited = now_ns(CLOCK_MONOTONIC) - begun;
	return NULL;
}

static void plain(void)
{
	pthread_barrier_init(&all_there, NULL, COUNT(calls) + 1);
	for (size_t i = 0; i < COUNT(calls); i++)
		pthread_create(&calls[i].thread, NULL, run, &calls[i]);
	pthread_barrier_wait(&all_there);
	print_line("ready");
	for (size_t i = 0; i < COUNT(calls); i++) {
		pthread_join(calls[i].thread, NULL);
		printf("%s\t%s\t%lld\t%lld\n", calls[i].name,
		       calls[i].outcome == EAGAIN ? "timeout" : strerror(abs(calls[i].outcome)),
		       (long long)calls[i].waited, (long long)asked);
	}
}

static void say(const char *what, long result)
{
	printf("%s: %ld %s\n", what, result, result < 0 ? strerror(errno) : "");
}

static volatile int handled, sent, interrupted;

static void handler(int signal)
{
	handled++;
}

static void *interrupt(void *thread)
{
	/* Again, as on a busy machine the first may come before the call. */
	struct timespec t = { 0, 30000000 };
	do {
		nanosleep(&t, NULL);
		pthread_kill(*(pthread_t *)thread, SIGUSR1);
		sent++;
	} while (!interrupted);
	return NULL;
}

static void *late(void *fd)
{
	for (int i = 0; i < 2; i++) {
		struct timespec t = { 0, 20000000 };
		nanosleep(&t, NULL);
		if (send(*(int *)fd, "01234", 5, 0) != 5)
			perror("send");
	}
	return NULL;
}

static void *drain(void *fd)
{
	static char sink[1 << 16];
	struct timespec t = { 0, 20000000 };
	nanosleep(&t, NULL);
	while (read(*(int *)fd, sink, sizeof sink) > 0)
		;
	return NULL;
}

static void rest(void)
{
	int fds[2], ends[2], on = 1;
	pthread_t self = pthread_self(), thread;
	asked = 20 * BILLION;
	tcp(ends);

	/* A timeout keeps SA_RESTART from restarting: signal(7). */
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = handler, .sa_flags = SA_RESTART }, NULL);
	pthread_create(&thread, NULL, interrupt, &self);
	say("interrupted", recv(ends[0], data, 10, 0));
	interrupted = 1;
	pthread_join(thread, NULL);
	printf("handled %d\n", handled > 0 && handled <= sent);

	pthread_create(&thread, NULL, late, &ends[1]);
	say("all, late", recv(ends[0], data, 10, MSG_WAITALL));
	pthread_join(thread, NULL);
	printf("%.10s\n", data);
	pthread_create(&thread, NULL, late, &ends[1]);
	struct iovec parts[3] = { { data, 1 }, { data + 1, 0 }, { data + 1, 6 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3 };
	say("all of parts, late", recvmsg(ends[0], &message, MSG_WAITALL));
	pthread_join(thread, NULL);
	printf("%.7s\n", data);
	say("the rest", recv(ends[0], data, 10, 0));

	say("at once", recv(ends[0], data, 10, MSG_DONTWAIT));
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	say("nonblocking", read(ends[0], data, 10));
	fcntl(ends[0], F_SETFL, 0);
	pthread_create(&thread, NULL, drain, &ends[1]);
	long sent = 0;
	for (int i = 0; i < 8; i++)
		sent += write(ends[0], data, sizeof data);
	say("sent", sent);
	shutdown(ends[0], SHUT_WR);
	pthread_join(thread, NULL);
	signal(SIGPIPE, SIG_IGN);
	say("into the closed", send(ends[0], data, 1, 0));
	close(ends[1]);
	say("from the closed", recv(ends[0], data, 10, 0));

	/* Errors come at once. */
	int plain = socket(AF_INET, SOCK_STREAM, 0), datagrams = udp();
	limit(plain, SO_RCVTIMEO), limit(plain, SO_SNDTIMEO);
	say("not connected", recv(plain, data, 10, 0));
	say("not listening", accept(plain, NULL, NULL));
	say("no stream", accept(datagrams, NULL, NULL));
	say("nowhere", recv(datagrams, NULL, 0, MSG_DONTWAIT));
	struct sockaddr_in nobody = { .sin_family = AF_INET, .sin_port = htons(1),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	say("refused", connect(plain, (void *)&nobody, sizeof nobody));
	say("nothing", read(datagrams, data, 0));

	/* Files and pipes are no sockets. */
	if (pipe(fds))
		exit(1);
	say("pipe", write(fds[1], "pipe", 4));
	say("pipe", read(fds[0], data, 10));
	say("closed", read(77, data, 10));

	/* Descriptors pass, and partial sends carry them once. */
	setsockopt(ends[0], SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	int to = pair(SOCK_STREAM, 0), copy;
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec one = { "x", 1 };
	struct msghdr carrier = { .msg_iov = &one, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof control };
	struct cmsghdr *head = CMSG_FIRSTHDR(&carrier);
	head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &to, sizeof to);
	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	limit(fds[0], SO_SNDTIMEO), limit(fds[1], SO_RCVTIMEO);
	say("pass", sendmsg(fds[0], &carrier, 0));
	one.iov_base = data;
	say("take", recvmsg(fds[1], &carrier, 0));
	memcpy(&copy, CMSG_DATA(CMSG_FIRSTHDR(&carrier)), sizeof copy);
	asked = 30000000;
	limit(copy, SO_RCVTIMEO);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	say("passed", read(to, data, 1));
	printf("in time %d\n", now_ns(CLOCK_MONOTONIC) - begun >= asked);
}

static void child(int fd)
{
	char number[16];
	if (fork() == 0) {
		int64_t begun = now_ns(CLOCK_MONOTONIC);
		long got = read(fd, data, 1);
		printf("child: %ld %s %d\n", got, strerror(errno), now_ns(CLOCK_MONOTONIC) - begun >= asked);
		fflush(stdout);
		snprintf(number, sizeof number, "%d", fd);
		execl("/proc/self/exe", "sockets", "executed", number, NULL);
		_exit(1);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	asked = argc > 2 ? atoll(argv[2]) * 1000000 : 0;
	if (argc > 1 && !strcmp(argv[1], "plain"))
		plain();
	if (argc > 1 && !strcmp(argv[1], "rest"))
		rest();
	if (argc > 1 && !strcmp(argv[1], "child"))
		child(pair(SOCK_STREAM, 0));
	if (argc > 1 && !strcmp(argv[1], "executed")) {
		struct timeval t;
		socklen_t length = sizeof t;
		getsockopt(atoi(argv[2]), SOL_SOCKET, SO_RCVTIMEO, &t, &length);
		int64_t begun = now_ns(CLOCK_MONOTONIC);
		long got = read(atoi(argv[2]), data, 1);
		printf("executed: %ld %s %d\n", got, strerror(errno),
		       now_ns(CLOCK_MONOTONIC) - begun >= ns_of_timeval(t));
	}
	return 0;
}
