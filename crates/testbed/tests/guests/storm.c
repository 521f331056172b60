/* Children that start programs as fast as they can, and somebody who sends them signals at
 * random moments, also in the midst of an exec: each must end by itself or by a signal that ends
 * programs, and none may hang.
 *
 *   storm CHILDREN ROUNDS SEED */
#include "guest.h"
#include <spawn.h>

extern char **environ;

static void *idle(void *unused)
{
	pause();
	return unused;
}

static const char *self;

/* Runs through a few execs of itself, some from a second thread, some of missing files. In
 * virtual time a handler without SA_RESTART may interrupt an exec, as docs/limitations.md says. */
static void *go_on(void *argument)
{
	char left[32];
	long rest = (long)argument;
	if (rest == 0)
		_exit(0);
	snprintf(left, sizeof(left), "%ld", rest - 1);
	execl("/nowhere/at/all", "x", NULL);
	do
		execl(self, "storm", "runner", left, NULL);
	while (errno == EINTR);
	perror("exec");
	_exit(98);
}

static int runner(long rest)
{
	pthread_t thread;
	pid_t child;
	char *quick[] = { "storm", "runner", "0", NULL };
	if (rest % 4 == 3) {
		pthread_create(&thread, NULL, idle, NULL);
		pthread_create(&thread, NULL, go_on, (void *)rest);
		pause();
		pthread_exit(NULL);
	}
	if (rest % 4 == 2 && !posix_spawn(&child, self, NULL, NULL, quick, environ))
		waitpid(child, NULL, 0);
	go_on((void *)rest);
	return 97;
}

static void ignore(int signal)
{
}

int main(int argc, char **argv)
{
	if (!getenv("STORM"))
		setenv("STORM", realpath("/proc/self/exe", NULL), 1);
	self = getenv("STORM");
	if (argc > 2 && !strcmp(argv[1], "runner")) {
		struct sigaction action = { .sa_handler = ignore };
		sigaction(SIGUSR1, &action, NULL);
		return runner(atol(argv[2]));
	}
	static const int signals[] = { SIGKILL, SIGTERM, SIGSTOP, SIGCONT, SIGTSTP, SIGUSR1, SIGUSR2,
				       SIGCHLD, SIGWINCH, SIGTRAP };
	int count = atoi(argv[1]), ended[4] = { 0 };
	pid_t *children = calloc(count, sizeof(*children));
	srand(atoi(argv[3]));
	/* What is ignored stays so over an exec. */
	signal(SIGUSR2, SIG_IGN);
	for (int round = 0; round < atoi(argv[2]); round++) {
		for (int i = 0; i < count; i++)
			if (!(children[i] = fork())) {
				execl(self, "storm", "runner", "9", NULL);
				_exit(99);
			}
		for (int shot = 0; shot < count * 12; shot++) {
			int which = rand() % count;
			/* Two of the signals end a program: they come last, and to half of them. */
			int signal = signals[2 + rand() % 8];
			if (signal == SIGTRAP)
				signal = SIGCONT;
			if (shot > count * 8 && which % 2)
				signal = signals[rand() % 2];
			if (children[which] > 0)
				kill(children[which], signal);
			for (volatile int spin = rand() % 60000; spin > 0; spin--)
				;
		}
		for (int i = 0; i < count; i++) {
			int status, patience = 0;
			/* One that was stopped, or stops itself late, is continued until it ends. */
			while (!waitpid(children[i], &status, WNOHANG)) {
				kill(children[i], SIGCONT);
				usleep(patience++ < 100 ? 1000 : 20000);
				if (patience > 2000) {
					printf("%d hangs\n", children[i]);
					return 1;
				}
			}
			if (WIFEXITED(status))
				ended[WEXITSTATUS(status) ? 3 : 0]++;
			else if (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM)
				ended[1]++;
			else if (WTERMSIG(status) == SIGUSR1)
				ended[2]++; /* Came before the handler was there. */
			else {
				printf("%d ended by signal %d\n", children[i], WTERMSIG(status));
				ended[3]++;
			}
			if (WIFEXITED(status) && WEXITSTATUS(status))
				printf("%d exited with %d\n", children[i], WEXITSTATUS(status));
		}
	}
	printf("by themselves %d, killed %d, by SIGUSR1 %d, wrongly %d\n", ended[0], ended[1], ended[2],
	       ended[3]);
	return ended[3] != 0;
}
