/* A program that does no harm: so many ticks of a timer, with another program at every fourth, and
 * then one line about all of it. Said only if all of it was done. */
#include "guest.h"

int main(int argc, char **argv)
{
	struct itimerspec every = {{0, 20000000}, {0, 20000000}};
	int timer = timerfd_create(CLOCK_MONOTONIC, 0), wanted = argc > 1 ? atoi(argv[1]) : 10;
	uint64_t ticks = 0;
	int execs = 0;

	timerfd_settime(timer, 0, &every, NULL);
	while (ticks < (uint64_t)wanted) {
		uint64_t count;
		int status, child;

		if (read(timer, &count, sizeof(count)) != sizeof(count))
			return 1;
		ticks += count;
		child = ticks / 4 > (uint64_t)execs ? fork() : -1;
		if (child == 0) {
			execl("/bin/true", "true", NULL);
			_exit(2);
		}
		if (child > 0 && (waitpid(child, &status, 0) != child || status))
			return 3;
		execs = ticks / 4;
	}
	printf("all done\n");
	return 0;
}
