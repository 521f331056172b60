/* Futexes with priority inheritance: waiting on one and being requeued to another
 * (FUTEX_WAIT_REQUEUE_PI), and mutexes with a deadline.
 *
 *   requeue MS          prints "ready", then name, outcome, nanoseconds waited, nanoseconds asked */
#include "guest.h"
#include <linux/futex.h>

static int64_t asked;
static uint32_t word, lock, other;
static pthread_mutex_t mutex;

static struct timespec until(clockid_t clock)
{
	return span_of(now_ns(clock) + asked);
}

static const char *outcome(long result)
{
	return result >= 0 ? "woken" : errno == ETIMEDOUT ? "timeout" : strerror(errno);
}

static void report(const char *name, int64_t begun, long result)
{
	printf("%s\t%s\t%lld\t%lld\n", name, outcome(result),
	       (long long)(now_ns(CLOCK_MONOTONIC) - begun), (long long)asked);
	fflush(stdout);
}

static long wait_requeue(int flag, clockid_t clock, uint32_t *on)
{
	struct timespec t = until(clock);
	return syscall(SYS_futex, on, FUTEX_WAIT_REQUEUE_PI | FUTEX_PRIVATE_FLAG | flag, 0, &t, &lock,
		       0);
}

static void *waiter(void *unused)
{
	asked *= 100;
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	long result = wait_requeue(0, CLOCK_MONOTONIC, &other);
	asked /= 100;
	printf("requeued\t%s\n", outcome(result));
	printf("owned\t%d\n", (lock & FUTEX_TID_MASK) == (uint32_t)gettid());
	printf("before its time\t%d\n", now_ns(CLOCK_MONOTONIC) - begun < asked * 100);
	syscall(SYS_futex, &lock, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
	return NULL;
}

static void *timed(void *unused)
{
	struct timespec t = until(CLOCK_REALTIME);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	errno = pthread_mutex_timedlock(&mutex, &t);
	report("timedlock", begun, errno ? -1 : 0);
	t = until(CLOCK_MONOTONIC);
	begun = now_ns(CLOCK_MONOTONIC);
	errno = pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &t);
	report("clocklock", begun, errno ? -1 : 0);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t inherit;
	pthread_t thread;
	asked = atoll(argv[argc - 1]) * 1000000;
	print_line("ready");
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	report("monotonic", begun, wait_requeue(0, CLOCK_MONOTONIC, &word));
	begun = now_ns(CLOCK_MONOTONIC);
	report("realtime", begun, wait_requeue(FUTEX_CLOCK_REALTIME, CLOCK_REALTIME, &word));

	pthread_mutexattr_init(&inherit);
	pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&mutex, &inherit);
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, timed, NULL);
	pthread_join(thread, NULL);
	pthread_mutex_unlock(&mutex);

	/* The waiter goes to the lock that we hold, and gets it when we let go of it. */
	syscall(SYS_futex, &lock, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
	pthread_create(&thread, NULL, waiter, NULL);
	long moved;
	do {
		struct timespec t = { 0, 1000000 };
		nanosleep(&t, NULL);
		moved = syscall(SYS_futex, &other, FUTEX_CMP_REQUEUE_PI | FUTEX_PRIVATE_FLAG, 1,
				(void *)0l, &lock, 0);
	} while (moved == 0);
	other = 1;
	printf("moved\t%ld\n", moved);
	syscall(SYS_futex, &lock, FUTEX_UNLOCK_PI | FUTEX_PRIVATE_FLAG, 0, NULL, NULL, 0);
	pthread_join(thread, NULL);
	return 0;
}
