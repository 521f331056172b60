/* Programs that wait for nothing, to be held: forks as many as asked for, prints their numbers in
 * one line, and ends them when its input ends. A line of input with the number of a signal is
 * answered with the microseconds that sending it to all of them took.
 *
 * Usage: idle PROGRAMS
 */
#include "../../tests/guests/guest.h"

int main(int argc, char **argv)
{
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
	print_line("");
	while (scanf("%d", &signal) == 1) {
		int64_t begin_ns = now_ns(CLOCK_MONOTONIC);

		for (int i = 0; i < programs; i++)
			kill(numbers[i], signal);
		printf("%.3f\n", (now_ns(CLOCK_MONOTONIC) - begin_ns) / 1e3);
		fflush(stdout);
	}
	for (int i = 0; i < programs; i++)
		kill(numbers[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	return 0;
}
