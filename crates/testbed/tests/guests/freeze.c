/* Waits in many ways at once, for something that comes when a line arrives on standard input, and
 * says how each wait ended. A freezer must leave no trace of that: a wait that
 * ends with EINTR though no handler has run is a failure.
 *
 * Usage: freeze waits         all waits; a line of input lets what they wait for come
 *        freeze handler MS    epoll_wait with this timeout (-1: none), which SIGUSR1 is to end
 */
#include "guest.h"
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>

static int event, set, queue, pair[2];
static volatile sig_atomic_t handled;

static int add(void)
{
	struct epoll_event wanted = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	epoll_ctl(epoll, EPOLL_CTL_ADD, event, &wanted);
	return epoll;
}

static int by_epoll_wait(int is_limited)
{
	struct epoll_event got;

	return epoll_wait(add(), &got, 1, is_limited ? 1000000 : -1) == 1;
}

static int by_epoll_pwait(int is_limited)
{
	struct epoll_event got;
	sigset_t mask;

	sigemptyset(&mask);
	return epoll_pwait(add(), &got, 1, is_limited ? 1000000 : -1, is_limited ? NULL : &mask) == 1;
}

static int semaphore(int is_limited)
{
	struct sembuf take = { .sem_num = 0, .sem_op = -1 };
	struct timespec time = { .tv_sec = 1000 };

	return semtimedop(set, &take, 1, is_limited ? &time : NULL) == 0;
}

static int for_signal(int is_limited)
{
	struct timespec time = { .tv_sec = 1000 };
	sigset_t wanted = set_of(SIGUSR2);

	return sigtimedwait(&wanted, NULL, is_limited ? &time : NULL) == SIGUSR2;
}

static int message(int is_limited)
{
	struct { long type; char text[1]; } got;

	return msgrcv(queue, &got, 1, 0, 0) == 1;
}

static int socket_with_a_time(int is_limited)
{
	struct timeval time = { .tv_sec = 1000 };
	char got;

	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
	return recv(pair[0], &got, 1, 0) == 1;
}

static int polled(int is_limited)
{
	struct pollfd wanted = { .fd = event, .events = POLLIN };

	return poll(&wanted, 1, is_limited ? 1000000 : -1) == 1;
}

static int asynchronous(int is_limited)
{
	struct timespec time = { .tv_sec = 1000 };
	struct iocb wanted = { .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = event, .aio_buf = POLLIN };
	struct iocb *list = &wanted;
	struct io_event got;
	aio_context_t context = 0;

	if (syscall(SYS_io_setup, 1, &context) || syscall(SYS_io_submit, context, 1, &list) != 1)
		return 1; /* not on this kernel */
	return syscall(SYS_io_getevents, context, 1, 1, &got, &time) == 1;
}

static int many_sleeps(int is_limited)
{
	struct timespec time = { .tv_nsec = 1000000 };

	for (int i = 0; i < 50; i++)
		if (nanosleep(&time, NULL))
			return 0;
	return 1;
}

static const struct way {
	const char *name;
	int (*wait)(int is_limited);
	int is_limited;
} ways[] = {
	{ "epoll for ever", by_epoll_wait, 0 },
	{ "epoll with a time", by_epoll_pwait, 1 },
	{ "epoll with a mask", by_epoll_pwait, 0 },
	{ "semaphore for ever", semaphore, 0 },
	{ "semaphore with a time", semaphore, 1 },
	{ "signal for ever", for_signal, 0 },
	{ "signal with a time", for_signal, 1 },
	{ "message", message, 0 },
	{ "socket with a time", socket_with_a_time, 1 },
	{ "poll for ever", polled, 0 },
	{ "poll with a time", polled, 1 },
	{ "asynchronous", asynchronous, 1 },
	{ "many sleeps", many_sleeps, 1 },
};

enum { WAYS = COUNT(ways) };

static void *run(void *argument)
{
	const struct way *way = argument;
	static char failed;

	if (way->wait(way->is_limited))
		return NULL;
	printf("%s: %s\n", way->name, strerror(errno));
	return &failed;
}

static void come(pthread_t *threads)
{
	struct sembuf give = { .sem_num = 0, .sem_op = 2 };
	struct { long type; char text[1]; } sent = { 1, "x" };
	unsigned long long one = 1;

	if (write(event, &one, sizeof one) < 0 || write(pair[1], "x", 1) < 0)
		exit(2);
	semop(set, &give, 1);
	msgsnd(queue, &sent, 1, 0);
	for (int i = 0; i < WAYS; i++)
		if (ways[i].wait == for_signal)
			pthread_kill(threads[i], SIGUSR2);
}

static int waits(void)
{
	pthread_t threads[WAYS];
	char line[80];
	sigset_t mask = set_of(SIGUSR2);
	void *failed;
	int failures = 0;

	pthread_sigmask(SIG_BLOCK, &mask, NULL);
	event = eventfd(0, 0);
	set = semget(IPC_PRIVATE, 1, 0600);
	queue = msgget(IPC_PRIVATE, 0600);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		return 2;
	for (int i = 0; i < WAYS; i++)
		pthread_create(&threads[i], NULL, run, (void *)&ways[i]);
	print_line("ready");
	if (read(0, line, sizeof line) <= 0) {
		printf("standard input: %s\n", strerror(errno));
		return 1;
	}
	come(threads);
	for (int i = 0; i < WAYS; i++) {
		pthread_join(threads[i], &failed);
		failures += failed != NULL;
	}
	semctl(set, 0, IPC_RMID);
	msgctl(queue, IPC_RMID, NULL);
	printf("%d of %d waits failed\n", failures, WAYS);
	return failures != 0;
}

static void on_signal(int number)
{
	handled++;
}

static int handler(int timeout_ms)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct epoll_event got;
	int result, error;

	sigaction(SIGUSR1, &action, NULL);
	event = eventfd(0, 0);
	printf("%d\n", getpid());
	fflush(stdout);
	result = epoll_wait(add(), &got, 1, timeout_ms);
	error = errno;
	printf("%d, handled %d: %s\n", result, (int)handled, strerror(error));
	fflush(stdout);
	while (read(0, &got, 1) > 0)
		; /* until the test has seen it */
	return !(result == -1 && error == EINTR && handled == 1);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "waits"))
		return waits();
	if (argc == 3 && !strcmp(argv[1], "handler"))
		return handler(atoi(argv[2]));
	return 64;
}
