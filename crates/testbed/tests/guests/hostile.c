/* A program that does to others what it can. The first argument names the way; each way goes on
 * until the program is killed, unless it says how it went. */
#include "silent.h"
#include <dirent.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

#ifdef __aarch64__
#define OWN_PAGE 0xf0150000ul
#else
#define OWN_PAGE 0x150000ul
#endif

static void rest(void)
{
	for (;;)
		pause();
}

/* Writes into the page that it shares with its owner: first that it was let go and that its page is
 * being changed, for half a second, while a timer of it goes on; then noise, without a pause. */
static void page(void)
{
	struct itimerspec every = {{0, 5000000}, {0, 5000000}};
	volatile uint64_t *words = (uint64_t *)OWN_PAGE;
	volatile uint32_t *halves = (uint32_t *)OWN_PAGE;
	uint64_t noise = 88172645463325252ull, count;
	int i, timer = timerfd_create(CLOCK_MONOTONIC, 0);

	timerfd_settime(timer, 0, &every, NULL);
	print_line("page");
	halves[(128 + 16) / 4] = 1;
	halves[32 / 4] = 2;
	for (i = 0; i < 100; i++)
		if (read(timer, &count, sizeof(count)) < 0)
			exit(14);
	for (;;) {
		noise ^= noise << 13;
		noise ^= noise >> 7;
		noise ^= noise << 17;
		words[(noise >> 40) % 64] = noise % 3 ? noise : UINT64_MAX;
	}
}

static char *silent(unsigned long at)
{
	char *memory = silent_memory(at, 4096);

	if (!memory) {
		print_line("no userfaultfd");
		exit(0);
	}
	return memory;
}

/* Execs that never get on, far more than somebody would follow at a time. */
static void execs(void)
{
	int i;

	for (i = 0; i < 400; i++) {
		if (fork() == 0) {
			char *path = silent(0);
			char *argv[] = {path, NULL};

			execv(path, argv);
			_exit(3);
		}
	}
	print_line("execs");
	rest();
}

static int never[2];

static void *waits(void *unused)
{
	char octet;

	/* A call that a freeze may cut short. */
	if (read(never[0], &octet, 1) < 0)
		exit(15);
	return unused;
}

/* Execs of a file that is never read to its end, in processes that do something else as well. */
static void hang(void)
{
	char path[] = "/tmp/hangs-XXXXXX";
	int i;

	if (!mount_silent_file(path, 0755, 0, 0)) {
		print_line("no file system of its own");
		exit(0);
	}
	if (pipe(never))
		exit(16);
	for (i = 0; i < 80; i++) {
		if (fork() == 0) {
			char *argv[] = {path, NULL};
			pthread_t thread;

			pthread_create(&thread, NULL, waits, NULL);
			execv(path, argv);
			_exit(17);
		}
	}
	/* Nobody else is to find it there; it goes with the last who uses it. */
	usleep(300000);
	umount2(path, MNT_DETACH);
	unlink(path);
	print_line("hang");
	rest();
}

/* Its own page answers nobody, in many processes that look as if they began programs. */
static void maps(void)
{
	int i;

	for (i = 0; i < 100; i++) {
		if (fork() == 0) {
			silent(OWN_PAGE);
			rest();
		}
	}
	print_line("maps");
	rest();
}

/* Lines without end on both outputs. */
static void flood(void)
{
	static char line[1 << 16];

	memset(line, 'x', sizeof(line));
	for (unsigned i = 0;; i++) {
		line[sizeof(line) - 1] = i % 4 ? 'x' : '\n';
		if (write(1 + i % 2, line, sizeof(line)) < 0)
			exit(4);
	}
}

/* Execs that fail, from many threads, as fast as they can. */
static void *storms(void *unused)
{
	char *argv[] = {"/nowhere", NULL};

	for (;;)
		execv("/nowhere", argv);
	return unused;
}

static void storm(void)
{
	pthread_t thread;
	int i;

	print_line("storm");
	for (i = 0; i < 8; i++)
		pthread_create(&thread, NULL, storms, NULL);
	rest();
}

/* Takes every socket that it can from a process, and forges the end of another program on it. */
static int steal_from(int process, const char *message)
{
	long handle = syscall(SYS_pidfd_open, process, 0);
	int fd, stolen = 0;

	for (fd = 0; handle >= 0 && fd < 64; fd++) {
		long copy = syscall(SYS_pidfd_getfd, handle, fd, 0);
		int kind = 0;
		socklen_t length = sizeof(kind);

		if (copy >= 0 && !getsockopt(copy, SOL_SOCKET, SO_TYPE, &kind, &length)) {
			stolen++;
			send(copy, message, strlen(message), MSG_NOSIGNAL);
		}
		close(copy);
	}
	close(handle);
	return stolen;
}

/* Takes sockets from every process that it sees, once, or over and over for some milliseconds: then
 * those as well that are about to become programs, while its clock is stopped. */
static void steal(const char *whose, long ms)
{
	int64_t until = now_ns(CLOCK_MONOTONIC) + ms * MS;
	int stolen = 0, processes = 0, greatest = 0;
	char message[256];

	snprintf(message, sizeof(message),
		 "{\"Exited\":{\"name\":\"%s\",\"code\":7,\"signal\":null,\"cpu_s\":0.0}}", whose);
	do {
		struct dirent *entry;
		DIR *folder = opendir("/proc");

		processes = 0;
		while ((entry = readdir(folder))) {
			int process = atoi(entry->d_name);

			if (process <= 0 || process == getpid())
				continue;
			stolen += steal_from(process, message);
			processes++;
			greatest = process > greatest ? process : greatest;
		}
		closedir(folder);
	} while (now_ns(CLOCK_MONOTONIC) < until);
	printf("looked at %d up to number %d, stole %d\n", processes, greatest, stolen);
	fflush(stdout);
	rest();
}

/* Writes an error where a process that is about to become a program says why it could not. */
static int forge_in(int process)
{
	const int error = EINVAL;
	char path[40], line[512];
	unsigned long word;
	int memory, forged = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/mem", process);
	memory = open(path, O_RDWR);
	snprintf(path, sizeof(path), "/proc/%d/maps", process);
	maps = fopen(path, "r");
	while (maps && memory >= 0 && fgets(line, sizeof(line), maps))
		if (strstr(line, "memfd:begin") && sscanf(line, "%lx", &word) == 1)
			forged += pwrite(memory, &error, sizeof(error), (off_t)word) > 0;
	if (maps)
		fclose(maps);
	close(memory);
	return forged;
}

/* Does so to everybody who comes, for some milliseconds. */
static void forge(long ms)
{
	int64_t until = now_ns(CLOCK_MONOTONIC) + ms * MS;
	int next = getpid() + 1, forged = 0;

	while (now_ns(CLOCK_MONOTONIC) < until) {
		if (kill(next, 0))
			continue;
		forged += forge_in(next++) > 0;
	}
	printf("forged %d\n", forged);
	fflush(stdout);
	rest();
}

/* Waits where nothing can wake it, as for a disk: for the child of vfork(2). */
static void blocked(int ms)
{
	print_line("blocked");
	if (vfork() == 0) {
		poll(NULL, 0, ms);
		_exit(0);
	}
	rest();
}

static void *sleeps(void *unused)
{
	rest();
	return unused;
}

/* All the threads that its user may have. */
static void threads(void)
{
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 1 << 16);
	while (!pthread_create(&thread, &small, sleeps, NULL))
		;
	print_line("threads");
	rest();
}

/* Puts what keeps everybody waiting, or tells lies, in the place of files that the testbed may look for,
 * and kills a child, whose end somebody hears of. */
static void cover(void)
{
	char folder[] = "/tmp/cover-XXXXXX", path[80];
	pid_t child;

	if (!mkdtemp(folder))
		exit(18);
	snprintf(path, sizeof(path), "%s/fifo", folder);
	if (mkfifo(path, 0666) || mount(path, "/dev/null", NULL, MS_BIND, NULL) ||
	    mount("cover", "/proc", "tmpfs", 0, NULL) || mkdir("/proc/1", 0777)) {
		print_line("no mounts of its own");
		exit(0);
	}
	unlink(path);
	rmdir(folder);
	child = fork();
	if (child == 0)
		rest();
	kill(child, SIGKILL);
	print_line("cover");
	rest();
}

/* Traces a child that does not become another program, as natively. */
static void trace(void)
{
	int status, child = fork();

	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(6);
		raise(SIGSTOP);
		_exit(9);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) || WSTOPSIG(status) != SIGSTOP)
		exit(7);
	ptrace(PTRACE_CONT, child, 0, 0);
	if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 9)
		exit(8);
	print_line("traced");
	exit(0);
}

/* Execs of a program that is closed to its user: one that fails, one by vfork, one that goes on. */
static void closed(char **command)
{
	int child, status;

	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	execv("/nowhere", command);
	if (errno != ENOENT)
		exit(10);
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	fflush(stdout);
	child = vfork();
	if (child == 0) {
		execv(command[0], command);
		_exit(11);
	}
	if (waitpid(child, &status, 0) != child || status)
		exit(12);
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	fflush(stdout);
	execv(command[0], command);
	perror("exec");
	exit(13);
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "page", page }, { "execs", execs }, { "hang", hang }, { "maps", maps },
		{ "flood", flood }, { "storm", storm }, { "threads", threads }, { "cover", cover },
		{ "trace", trace },
		{ 0 },
	};
	const char *way = argc > 2 ? argv[1] : "";

	if (!strcmp(way, "steal"))
		steal(argv[2], argc > 3 ? atol(argv[3]) : 0);
	else if (!strcmp(way, "blocked"))
		blocked(atoi(argv[2]));
	else if (!strcmp(way, "forge"))
		forge(atoi(argv[2]));
	else if (!strcmp(way, "closed"))
		closed(argv + 2);
	return run_mode(modes, argc, argv);
}
