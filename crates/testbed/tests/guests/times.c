/* What else tells times: processor time, usage, file times, times of shared memory.
 *
 *   times processor MS  computes for MS milliseconds of processor time and says whether each way to
 *                       ask for it agrees
 *   times held          computes when a line comes in and prints how far each clock got meanwhile;
 *                       ends when another line comes in
 *   times past          whether times that the kernel keeps lie between two readings of the clock */
#include "guest.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <utime.h>

static int bad;

static void must(int right, const char *what)
{
	if (!right)
		printf("not so: %s\n", what), bad = 1;
}

static int64_t of(struct rusage *u)
{
	return ns_of_timeval(u->ru_utime) + ns_of_timeval(u->ru_stime);
}

static int64_t usage(int who)
{
	struct rusage u;
	if (getrusage(who, &u))
		perror("getrusage"), bad = 1;
	return of(&u);
}

static int64_t ticks(void)
{
	struct tms t;
	times(&t);
	return (t.tms_utime + t.tms_stime) * (BILLION / sysconf(_SC_CLK_TCK));
}

static clockid_t of_process, of_thread;

enum { PROCESS, THREAD, PROCESS_BY_ID, THREAD_BY_ID, USAGE, USAGE_OF_THREAD, TICKS, WAYS };
static const char *names[] = { "process", "thread", "process by id", "thread by id",
			       "getrusage", "getrusage of thread", "times" };

static int64_t by(int way)
{
	switch (way) {
	case PROCESS:
		return now_ns(CLOCK_PROCESS_CPUTIME_ID);
	case THREAD:
		return now_ns(CLOCK_THREAD_CPUTIME_ID);
	case PROCESS_BY_ID:
		return now_ns(of_process);
	case THREAD_BY_ID:
		return now_ns(of_thread);
	case USAGE:
		return usage(RUSAGE_SELF);
	case USAGE_OF_THREAD:
		return usage(RUSAGE_THREAD);
	default:
		return ticks();
	}
}

static void compute(int64_t ns)
{
	int64_t until = now_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;
	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

static volatile int slept;

static void *sleeper(void *asked)
{
	struct timespec t = { 0, *(int64_t *)asked };
	int64_t until = now_ns(CLOCK_PROCESS_CPUTIME_ID) + t.tv_nsec;
	must(clock_nanosleep(CLOCK_PROCESS_CPUTIME_ID, 0, &t, NULL) == 0, "sleeps");
	must(now_ns(CLOCK_PROCESS_CPUTIME_ID) >= until, "sleeps long enough");
	slept = 1;
	return NULL;
}

static void processor(int64_t ns)
{
	int64_t begin[WAYS], from = now_ns(CLOCK_MONOTONIC);
	for (int way = 0; way < WAYS; way++)
		begin[way] = by(way);
	compute(ns);
	for (int way = 0; way < WAYS; way++) {
		int64_t used = by(way) - begin[way], passed = now_ns(CLOCK_MONOTONIC) - from;
		/* The kernel tells usage in microseconds, user and system apart, and times in ticks. */
		int64_t off = way == TICKS ? 20000000 : 10000;
		must(used >= ns - off, names[way]);
		must(used <= passed + off, names[way]);
	}
	for (int round = 0; round < 2000; round++)
		for (int way = 0; way < WAYS; way++) {
			int64_t first = by(way);
			must(by(way) >= first, names[way]);
		}
	pthread_t thread;
	pthread_create(&thread, NULL, sleeper, &ns);
	while (!slept)
		compute(ns / 4);
	pthread_join(thread, NULL);

	from = now_ns(CLOCK_MONOTONIC);
	int64_t children = usage(RUSAGE_CHILDREN);
	pid_t child = fork();
	if (child == 0) {
		must(now_ns(CLOCK_PROCESS_CPUTIME_ID) <= now_ns(CLOCK_MONOTONIC) - from, "a child begins anew");
		compute(ns);
		_exit(bad);
	}
	int status;
	struct rusage u;
	must(wait4(child, &status, 0, &u) == child && status == 0, "a child ends");
	int64_t passed = now_ns(CLOCK_MONOTONIC) - from;
	must(of(&u) >= ns - 10000 && of(&u) <= passed + 10000, "wait4");
	children = usage(RUSAGE_CHILDREN) - children;
	must(children >= ns - 10000 && children <= passed + 10000, "getrusage of children");
	struct rusage before;
	memset(&u, 0xa5, sizeof u), before = u;
	must(wait4(-1, &status, WNOHANG, &u) == -1 && errno == ECHILD, "no child");
	must(!memcmp(&u, &before, sizeof u), "nothing is written");
	must(clock_getres(CLOCK_PROCESS_CPUTIME_ID, &(struct timespec){ 0 }) == 0, "clock_getres");
	struct timespec t;
	must(clock_gettime(of_process & ~7 & ~(1 << 30), &t) == -1, "a process that is not there");
}

static void held(void)
{
	char line[16];
	for (int way = 0; way < WAYS; way++)
		by(way);
	print_line("ready");
	if (!fgets(line, sizeof line, stdin))
		exit(2);
	int64_t before[WAYS];
	for (int way = 0; way < WAYS; way++)
		before[way] = by(way);
	for (volatile int i = 0; i < 50000000; i++)
		;
	for (int way = 0; way < WAYS; way++)
		printf("%s %lld\n", names[way], (long long)(by(way) - before[way]));
	print_line("over");
	if (!fgets(line, sizeof line, stdin))
		exit(2);
}

static int64_t realtime(void)
{
	return now_ns(CLOCK_REALTIME);
}

static void file(const char *what, const char *path, int64_t before, int64_t slack)
{
	struct stat s;
	stat(path, &s);
	int64_t time = ns_of(s.st_mtim);
	if (time < before - slack || time > realtime() + slack)
		printf("%s is off by %lld\n", what, (long long)(time - before)), bad = 1;
}

static void second(const char *what, time_t time, int64_t before)
{
	if (time < before / BILLION - 1 || time > realtime() / BILLION + 1)
		printf("%s is off by %lld s\n", what, (long long)(time - before / BILLION)), bad = 1;
}

static void past(void)
{
	/* The kernel's own present is that of its last tick. */
	const int64_t tick = 10000000;
	char path[] = "/tmp/timesXXXXXX";
	int fd = mkstemp(path);
	int64_t before = realtime();
	struct timespec now[2] = { { 0, UTIME_NOW }, { 0, UTIME_NOW } };
	utimensat(AT_FDCWD, path, NULL, 0);
	file("utimensat", path, before, tick);
	before = realtime();
	futimens(fd, now);
	file("futimens", path, before, tick);
	before = realtime();
	now[0].tv_nsec = UTIME_OMIT;
	must(utimensat(AT_FDCWD, path, now, 0) == 0, "utimensat with one time");
	file("UTIME_NOW", path, before, tick);
#ifdef SYS_utimes
	before = realtime();
	syscall(SYS_utimes, path, NULL);
	file("utimes", path, before, tick);
	before = realtime();
	syscall(SYS_utime, path, NULL);
	/* Before its successors, it counted in seconds. */
	file("utime", path, before, BILLION);
#endif
	struct timespec chosen[2] = { { 7, 0 }, { 1000, 5 } };
	struct stat s;
	utimensat(AT_FDCWD, path, chosen, 0);
	stat(path, &s);
	must(s.st_mtim.tv_sec == 1000 && s.st_mtim.tv_nsec == 5, "a time that is chosen");
	must(utimensat(AT_FDCWD, "/nowhere/at/all", NULL, 0) == -1 && errno == ENOENT, "no file");
	close(fd);
	unlink(path);

	before = realtime();
	struct shmid_ds memory;
	int id = shmget(IPC_PRIVATE, 4096, 0600);
	void *place = shmat(id, NULL, 0);
	shmctl(id, IPC_STAT, &memory);
	second("shm_ctime", memory.shm_ctime, before);
	second("shm_atime", memory.shm_atime, before);
	must(memory.shm_dtime == 0, "nobody has detached");
	shmdt(place);
	shmctl(id, IPC_RMID, NULL);
	struct semid_ds semaphores;
	id = semget(IPC_PRIVATE, 1, 0600);
	must(semctl(id, 0, IPC_STAT, &semaphores) == 0 && semaphores.sem_otime == 0, "semctl");
	second("sem_ctime", semaphores.sem_ctime, before);
	semctl(id, 0, IPC_RMID);
	struct msqid_ds queue;
	id = msgget(IPC_PRIVATE, 0600);
	must(msgctl(id, IPC_STAT, &queue) == 0 && queue.msg_rtime == 0, "msgctl");
	second("msg_ctime", queue.msg_ctime, before);
	msgctl(id, IPC_RMID, NULL);

	struct timex x = { 0 };
	before = realtime();
	must(adjtimex(&x) >= 0, "adjtimex");
	int64_t time = x.time.tv_sec * BILLION + x.time.tv_usec * (x.status & STA_NANO ? 1 : 1000);
	must(time >= before - 1000 && time <= realtime(), "the time of adjtimex");
	x.modes = 0;
	before = realtime();
	must(clock_adjtime(CLOCK_REALTIME, &x) >= 0, "clock_adjtime");
	time = x.time.tv_sec * BILLION + x.time.tv_usec * (x.status & STA_NANO ? 1 : 1000);
	must(time >= before - 1000 && time <= realtime(), "the time of clock_adjtime");
}

int main(int argc, char **argv)
{
	clock_getcpuclockid(getpid(), &of_process);
	pthread_getcpuclockid(pthread_self(), &of_thread);
	if (argc > 2)
		processor(atoll(argv[2]) * 1000000);
	else if (argc > 1 && !strcmp(argv[1], "held"))
		held();
	else
		past();
	return bad;
}
