/* Two programs that read the clock in turn through shared memory, each without regard to the
 * other's pace. Prints how many readings there were, how many went back behind the other's, and
 * by how many nanoseconds at most, when its input ends.
 */
#include "../../tests/guests/guest.h"
#include <sched.h>

struct shared {
	int turn, over;
	int64_t last_ns, readings, back, back_ns;
};

static void play(struct shared *shared, int own)
{
	while (!__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE) != own) {
			sched_yield();
			continue;
		}
		int64_t reading_ns = now_ns(CLOCK_MONOTONIC), back_ns = shared->last_ns - reading_ns;

		shared->back += back_ns > 0;
		if (back_ns > shared->back_ns)
			shared->back_ns = back_ns;
		shared->last_ns = reading_ns;
		shared->readings++;
		__atomic_store_n(&shared->turn, !own, __ATOMIC_RELEASE);
	}
}

int main(void)
{
	struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char octet;

	for (int own = 0; own < 2; own++)
		if (fork() == 0) {
			play(shared, own);
			_exit(0);
		}
	print_line("ready");
	while (read(0, &octet, 1) > 0)
		;
	__atomic_store_n(&shared->over, 1, __ATOMIC_RELEASE);
	while (wait(NULL) > 0)
		;
	printf("%ld %ld %ld\n", shared->readings, shared->back, shared->back_ns);
	return 0;
}
