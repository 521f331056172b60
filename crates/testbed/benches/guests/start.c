/* Prints how long /bin/true takes from its start to its end, in microseconds, once a line: what a
 * program in virtual time pays for a child. A first start, which reads the file, is not printed.
 *
 * Usage: start TIMES
 */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	char *const child[] = { "/bin/true", NULL };
	char *const environment[] = { NULL };

	if (argc != 2) {
		fprintf(stderr, "usage: start TIMES\n");
		return 64;
	}
	for (long left = atol(argv[1]); left >= 0; left--) {
		double begin_us = now_us();
		int status;
		pid_t pid;

		if (posix_spawn(&pid, child[0], NULL, NULL, child, environment) ||
		    waitpid(pid, &status, 0) != pid || status) {
			fprintf(stderr, "start: /bin/true did not run\n");
			return 70;
		}
		if (left < atol(argv[1]))
			printf("%.1f\n", now_us() - begin_us);
	}
	return 0;
}
