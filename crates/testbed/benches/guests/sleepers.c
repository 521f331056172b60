/* Programs that each sleep until the next tenth of a second again and again, no two of them until the same
 * moment: each is a program of its own, by fork and exec.
 *
 * Usage: sleepers PROGRAMS TIMES
 */
#include "../../tests/guests/guest.h"

#define EVERY_NS 100000000LL

static void sleeps(int64_t until_ns, int times)
{
	while (times-- > 0) {
		struct timespec until;

		until_ns += EVERY_NS;
		until.tv_sec = until_ns / 1000000000;
		until.tv_nsec = until_ns % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
		if (now_ns(CLOCK_MONOTONIC) < until_ns)
			_exit(1);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	int status, programs = argc > 2 ? atoi(argv[1]) : 0, is_well = argc > 2;
	/* All have begun by then. */
	int64_t from_ns = now_ns(CLOCK_MONOTONIC) + 10000000000LL;

	if (argc == 4)
		sleeps(atoll(argv[3]), atoi(argv[2]));
	for (int i = 0; i < programs; i++) {
		char begin[32];

		snprintf(begin, sizeof begin, "%lld", (long long)(from_ns + i * EVERY_NS / programs));
		if (fork() == 0) {
			execl("/proc/self/exe", argv[0], argv[1], argv[2], begin, NULL);
			_exit(1);
		}
	}
	while (wait(&status) > 0)
		is_well &= status == 0;
	return !is_well;
}
