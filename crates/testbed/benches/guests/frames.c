/* Datagrams with the virtual time at which they are sent, at moments and in bunches that do not repeat; and who
 * receives them, and compares.
 *
 * Usage: frames send ADDRESS FRAMES
 *        frames receive DELAY_NS	prints how many came exact, early and late, how many did not, and the most ns by
 *					which one was off
 */
#include "../../tests/guests/guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define PORT 5000
/* Longer than any pause between two bunches. */
#define OVER_MS 1000

struct stamp {
	int64_t number, count, sent_ns;
};

static struct sockaddr_in place(const char *address)
{
	struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	inet_pton(AF_INET, address, &place.sin_addr);
	return place;
}

/* Splitmix64: the same numbers in each run. */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* Until it is answered, which is also when both kernels know each other's address. */
static int greet(int to)
{
	struct stamp hello = { .number = -1 };
	struct pollfd answer = { .fd = to, .events = POLLIN };

	do {
		send(to, &hello, sizeof hello, 0);
	} while (poll(&answer, 1, 100) == 0 || recv(to, &hello, sizeof hello, 0) < 0);
	return 0;
}

static int send_all(const char *address, int64_t count)
{
	struct sockaddr_in there = place(address);
	int to = socket(AF_INET, SOCK_DGRAM, 0);
	uint64_t state = 1;

	if (connect(to, (void *)&there, sizeof there) || greet(to))
		return 1;
	for (int64_t number = 0; number < count;) {
		struct timespec pause = span_of(100000 + next(&state) % 1800000);

		nanosleep(&pause, NULL);
		for (int left = 1 + next(&state) % 19; left > 0 && number < count; left--) {
			struct stamp stamp = { number++, count, now_ns(CLOCK_REALTIME) };

			if (send(to, &stamp, sizeof stamp, 0) != sizeof stamp)
				return 1;
		}
	}
	for (;;)
		pause();
}

static int receive_all(int64_t delay_ns)
{
	struct sockaddr_in peer, here = place("0.0.0.0");
	socklen_t length = sizeof peer;
	int64_t expected = 0, count = 0, exact = 0, early = 0, late = 0, lost = 0, most_ns = 0;
	int from = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd next = { .fd = from, .events = POLLIN };
	struct stamp stamp;

	if (bind(from, (void *)&here, sizeof here))
		return 1;
	while (expected == 0 || expected < count) {
		int64_t off_ns;

		if (poll(&next, 1, expected ? OVER_MS : -1) == 0)
			break;
		if (recvfrom(from, &stamp, sizeof stamp, 0, (void *)&peer, &length) != sizeof stamp)
			return 1;
		if (stamp.number < 0) {
			sendto(from, &stamp, sizeof stamp, 0, (void *)&peer, length);
			continue;
		}
		off_ns = now_ns(CLOCK_REALTIME) - stamp.sent_ns - delay_ns;
		exact += off_ns == 0;
		early += off_ns < 0;
		late += off_ns > 0;
		most_ns = llabs(off_ns) > most_ns ? llabs(off_ns) : most_ns;
		lost += stamp.number - expected;
		expected = stamp.number + 1;
		count = stamp.count;
	}
	lost += count - expected;
	printf("%lld %lld %lld %lld %lld\n", (long long)exact, (long long)early, (long long)late, (long long)lost,
	       (long long)most_ns);
	fflush(stdout);
	for (;;)
		pause();
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "send"))
		return send_all(argv[2], atoll(argv[3]));
	if (argc == 3 && !strcmp(argv[1], "receive"))
		return receive_all(atoll(argv[2]));
	return 64;
}
