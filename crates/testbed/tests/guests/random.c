/* What a program gets that is random, by each way there is, one line for each: `all`; and what getrandom(2)
 * does with wrong arguments, and where a filter of the program's own forbids it: `calls`. */
#include "guest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/random.h>

static void print_octets(const char *what, const unsigned char *octets, size_t count)
{
	char line[200];
	int length = snprintf(line, sizeof line, "%s ", what);
	for (size_t i = 0; i < count; i++)
		length += snprintf(line + length, sizeof line - length, "%02x", octets[i]);
	print_line(line);
}

static void print_random(const char *what)
{
	unsigned char octets[12];
	if (syscall(SYS_getrandom, octets, sizeof octets, 0) != sizeof octets)
		_exit(70);
	print_octets(what, octets, sizeof octets);
}

static void *in_thread(void *nothing)
{
	print_random("thread");
	return nothing;
}

static void print_children(int depth)
{
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();
		if (child == 0) {
			print_random("child");
			print_random("child again");
			if (depth > 0)
				print_children(depth - 1);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	pid_t child = vfork();
	if (child == 0) {
		print_random("vfork");
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void all(char **self)
{
	unsigned char octets[16];
	print_octets("auxiliary", (const unsigned char *)getauxval(AT_RANDOM), 16);
	print_random("call");
	if (getrandom(octets, sizeof octets, 0) != sizeof octets)
		_exit(70);
	print_octets("function", octets, sizeof octets);
	/* Longer than what the image makes at once, and no whole number of words. */
	static unsigned char many[100001];
	if (syscall(SYS_getrandom, many, sizeof many - 1, 0) != sizeof many - 1 || many[sizeof many - 1])
		_exit(71);
	uint64_t sum = 0;
	for (size_t i = 0; i < sizeof many; i++)
		sum = sum * 31 + many[i];
	print_octets("many", (unsigned char *)&sum, sizeof sum);
	pthread_t thread;
	pthread_create(&thread, NULL, in_thread, NULL);
	pthread_join(thread, NULL);
	print_children(1);
	print_random("after");
	void *places[] = { (void *)all, octets, malloc(100), mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) };
	print_octets("places", (unsigned char *)places, sizeof places);
	fflush(stdout);
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();
		if (child == 0)
			execl(self[0], self[0], "one", NULL);
		waitpid(child, NULL, 0);
	}
}

static void forbid(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { COUNT(code), code };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(72);
}

static void say(const char *what, long result)
{
	printf("%s %s\n", what, result < 0 ? strerrorname_np(errno) : "done");
}

static void calls(void)
{
	char octets[8] = { 0 };
	say("nothing", syscall(SYS_getrandom, octets, 0, 0));
	say("no flags of such", syscall(SYS_getrandom, octets, 8, 0x80));
	say("two sources", syscall(SYS_getrandom, octets, 8, GRND_RANDOM | 4));
	say("nowhere", syscall(SYS_getrandom, 8, 8, 0));
	say("read only", syscall(SYS_getrandom, calls, 8, 0));
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(page + 4096, 4096);
	printf("up to the end of memory %ld\n", syscall(SYS_getrandom, page + 4090, 64, 0));
	say("the other source", syscall(SYS_getrandom, octets, 8, GRND_RANDOM));
	forbid();
	say("forbidden", syscall(SYS_getrandom, octets, 8, 0));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "all"))
		all(argv);
	else if (argc > 1 && !strcmp(argv[1], "one"))
		print_random("exec");
	else
		calls();
	return 0;
}
