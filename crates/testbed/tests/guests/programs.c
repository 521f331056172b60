/* Ways to start a program. The program that is started is this one again, as `say`, which prints
 * "virtual" if its time of day is before 2002 and "host" otherwise; so nobody slips out of a
 * domain that starts in 2001 unnoticed. */
#include "guest.h"
#include <spawn.h>

extern char **environ;
static char *self;
static char *say[] = { "programs", "say", NULL };

static const char *where(void)
{
	struct timespec t, raw;
	clock_gettime(CLOCK_REALTIME, &t);
	syscall(SYS_clock_gettime, CLOCK_REALTIME, &raw);
	int virtual = t.tv_sec < 1009843200, by_call = raw.tv_sec < 1009843200;
	return virtual != by_call ? "torn" : virtual ? "virtual" : "host";
}

static int wait_for(pid_t child)
{
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void *exec_here(void *unused)
{
	execv(self, say);
	abort();
}

static void *compute(void *unused)
{
	while (time(unused) >= 0)
		;
	return NULL;
}

static void *sleep_long(void *unused)
{
	sleep(1000);
	return NULL;
}

/* Many execs, most of which succeed: every third file is missing. */
static void *start_many(void *number)
{
	long failures = 0;
	for (long i = 0; i < (long)number; i++) {
		pid_t child;
		char *quiet[] = { "programs", "check", NULL };
		int missing = i % 3 == 0;
		int error = posix_spawn(&child, missing ? "/nowhere/at/all" : self, NULL, NULL, quiet,
					environ);
		if (missing ? error != ENOENT : error || wait_for(child))
			failures++;
	}
	return (void *)failures;
}

static int many(long threads, long each)
{
	pthread_t thread[64];
	long failures = 0;
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, start_many, (void *)each);
	for (long i = 0; i < threads; i++) {
		void *result;
		pthread_join(thread[i], &result);
		failures += (long)result;
	}
	printf("%ld failures\n", failures);
	return failures != 0;
}

/* A program that starts itself, so deep. */
static int deep(const char *depth)
{
	int left = atoi(depth);
	if (!left)
		return puts(where()) < 0;
	char next[32];
	snprintf(next, sizeof(next), "%d", left - 1);
	pid_t child = fork();
	if (!child) {
		execl(self, "programs", "deep", next, NULL);
		_exit(99);
	}
	return wait_for(child);
}

/* Both threads of a process ask for an exec, again and again; one wins, or a file is missing. */
static void *race(void *missing)
{
	for (int i = 0; i < 3; i++)
		execv(missing ? "/nowhere/at/all" : self, say);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t child;
	self = realpath("/proc/self/exe", NULL);
	const char *mode = argc > 1 ? argv[1] : "say";
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!strcmp(mode, "say"))
		return puts(where()) < 0;
	if (!strcmp(mode, "check"))
		return strcmp(where(), getenv("EXPECT"));
	if (!strcmp(mode, "fork")) {
		if (!(child = fork()))
			return puts(where()) < 0;
		return wait_for(child);
	}
	if (!strcmp(mode, "fork-exec")) {
		if (!(child = fork()))
			execv(self, say);
		return wait_for(child);
	}
	if (!strcmp(mode, "vfork")) {
		if (!(child = vfork())) {
			execv(self, say);
			_exit(99);
		}
		return wait_for(child);
	}
	if (!strcmp(mode, "spawn"))
		return posix_spawn(&child, self, NULL, NULL, say, environ) ?: wait_for(child);
	if (!strcmp(mode, "fexecve"))
		return fexecve(open(self, O_RDONLY | O_CLOEXEC), say, environ);
	if (!strcmp(mode, "missing")) {
		int plain = execl("/nowhere/at/all", "x", NULL) ? errno : 0;
		int directory = execl("/", "x", NULL) ? errno : 0;
		int pointer = syscall(SYS_execve, 1, NULL, NULL) ? errno : 0;
		int null = syscall(SYS_execve, NULL, NULL, NULL) ? errno : 0;
		printf("%d %d %d %d %s\n", plain, directory, pointer, null, where());
		return 0;
	}
	if (!strcmp(mode, "thread")) {
		pthread_create(&thread, NULL, compute, NULL);
		pthread_create(&thread, NULL, sleep_long, NULL);
		pthread_create(&thread, NULL, exec_here, NULL);
		pause();
	}
	if (!strcmp(mode, "race")) {
		pthread_create(&thread, NULL, race, NULL);
		pthread_create(&thread, NULL, race, "missing");
		race(argc > 2 ? "missing" : NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(mode, "many"))
		return many(atoi(argv[2]), atoi(argv[3]));
	if (!strcmp(mode, "deep"))
		return deep(argv[2]);
	if (!strcmp(mode, "files")) {
		/* Which descriptors are open. */
		for (int fd = 0; fd < 1024; fd++)
			if (fcntl(fd, F_GETFD) >= 0)
				printf("%d ", fd);
		printf("\n");
		return 0;
	}
	return 64;
}
