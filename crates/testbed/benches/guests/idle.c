/* Programs that wait for nothing, to be held: forks as many as asked for, prints their numbers in
 * one line, and ends them when its input ends. A line of input with the number of a signal is
 * answered with the microseconds that sending it to all of them took.
 *
 * Usage: idle PROGRAMS
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct timespec begin, end;
	struct epoll_event event;
	int signal;
	int programs = argc == 2 ? atoi(argv[1]) : 0;
	pid_t *numbers = calloc(programs + 1, sizeof *numbers);

	for (int i = 0; i < programs; i++) {
		numbers[i] = fork();
		if (numbers[i] == 0)
			_exit(epoll_wait(epoll_create1(0), &event, 1, -1));
		if (numbers[i] < 0)
			return 1;
		printf("%d ", numbers[i]);
	}
	puts("");
	fflush(stdout);
	while (scanf("%d", &signal) == 1) {
		clock_gettime(CLOCK_MONOTONIC, &begin);
		for (int i = 0; i < programs; i++)
			kill(numbers[i], signal);
		clock_gettime(CLOCK_MONOTONIC, &end);
		printf("%.3f\n", (end.tv_sec - begin.tv_sec) * 1e6 +
				 (end.tv_nsec - begin.tv_nsec) / 1e3);
		fflush(stdout);
	}
	for (int i = 0; i < programs; i++)
		kill(numbers[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
