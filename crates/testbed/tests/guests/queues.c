/* Waits for semaphores, message queues, events and several futexes; the time since the start of
 * the system; and calls whose pointers point nowhere. Prints one line for each check, the same
 * natively and in virtual time. */
#include "guest.h"
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sysinfo.h>
#include <sys/times.h>

#define WAIT (250 * MS)
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

static int64_t begun;

static int not_early(void)
{
	return now_ns(CLOCK_MONOTONIC) - begun >= WAIT;
}

static void begin(void)
{
	begun = now_ns(CLOCK_MONOTONIC);
}

static void *post(void *arg)
{
	struct sembuf up = { 0, 1, 0 };
	usleep(50000);
	semop(*(int *)arg, &up, 1);
	return NULL;
}

static void semaphores(void)
{
	struct timespec span = span_of(WAIT);
	struct sembuf down = { 0, -1, 0 }, at_once = { 0, -1, IPC_NOWAIT };
	int set = semget(IPC_PRIVATE, 1, 0600);
	begin();
	check("semtimedop in vain", semtimedop(set, &down, 1, &span) == -1 && errno == EAGAIN && not_early());
	begin();
	check("semtimedop at once", semtimedop(set, &at_once, 1, &span) == -1 && errno == EAGAIN && !not_early());
	pthread_t thread;
	pthread_create(&thread, NULL, post, &set);
	struct timespec minute = { 60, 0 };
	check("semtimedop gets it", semtimedop(set, &down, 1, &minute) == 0);
	pthread_join(thread, NULL);
	semctl(set, 0, IPC_RMID);
}

static void messages(void)
{
	char name[64], text[8] = "x";
	snprintf(name, sizeof name, "/quartercycle-%d", getpid());
	struct mq_attr shape = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	mqd_t queue = mq_open(name, O_CREAT | O_RDWR, 0600, &shape);
	mq_unlink(name);
	begin();
	struct timespec until = span_of(now_ns(CLOCK_REALTIME) + WAIT);
	check("mq_timedreceive in vain", mq_timedreceive(queue, text, 8, NULL, &until) == -1 &&
					 errno == ETIMEDOUT && not_early());
	check("mq_timedsend at once", mq_timedsend(queue, text, 1, 0, &until) == 0);
	begin();
	until = span_of(now_ns(CLOCK_REALTIME) + WAIT);
	check("mq_timedsend in vain", mq_timedsend(queue, text, 1, 0, &until) == -1 &&
				      errno == ETIMEDOUT && not_early());
	check("mq_timedreceive gets it", mq_timedreceive(queue, text, 8, NULL, &until) == 1);
	mq_close(queue);
}

struct waiter {
	uint64_t value, address;
	uint32_t flags, reserved;
};

static void events(void)
{
	aio_context_t context = 0;
	struct io_event list[4];
	struct timespec span = span_of(WAIT);
	syscall(SYS_io_setup, 4, &context);
	begin();
	check("io_getevents in vain",
	      syscall(SYS_io_getevents, context, 1, 4, list, &span) == 0 && not_early());
	syscall(SYS_io_destroy, context);
	uint32_t words[2] = { 0, 7 };
	struct waiter both[2] = { { 0, (uintptr_t)&words[0], 2, 0 }, { 7, (uintptr_t)&words[1], 2, 0 } };
	begin();
	struct timespec until = span_of(now_ns(CLOCK_REALTIME) + WAIT);
	int ended = syscall(SYS_futex_waitv, both, 2, 0, &until, CLOCK_REALTIME);
	check("futex_waitv in vain", ended == -1 && (errno == ENOSYS || (errno == ETIMEDOUT && not_early())));
	both[1].value = 8;
	ended = syscall(SYS_futex_waitv, both, 2, 0, &until, CLOCK_REALTIME);
	check("futex_waitv sees the value", ended == -1 && (errno == ENOSYS || errno == EAGAIN));
}

static void since_start(void)
{
	struct sysinfo info;
	int64_t before = now_ns(CLOCK_BOOTTIME);
	sysinfo(&info);
	int64_t after = now_ns(CLOCK_BOOTTIME);
	check("sysinfo tells the clock since the start",
	      info.uptime >= before / BILLION && info.uptime <= after / BILLION + 1);
	before = now_ns(CLOCK_MONOTONIC);
	clock_t ticks = times(NULL);
	usleep(300000);
	ticks = times(NULL) - ticks;
	after = now_ns(CLOCK_MONOTONIC);
	check("times counts as the clock does", ticks >= 30 && ticks <= (after - before) / (10 * MS) + 1);
}

static void nowhere(void)
{
	void *bad = (void *)8;
	struct timespec span = span_of(MS);
	struct timeval soon = { 0, 1000 };
	check("clock_gettime nowhere", fails(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, bad), EFAULT));
	check("gettimeofday nowhere", fails(syscall(SYS_gettimeofday, bad, NULL), EFAULT));
	check("time nowhere", fails(time_by_call(bad), EFAULT));
	check("nanosleep nowhere", fails(syscall(SYS_nanosleep, bad, NULL), EFAULT));
	check("clock_nanosleep nowhere", fails(syscall(SYS_clock_nanosleep, CLOCK_REALTIME, 1, bad, NULL), EFAULT));
	check("ppoll nowhere", fails(syscall(SYS_ppoll, NULL, 0, bad, NULL, 8), EFAULT));
	check("poll nowhere", fails(poll_by_call(bad, 1, 1), EFAULT));
	check("select nowhere", fails(select_by_call(1, bad, &soon), EFAULT));
	check("pselect nowhere", fails(syscall(SYS_pselect6, 0, NULL, NULL, NULL, bad, NULL), EFAULT));
	check("futex nowhere", fails(syscall(SYS_futex, bad, 0, 0, &span, NULL, 0), EFAULT));
	check("sigaction nowhere", fails(syscall(SYS_rt_sigaction, SIGUSR1, bad, NULL, 8), EFAULT));
	check("sigprocmask nowhere", fails(syscall(SYS_rt_sigprocmask, SIG_BLOCK, bad, NULL, 8), EFAULT));
	check("sigtimedwait nowhere", fails(syscall(SYS_rt_sigtimedwait, bad, NULL, &span, 8), EFAULT));
	check("nanosleep of no time", fails(syscall(SYS_nanosleep, &(struct timespec){ 0, BILLION }, NULL), EINVAL));
	check("nanosleep of less than none", fails(syscall(SYS_nanosleep, &(struct timespec){ -1, 0 }, NULL), EINVAL));
}

int main(void)
{
	print_line("ready");
	semaphores();
	messages();
	events();
	since_start();
	nowhere();
	return 0;
}
