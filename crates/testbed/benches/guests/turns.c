/* Two programs that read the clock in turn through shared memory, each without regard to the
 * other's pace. Prints how many readings there were, how many went back behind the other's, and
 * by how many nanoseconds at most, when its input ends.
 */
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct shared {
	int turn, over;
	long long last_ns, readings, back, back_ns;
};

static void play(struct shared *shared, int own)
{
	struct timespec now;

	while (!__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE)) {
		if (__atomic_load_n(&shared->turn, __ATOMIC_ACQUIRE) != own) {
			sched_yield();
			continue;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		long long now_ns = now.tv_sec * 1000000000LL + now.tv_nsec;
		long long back_ns = shared->last_ns - now_ns;

		shared->back += back_ns > 0;
		if (back_ns > shared->back_ns)
			shared->back_ns = back_ns;
		shared->last_ns = now_ns;
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
	puts("ready");
	fflush(stdout);
	while (read(0, &octet, 1) > 0)
		;
	__atomic_store_n(&shared->over, 1, __ATOMIC_RELEASE);
	while (wait(NULL) > 0)
		;
	printf("%lld %lld %lld\n", shared->readings, shared->back, shared->back_ns);
	return 0;
}
