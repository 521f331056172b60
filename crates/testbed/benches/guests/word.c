/* How long a word takes to another program over TCP and back, without virtual time: what of a figure is the host's.
 *
 * Usage: word serve PORT
 *        word ask ADDRESS PORT TIMES		prints the nanoseconds of each, a line each
 */
#include "../../tests/guests/guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

static struct sockaddr_in place(const char *address, const char *port)
{
	struct sockaddr_in place = { .sin_family = AF_INET, .sin_port = htons(atoi(port)) };

	inet_pton(AF_INET, address, &place.sin_addr);
	return place;
}

static void at_once(int stream)
{
	int yes = 1;

	setsockopt(stream, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static int serve(const char *port)
{
	struct sockaddr_in here = place("0.0.0.0", port);
	int stream, server = socket(AF_INET, SOCK_STREAM, 0);
	char word[64];
	ssize_t octets;

	if (bind(server, (void *)&here, sizeof here) || listen(server, 1))
		return 1;
	print_line("ready");
	stream = accept(server, NULL, NULL);
	at_once(stream);
	while ((octets = read(stream, word, sizeof word)) > 0)
		if (write(stream, word, octets) != octets)
			return 1;
	return 0;
}

static int ask(const char *address, const char *port, int times)
{
	struct sockaddr_in there = place(address, port);
	int stream = socket(AF_INET, SOCK_STREAM, 0);
	char word[64] = "";

	if (connect(stream, (void *)&there, sizeof there))
		return 1;
	at_once(stream);
	while (times-- > 0) {
		int64_t begun_ns = now_ns(CLOCK_MONOTONIC);
		struct timespec between = span_of(MS);

		if (write(stream, word, sizeof word) != sizeof word || read(stream, word, sizeof word) != sizeof word)
			return 1;
		printf("%lld\n", (long long)(now_ns(CLOCK_MONOTONIC) - begun_ns));
		nanosleep(&between, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "serve"))
		return serve(argv[2]);
	if (argc == 5 && !strcmp(argv[1], "ask"))
		return ask(argv[2], argv[3], atoi(argv[4]));
	return 64;
}
