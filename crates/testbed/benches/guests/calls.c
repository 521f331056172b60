/* Prints what one system call costs that has nothing to do with time, and so is let through:
 * nanoseconds per call, one line for each batch of calls. A first batch is not printed.
 *
 * Usage: calls read|write|epoll_wait|futex_wake BATCHES CALLS
 */
#include "../../tests/guests/guest.h"
#include <linux/futex.h>
#include <sys/eventfd.h>

static int zero, null, epoll;
static uint32_t word;
static volatile long failed;

static void call_read(long calls)
{
	char octet;

	while (calls--)
		failed += read(zero, &octet, 1) != 1;
}

static void call_write(long calls)
{
	char octet = 0;

	while (calls--)
		failed += write(null, &octet, 1) != 1;
}

/* Without a timeout; something is there. */
static void call_epoll_wait(long calls)
{
	struct epoll_event event;

	while (calls--)
		failed += epoll_wait(epoll, &event, 1, -1) != 1;
}

/* Nobody waits. */
static void call_futex_wake(long calls)
{
	while (calls--)
		failed += syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) != 0;
}

static const struct {
	const char *name;
	void (*call)(long);
} kinds[] = {
	{ "read", call_read },
	{ "write", call_write },
	{ "epoll_wait", call_epoll_wait },
	{ "futex_wake", call_futex_wake },
};

int main(int argc, char **argv)
{
	void (*call)(long) = NULL;

	for (size_t i = 0; argc == 4 && i < COUNT(kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			call = kinds[i].call;
	if (!call) {
		fprintf(stderr, "usage: calls read|write|epoll_wait|futex_wake BATCHES CALLS\n");
		return 64;
	}
	long batches = atol(argv[2]), calls = atol(argv[3]);
	struct epoll_event event = { .events = EPOLLIN };

	zero = open("/dev/zero", O_RDONLY);
	null = open("/dev/null", O_WRONLY);
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, eventfd(1, 0), &event);
	call(calls);
	for (long batch = 0; batch < batches; batch++) {
		int64_t begin_ns = now_ns(CLOCK_MONOTONIC);

		call(calls);
		printf("%.3f\n", (now_ns(CLOCK_MONOTONIC) - begin_ns) / (double)calls);
	}
	return failed ? 70 : 0;
}
