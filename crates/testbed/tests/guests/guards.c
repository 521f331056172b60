/* Programs that do with signals what the image must survive. Each mode prints what it saw; the
 * test compares that with the same mode run natively. */
#include "guest.h"
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/select.h>

static volatile sig_atomic_t handled, in_handler, code, enough;
/* Between two signals, in turns of a loop; more than a handler takes. */
static int interval = 20000;
static sigjmp_buf back;

/* Waits in every way that does not depend on others, and reads the clock by a call. */
static int waits_work(void)
{
	struct timespec t = { 0, 1000000 }, now;
	struct timeval v = { 0, 1000 };
	int good = nanosleep(&t, NULL) == 0;
	good += poll(NULL, 0, 1) == 0;
	good += select(0, NULL, NULL, NULL, &v) == 0;
	good += pselect(0, NULL, NULL, NULL, &t, NULL) == 0;
	good += syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0;
	good += clock_nanosleep(CLOCK_REALTIME, 0, &t, NULL) == 0;
	return good;
}

static void count(int signal)
{
	handled++;
}

static void wait_in_handler(int signal)
{
	in_handler = waits_work();
	handled++;
}

static void jump(int signal)
{
	siglongjmp(back, 1);
}

static void note(int signal, siginfo_t *info, void *context)
{
	code = info->si_code;
	handled++;
}

static void install(int signal, void (*handler)(int), int flags, int fill)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	if (fill)
		sigfillset(&action.sa_mask);
	sigaction(signal, &action, NULL);
}

/* Sends signals to the thread that is given until it has had enough. */
static void *pester(void *main_thread)
{
	enough = 0;
	while (!enough) {
		pthread_kill(*(pthread_t *)main_thread, SIGUSR1);
		for (int i = 0; i < interval; i++)
			ease();
	}
	return NULL;
}

static void blocked(void)
{
	sigset_t all, old;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	printf("waits %d\n", waits_work());
	sigprocmask(SIG_BLOCK, NULL, &old);
	printf("blocks TERM %d KILL %d\n", sigismember(&old, SIGTERM), sigismember(&old, SIGKILL));
	raise(SIGUSR1);
	sigset_t one = set_of(SIGUSR1);
	struct timespec t = { 10, 0 };
	printf("takes %d\n", sigtimedwait(&one, NULL, &t) == SIGUSR1);
	sigprocmask(SIG_UNBLOCK, &all, &old);
	printf("waits %d\n", waits_work());
}

static void masked(void)
{
	install(SIGUSR1, wait_in_handler, 0, 1);
	raise(SIGUSR1);
	printf("waits in a handler %d\n", in_handler);
	sigset_t all;
	sigfillset(&all);
	sigdelset(&all, SIGUSR1);
	sigset_t usr1 = set_of(SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	raise(SIGUSR1);
	in_handler = 0;
	printf("suspended %d\n", sigsuspend(&all) == -1 && errno == EINTR);
	printf("waits in a handler %d of %d\n", in_handler, handled);
	raise(SIGUSR1);
	struct pollfd none;
	struct timespec t = { 10, 0 };
	printf("ppoll %d\n", ppoll(&none, 0, &t, &all) == -1 && errno == EINTR);
	raise(SIGUSR1);
	printf("pselect %d\n", pselect(0, NULL, NULL, NULL, NULL, &all) == -1 && errno == EINTR);
	raise(SIGUSR1);
	struct epoll_event event;
	int epoll = epoll_create1(0);
	printf("epoll_pwait %d\n", epoll_pwait(epoll, &event, 1, 10000, &all) == -1 && errno == EINTR);
	printf("handled %d\n", handled);
}

static void sigsys(void)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | SA_RESTART }, old;
	sigaction(SIGSYS, NULL, &old);
	printf("default %d\n", old.sa_handler == SIG_DFL);
	sigaction(SIGSYS, &action, &old);
	printf("default %d\n", old.sa_handler == SIG_DFL);
	printf("waits %d\n", waits_work());
	printf("handled %d\n", handled);
	kill(getpid(), SIGSYS);
	printf("handled %d, sent by kill %d\n", handled, code == SI_USER);
	sigaction(SIGSYS, NULL, &old);
	printf("handler %d, with flags %d\n", old.sa_sigaction == note, !!(old.sa_flags & SA_SIGINFO));
	signal(SIGSYS, SIG_IGN);
	kill(getpid(), SIGSYS);
	printf("handled %d\n", handled);
	printf("waits %d\n", waits_work());
	signal(SIGSYS, SIG_DFL);
	printf("waits %d\n", waits_work());
	fflush(stdout);
	kill(getpid(), SIGSYS);
	printf("not reached\n");
}

/* Leaves a handler, which has interrupted a sleep, by a jump: over the frames of the image. */
static void jumps(void)
{
	pthread_t thread, own = pthread_self();
	install(SIGUSR1, jump, 0, 0);
	sigset_t usr1 = set_of(SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	pthread_create(&thread, NULL, pester, &own);
	for (;;) {
		if (sigsetjmp(back, 1) == 0) {
			sigprocmask(SIG_UNBLOCK, &usr1, NULL);
			sleep(1000);
		}
		if (++handled >= 50)
			break;
	}
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	enough = 1;
	pthread_join(thread, NULL);
	printf("jumped %d\n", handled);
	printf("waits %d\n", waits_work());
}

static sem_t cleaned;

static void clean(void *semaphore)
{
	sem_post(semaphore);
}

static void *cancelled(void *how)
{
	pthread_cleanup_push(clean, &cleaned);
	if (!strcmp(how, "sleep"))
		sleep(1000);
	else if (!strcmp(how, "poll"))
		poll(NULL, 0, 1000000);
	else {
		pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
		pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
		struct timespec t = { time(NULL) + 1000, 0 };
		pthread_mutex_lock(&mutex);
		pthread_cond_timedwait(&cond, &mutex, &t);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancel(void)
{
	static const char *ways[] = { "sleep", "poll", "cond" };
	for (int i = 0; i < 3; i++) {
		pthread_t thread;
		void *result;
		int cleanups;
		sem_init(&cleaned, 0, 0);
		pthread_create(&thread, NULL, cancelled, (void *)ways[i]);
		usleep(20000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		sem_getvalue(&cleaned, &cleanups);
		printf("%s: cancelled %d, cleaned up %d\n", ways[i], result == PTHREAD_CANCELED, cleanups);
	}
	printf("waits %d\n", waits_work());
}

/* Handlers with and without the alternate stack, over a wait that was stopped on it. */
static void alternate(void)
{
	pthread_t thread, own = pthread_self();
	long least = sysconf(_SC_MINSIGSTKSZ), size = least > SIGNAL_STACK ? least : SIGNAL_STACK;
	stack_t stack = { .ss_sp = malloc(size), .ss_size = size };
	sigaltstack(&stack, NULL);
	for (int flags = 0; flags <= SA_ONSTACK; flags += SA_ONSTACK) {
		install(SIGUSR1, count, flags, 0);
		pthread_create(&thread, NULL, pester, &own);
		for (int before = handled; handled < before + 3;)
			poll(NULL, 0, 100000);
		enough = 1;
		pthread_join(thread, NULL);
	}
	printf("handled at least 6: %d\n", handled >= 6);
	printf("waits %d\n", waits_work());
}

/* A handler that waits, over a wait that it has interrupted. */
static void nested(void)
{
	pthread_t thread, own = pthread_self();
	install(SIGUSR1, wait_in_handler, 0, 0);
	interval = 1000000;
	pthread_create(&thread, NULL, pester, &own);
	while (handled < 3)
		sleep(1000);
	enough = 1;
	pthread_join(thread, NULL);
	printf("waits in a handler %d\n", in_handler);
}

/* The clock of the processor time of process 5242880, a number that no process can have. */
#define NOBODYS_CLOCK (~5242880 * 8)

static void wrong(void)
{
	struct timespec bad = { 0, 1000000000 }, negative = { -1, 0 };
	printf("%d", nanosleep(&bad, NULL) ? errno : 0);
	printf(" %d", nanosleep(&negative, NULL) ? errno : 0);
	printf(" %d", clock_nanosleep(99, 0, &bad, NULL));
	printf(" %d", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &bad, NULL));
	printf(" %d", ppoll(NULL, 0, &negative, NULL) ? errno : 0);
	printf(" %d", poll_by_call((void *)1, 1, 1) ? errno : 0);
	struct epoll_event event;
	printf(" %d", epoll_wait(-1, &event, 1, 1) ? errno : 0);
	printf(" %d", epoll_wait(epoll_create1(0), &event, 0, 1) ? errno : 0);
	printf(" %d", clock_gettime(99, &bad) ? errno : 0);
	printf(" %ld", syscall(SYS_clock_gettime, NOBODYS_CLOCK, &bad) ? (long)errno : 0);
	printf(" %d\n", select(-1, NULL, NULL, NULL, &(struct timeval){ 0, 1 }) ? errno : 0);
}

static void pointer(void)
{
	printf("%d\n", nanosleep((void *)8, NULL) ? errno : 0);
}

/* A filter of its own, which lets all calls pass but one. */
static void filter(void)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_chroot },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog program = { 4, code };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		perror("filter");
	printf("waits %d\n", waits_work());
	fflush(stdout);
	syscall(SYS_chroot, "/");
	printf("not reached\n");
}

static void strict(void)
{
	/* From here on only read, write and exit are allowed. */
	int error = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) ? errno : 0;
	const char *line = error ? "refused\n" : "strict\n";
	syscall(SYS_write, 1, line, strlen(line));
	syscall(SYS_exit, 0);
}

/* As posix_spawn of glibc 2.38 and newer: a child whose handlers are cleared at its birth sets its
 * mask and runs a program. Where there is no such call, it clears them itself. */
static void spawn(void)
{
	struct clone_args args = { .flags = CLONE_CLEAR_SIGHAND | CLONE_VFORK, .exit_signal = SIGCHLD };
	sigset_t none, all;
	int status = 0;
	install(SIGUSR1, count, 0, 0);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	pid_t child = syscall(SYS_clone3, &args, sizeof(args));
	if (child < 0 && errno == ENOSYS) {
		child = fork();
		if (child == 0)
			signal(SIGUSR1, SIG_DFL);
	}
	if (child == 0) {
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		int good = waits_work();
		struct sigaction action;
		sigaction(SIGUSR1, NULL, &action);
		if (good == 6 && action.sa_handler == SIG_DFL)
			execl("/bin/sh", "sh", "-c", "sleep 0.01; exit 7", NULL);
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("exited %d with %d\n", WIFEXITED(status), WEXITSTATUS(status));
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "blocked", blocked }, { "masked", masked }, { "sigsys", sigsys }, { "jumps", jumps },
		{ "cancel", cancel }, { "alternate", alternate }, { "nested", nested }, { "wrong", wrong },
		{ "pointer", pointer }, { "spawn", spawn }, { "filter", filter }, { "strict", strict },
		{ 0 },
	};
	return run_mode(modes, argc, argv);
}
