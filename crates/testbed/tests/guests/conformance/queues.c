/* Signals, semaphores, message queues and asynchronous input and output. */
#include "conformance.h"
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/sem.h>
#include <sys/stat.h>

#define NR_IO_PGETEVENTS 333

static pid_t waiter;

static void note_waiter(struct scene *s)
{
	waiter = getpid();
}

static const char *by_sigtimedwait(struct scene *s)
{
	uint64_t set = 1 << (SIGUSR2 - 1);
	long result = syscall(SYS_rt_sigtimedwait, &set, NULL, s->time, 8);
	if (result < 0 && errno == EAGAIN)
		return "time is over";
	return result == SIGUSR2 ? "gets it" : told(result, "no signal");
}

static void send_signal(struct scene *s)
{
	kill(waiter, SIGUSR2);
}

/* Without a name; gone once everybody who uses it is, which needs somebody to say so. */
static void make_semaphores(struct scene *s)
{
	s->object = semget(IPC_PRIVATE, 1, 0600);
	must(s->object >= 0, "semget");
}

static const char *by_semtimedop(struct scene *s)
{
	struct sembuf take = { 0, -1, 0 };
	long result = syscall(SYS_semtimedop, s->object, &take, 1, s->time);
	int error = errno;
	if ((uintptr_t)s->time != 8 && s->asked_ns)
		semctl(s->object, 0, IPC_RMID);
	errno = error;
	return result < 0 && errno == EAGAIN ? "time is over" : told(result, "gets it");
}

static void give_semaphore(struct scene *s)
{
	struct sembuf give = { 0, 1, 0 };
	must(semop(s->object, &give, 1) == 0 || errno == EIDRM || errno == EINVAL, "semop");
}

static void make_queue(struct scene *s)
{
	char name[64];
	struct mq_attr room = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	snprintf(name, sizeof(name), "/conformance-%d", getpid());
	s->object = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &room);
	must(s->object >= 0, "mq_open");
	mq_unlink(name);
}

static void make_full_queue(struct scene *s)
{
	make_queue(s);
	must(mq_send(s->object, "full", 4, 0) == 0, "mq_send");
}

static const char *queued(long result)
{
	return result < 0 && errno == ETIMEDOUT ? "time is over" : told(result, "gets it");
}

static const char *by_receive(struct scene *s)
{
	char message[8];
	return queued(syscall(SYS_mq_timedreceive, s->object, message, 8, NULL, s->time));
}

static const char *by_send(struct scene *s)
{
	return queued(syscall(SYS_mq_timedsend, s->object, "more", 4, 0, s->time));
}

static void send_message(struct scene *s)
{
	must(mq_send(s->object, "text", 4, 0) == 0, "mq_send");
}

static void take_message(struct scene *s)
{
	char message[8];
	must(mq_receive(s->object, message, 8, NULL) >= 0, "mq_receive");
}

static aio_context_t context;

/* One request that is done when the pipe can be read. */
static void make_requests(struct scene *s)
{
	must(syscall(SYS_io_setup, 4, &context) == 0, "io_setup");
}

static void submit(struct scene *s)
{
	static struct iocb request;
	struct iocb *requests[] = { &request };
	request = (struct iocb){ .aio_lio_opcode = IOCB_CMD_POLL, .aio_fildes = s->pipe[0],
				 .aio_buf = POLLIN };
	if (s->asked_ns)
		must(syscall(SYS_io_submit, context, 1, requests) == 1, "io_submit");
}

static const char *by_io_getevents(struct scene *s)
{
	struct io_event events[2];
	submit(s);
	return told(syscall(SYS_io_getevents, context, 1, 2, events, s->time), "time is over");
}

static const char *by_io_pgetevents(struct scene *s)
{
	struct io_event events[2];
	uint64_t mask = 1 << (SIGUSR2 - 1);
	struct { uint64_t *mask; size_t size; } masked = { &mask, 8 };
	submit(s);
	long result = syscall(NR_IO_PGETEVENTS, context, 1, 2, events, s->time, &masked);
	return told(result, "time is over");
}

static void make_readable(struct scene *s)
{
	must(write(s->pipe[1], "", 1) == 1, "write");
}

const struct call queues[] = {
	{ "rt_sigtimedwait", by_sigtimedwait, note_waiter, NULL, send_signal, CLOCK_MONOTONIC, 0 },
	{ "semtimedop", by_semtimedop, make_semaphores, NULL, give_semaphore, CLOCK_MONOTONIC,
	  NO_TIMESPEC },
	{ "mq_timedreceive", by_receive, make_queue, NULL, send_message, CLOCK_REALTIME, ABSOLUTE },
	{ "mq_timedsend", by_send, make_full_queue, NULL, take_message, CLOCK_REALTIME, ABSOLUTE },
	{ "io_getevents", by_io_getevents, make_requests, NULL, make_readable, CLOCK_MONOTONIC,
	  NO_TIMESPEC },
	{ "io_pgetevents", by_io_pgetevents, make_requests, NULL, make_readable, CLOCK_MONOTONIC,
	  NO_TIMESPEC },
	{ 0 },
};
