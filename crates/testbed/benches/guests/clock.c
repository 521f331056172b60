/* Prints what one reading of CLOCK_MONOTONIC costs: nanoseconds per call, one line for each batch
 * of calls. The clock under test also takes the time of a batch, so the figures hold at a time
 * dilation factor of 1 only. A first batch, which pays for page faults, is not printed.
 *
 * Usage: clock vdso|syscall BATCHES CALLS
 */
#include "../../tests/guests/guest.h"

static struct timespec now;

static void read_by_vdso(long calls)
{
	for (long i = 0; i < calls; i++)
		clock_gettime(CLOCK_MONOTONIC, &now);
}

static void read_by_syscall(long calls)
{
	for (long i = 0; i < calls; i++)
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: clock vdso|syscall BATCHES CALLS\n");
		return 64;
	}
	void (*read_clock)(long) = strcmp(argv[1], "syscall") ? read_by_vdso : read_by_syscall;
	long batches = atol(argv[2]), calls = atol(argv[3]);

	read_clock(calls);
	for (long batch = 0; batch < batches; batch++) {
		int64_t begin_ns = now_ns(CLOCK_MONOTONIC);

		read_clock(calls);
		printf("%.3f\n", (now_ns(CLOCK_MONOTONIC) - begin_ns) / (double)calls);
	}
	return 0;
}
