/* futex(2), futex_waitv and futex_wait, and what the C library builds on them. */
#include "conformance.h"
#include <linux/futex.h>
#include <semaphore.h>

#define ALL 0xffffffffu
#define FUTEX_SIZE_U32 2
#ifndef FUTEX_LOCK_PI2
#define FUTEX_LOCK_PI2 13
#endif
#define NR_FUTEX_WAITV 449
#define NR_FUTEX_WAIT 455

/* Woken and found to be changed already are the same to who waits. */
static const char *waited(struct scene *s, long result)
{
	if (result < 0 && errno == ETIMEDOUT)
		return "time is over";
	return s->shared->word && (result >= 0 || errno == EAGAIN) ? "gets it" : told(result, "wakes");
}

static const char *by_wait(struct scene *s)
{
	return waited(s, syscall(SYS_futex, &s->shared->word, FUTEX_WAIT, 0, s->time, NULL, 0));
}

static const char *by_bitset(struct scene *s)
{
	int realtime = s->call->clock == CLOCK_REALTIME ? FUTEX_CLOCK_REALTIME : 0;
	int operation = FUTEX_WAIT_BITSET | realtime;
	return waited(s, syscall(SYS_futex, &s->shared->word, operation, 0, s->time, NULL, ALL));
}

static const char *by_waitv(struct scene *s)
{
	struct { uint64_t value, address; uint32_t flags, reserved; } words[2] = {
		{ 0, (uintptr_t)&s->shared->word, FUTEX_SIZE_U32, 0 },
		{ 0, (uintptr_t)&s->shared->word, FUTEX_SIZE_U32, 0 },
	};
	return waited(s, syscall(NR_FUTEX_WAITV, words, 2, 0, s->time, s->call->clock));
}

static const char *by_futex_wait(struct scene *s)
{
	return waited(s, syscall(NR_FUTEX_WAIT, &s->shared->word, 0, ALL, FUTEX_SIZE_U32, s->time,
				 s->call->clock));
}

static void wake(struct scene *s)
{
	__atomic_store_n(&s->shared->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &s->shared->word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static const char *by_lock_pi(struct scene *s)
{
	int operation = s->call->clock == CLOCK_REALTIME ? FUTEX_LOCK_PI : FUTEX_LOCK_PI2;
	long result = syscall(SYS_futex, &s->shared->word, operation, 0, s->time, NULL, 0);
	return result < 0 && errno == ETIMEDOUT ? "time is over" : told(result, "gets it");
}

static void lock_pi(struct scene *s)
{
	must(syscall(SYS_futex, &s->shared->word, FUTEX_LOCK_PI, 0, NULL, NULL, 0) == 0, "lock");
}

static void unlock_pi(struct scene *s)
{
	must(syscall(SYS_futex, &s->shared->word, FUTEX_UNLOCK_PI, 0, NULL, NULL, 0) == 0, "unlock");
}

static void *shared_memory(size_t length)
{
	void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(memory != MAP_FAILED, "mmap");
	return memory;
}

static const char *timed(int error)
{
	return error == ETIMEDOUT ? "time is over" : error ? error_name(error) : "gets it";
}

static sem_t *semaphore;

static void make_semaphore(struct scene *s)
{
	semaphore = shared_memory(sizeof(sem_t));
	sem_init(semaphore, 1, 0);
}

static const char *by_semaphore(struct scene *s)
{
	return timed(sem_timedwait(semaphore, s->time) ? errno : 0);
}

static void post(struct scene *s)
{
	sem_post(semaphore);
}

static struct monitor {
	pthread_mutex_t mutex;
	pthread_cond_t condition;
	int true_now;
} *monitor;

static void make_monitor(struct scene *s)
{
	pthread_mutexattr_t of_mutex;
	pthread_condattr_t of_condition;
	monitor = shared_memory(sizeof(*monitor));
	pthread_mutexattr_init(&of_mutex);
	pthread_mutexattr_setpshared(&of_mutex, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&monitor->mutex, &of_mutex);
	pthread_condattr_init(&of_condition);
	pthread_condattr_setpshared(&of_condition, PTHREAD_PROCESS_SHARED);
	pthread_condattr_setclock(&of_condition, s->call->clock);
	pthread_cond_init(&monitor->condition, &of_condition);
}

static const char *by_condition(struct scene *s)
{
	int error = 0;
	pthread_mutex_lock(&monitor->mutex);
	while (!monitor->true_now && !error)
		error = pthread_cond_timedwait(&monitor->condition, &monitor->mutex, s->time);
	pthread_mutex_unlock(&monitor->mutex);
	return timed(error);
}

static void signal_condition(struct scene *s)
{
	pthread_mutex_lock(&monitor->mutex);
	monitor->true_now = 1;
	pthread_cond_signal(&monitor->condition);
	pthread_mutex_unlock(&monitor->mutex);
}

static void lock_mutex(struct scene *s)
{
	pthread_mutex_lock(&monitor->mutex);
}

static void unlock_mutex(struct scene *s)
{
	pthread_mutex_unlock(&monitor->mutex);
}

static const char *by_mutex(struct scene *s)
{
	return timed(pthread_mutex_timedlock(&monitor->mutex, s->time));
}

#define ON(clock, name, wait) { name " " #clock, wait, NULL, NULL, wake, CLOCK_##clock, ABSOLUTE }

const struct call futexes[] = {
	{ "futex WAIT", by_wait, NULL, NULL, wake, CLOCK_MONOTONIC, 0 },
	ON(MONOTONIC, "futex WAIT_BITSET", by_bitset),
	ON(REALTIME, "futex WAIT_BITSET", by_bitset),
	{ "futex LOCK_PI", by_lock_pi, NULL, lock_pi, unlock_pi, CLOCK_REALTIME, ABSOLUTE },
	{ "futex LOCK_PI2", by_lock_pi, NULL, lock_pi, unlock_pi, CLOCK_MONOTONIC, ABSOLUTE },
	ON(MONOTONIC, "futex_waitv", by_waitv),
	ON(REALTIME, "futex_waitv", by_waitv),
	ON(MONOTONIC, "futex_wait", by_futex_wait),
	ON(REALTIME, "futex_wait", by_futex_wait),
	{ "sem_timedwait", by_semaphore, make_semaphore, NULL, post, CLOCK_REALTIME,
	  ABSOLUTE | NO_TIMESPEC },
	{ "pthread_cond_timedwait REALTIME", by_condition, make_monitor, NULL, signal_condition,
	  CLOCK_REALTIME, ABSOLUTE | NO_TIMESPEC },
	{ "pthread_cond_timedwait MONOTONIC", by_condition, make_monitor, NULL, signal_condition,
	  CLOCK_MONOTONIC, ABSOLUTE | NO_TIMESPEC },
	{ "pthread_mutex_timedlock", by_mutex, make_monitor, lock_mutex, unlock_mutex, CLOCK_REALTIME,
	  ABSOLUTE | NO_TIMESPEC },
	{ 0 },
};
