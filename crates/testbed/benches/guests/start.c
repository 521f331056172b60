/* Prints how long /bin/true takes from its start to its end, in microseconds, once a line: what a
 * program in virtual time pays for a child. A first start, which reads the file, is not printed.
 *
 * Usage: start TIMES
 */
#include "../../tests/guests/guest.h"
#include <spawn.h>

int main(int argc, char **argv)
{
	char *const child[] = { "/bin/true", NULL };
	char *const environment[] = { NULL };

	if (argc != 2) {
		fprintf(stderr, "usage: start TIMES\n");
		return 64;
	}
	for (long left = atol(argv[1]); left >= 0; left--) {
		int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
		int status;
		pid_t pid;

		if (posix_spawn(&pid, child[0], NULL, NULL, child, environment) ||
		    waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "start: /bin/true did not run\n");
			return 70;
		}
		if (left < atol(argv[1]))
			printf("%.1f\n", (now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e3);
	}
	return 0;
}
