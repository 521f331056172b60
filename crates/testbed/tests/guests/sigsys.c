/* SIGSYS as any other signal: blocked, pending, taken and handled. Each mode prints what it saw; the
 * test compares that with the same mode run natively. Between the steps it waits, so that calls are
 * stopped while the signal is blocked. */
#include "guest.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <ucontext.h>

static volatile sig_atomic_t handled, depth, deepest, code, value, seen;
static sigset_t only, full;

static int waits_work(void)
{
	struct timespec t = { 0, 1000000 };
	return nanosleep(&t, NULL) == 0;
}

static int blocked(void)
{
	sigset_t now;
	sigprocmask(SIG_BLOCK, NULL, &now);
	return sigismember(&now, SIGSYS);
}

static int pending(void)
{
	sigset_t now;
	sigpending(&now);
	return sigismember(&now, SIGSYS) + 10 * sigismember(&now, SIGSTKFLT);
}

static void tell(const char *what)
{
	printf("%s: blocked %d, pending %d, handled %d, waits %d\n", what, blocked(), pending(), handled,
	       waits_work());
}

static void count(int signal)
{
	handled += signal == SIGSYS;
}

static void note(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	handled += signal == SIGSYS && info->si_signo == SIGSYS && info->si_errno == 0;
	code = info->si_code;
	value = info->si_value.sival_int;
	seen = sigismember(&interrupted->uc_sigmask, SIGSYS);
}

static void install(int signal, void (*handler)(int), int flags, int with)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	if (with)
		sigaddset(&action.sa_mask, with);
	sigaction(signal, &action, NULL);
}

static void install_note(int flags)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO | flags };
	sigaction(SIGSYS, &action, NULL);
}

/* A change of the mask returns what it was, and so does a look at it. */
static void masks(void)
{
	sigset_t old, one = set_of(SIGUSR1);
	install(SIGSYS, count, 0, 0);
	tell("at first");
	sigprocmask(SIG_BLOCK, &only, &old);
	printf("before %d\n", sigismember(&old, SIGSYS));
	tell("one");
	sigprocmask(SIG_UNBLOCK, &only, &old);
	printf("before %d\n", sigismember(&old, SIGSYS));
	tell("none");
	sigprocmask(SIG_SETMASK, &full, &old);
	tell("all");
	sigprocmask(SIG_UNBLOCK, &one, &old);
	printf("before %d USR1 %d\n", sigismember(&old, SIGSYS), sigismember(&old, SIGUSR1));
	sigprocmask(SIG_SETMASK, &old, &one);
	printf("before %d USR1 %d\n", sigismember(&one, SIGSYS), sigismember(&one, SIGUSR1));
	tell("all again");
	for (int signal = 1; signal < 65; signal++)
		if (!sigismember(&old, signal))
			printf("not blocked: %d\n", signal);
	/* As a run-time system does it for a moment, by the call itself. */
	unsigned long long every = ~0ull, before = 0;
	sigprocmask(SIG_UNBLOCK, &full, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &every, &before, 8);
	printf("before %llx\n", before);
	waits_work();
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, &every, 8);
	printf("before %llx\n", every);
	struct sigaction action = { .sa_handler = count, .sa_mask = full }, was;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGUSR1, NULL, &was);
	printf("sa_mask %d\n", sigismember(&was.sa_mask, SIGSYS));
	for (int time = 0; time < 2; time++) {
		sigaction(SIGUSR2, &action, &was);
		printf("sa_mask %d\n", sigismember(&was.sa_mask, SIGSYS));
	}
	action.sa_handler = SIG_DFL;
	sigaction(SIGSYS, &action, NULL);
	sigaction(SIGSYS, NULL, &action);
	printf("sa_mask %d KILL %d\n", sigismember(&action.sa_mask, SIGSYS),
	       sigismember(&action.sa_mask, SIGKILL));
	printf("how %d\n", sigprocmask(77, &only, NULL) ? errno : 0);
}

/* Sent while it is blocked, by every way there is, and then no more. */
static void kept(void)
{
	install_note(0);
	for (int way = 0; way < 4; way++) {
		handled = code = value = 0;
		sigprocmask(SIG_BLOCK, &only, NULL);
		if (way == 0)
			kill(getpid(), SIGSYS);
		else if (way == 1)
			raise(SIGSYS);
		else if (way == 2)
			sigqueue(getpid(), SIGSYS, (union sigval){ .sival_int = 4711 });
		else if (fork() == 0)
			_exit(kill(getppid(), SIGSYS));
		else
			wait(NULL);
		tell("kept");
		kill(getpid(), SIGSYS);
		tell("again");
		sigprocmask(SIG_UNBLOCK, &only, NULL);
		printf("way %d: handled %d, code %d, value %d, blocked before %d\n", way, handled, code,
		       way == 2 ? value : 0, seen);
		tell("let go");
	}
	/* Ignored, it is forgotten. */
	sigprocmask(SIG_BLOCK, &only, NULL);
	raise(SIGSYS);
	signal(SIGSYS, SIG_IGN);
	tell("ignored");
	install_note(0);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	tell("forgotten");
	/* A child has none of it. */
	sigprocmask(SIG_BLOCK, &only, NULL);
	raise(SIGSYS);
	fflush(stdout);
	/* The one before may not have been waited for. */
	pid_t child = fork();
	if (child == 0) {
		tell("child");
		exit(0);
	}
	waitpid(child, NULL, 0);
	tell("parent");
	signal(SIGSYS, SIG_DFL);
	tell("default");
	fflush(stdout);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	printf("not reached\n");
}

/* In handlers: of itself, of others, with each flag. */
static void again(int signal)
{
	handled++;
	depth++;
	if (depth > deepest)
		deepest = depth;
	if (handled == 1) {
		raise(SIGSYS);
		printf("in the handler of %s: ", signal == SIGSYS ? "SIGSYS" : "another");
		printf("blocked %d, pending %d, waits %d\n", blocked(), pending(), waits_work());
	}
	depth--;
}

static void handlers(void)
{
	static const int flags[] = { 0, SA_NODEFER, SA_RESETHAND, SA_RESETHAND | SA_NODEFER, SA_ONSTACK };
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		struct sigaction old;
		handled = deepest = 0;
		install(SIGSYS, again, flags[i], 0);
		fflush(stdout);
		int status = 0;
		if (fork() == 0) {
			raise(SIGSYS);
			sigaction(SIGSYS, NULL, &old);
			printf("%zu: handled %d, deepest %d, default %d, blocked %d\n", i, handled, deepest,
			       old.sa_handler == SIG_DFL, blocked());
			exit(0);
		}
		wait(&status);
		printf("%zu: signal %d\n", i, WTERMSIG(status));
	}
	install(SIGSYS, count, 0, 0);
	install(SIGUSR1, again, 0, SIGSYS);
	handled = 0;
	raise(SIGUSR1);
	tell("after another's");
	install(SIGSYS, again, 0, SIGUSR1);
	install(SIGUSR1, count, 0, 0);
	handled = 1;
	raise(SIGSYS);
	tell("after its own");
}

/* By a child, in a while. */
static void signal_soon(void)
{
	fflush(stdout);
	if (fork() == 0) {
		usleep(20000);
		_exit(kill(getppid(), SIGSYS));
	}
}

/* Taken instead of handled. */
static void *take(void *unused)
{
	siginfo_t info = { 0 };
	int signal = sigwaitinfo(&only, &info);
	printf("taken %d by a thread, code %d, value %d\n", signal == SIGSYS && info.si_signo == SIGSYS,
	       info.si_code, info.si_value.sival_int);
	return NULL;
}

static void taken(void)
{
	siginfo_t info;
	struct timespec none = { 0, 0 }, some = { 0, 3000000 }, long_time = { 100, 0 };
	int signal = 0;
	install(SIGSYS, count, 0, 0);
	sigprocmask(SIG_BLOCK, &only, NULL);
	printf("nothing %d\n", sigtimedwait(&only, &info, &none) == -1 && errno == EAGAIN);
	raise(SIGSYS);
	printf("sigwait %d", sigwait(&only, &signal));
	printf(" %d\n", signal);
	tell("taken");
	sigqueue(getpid(), SIGSYS, (union sigval){ .sival_int = 7 });
	memset(&info, 0, sizeof(info));
	signal = sigtimedwait(&only, &info, &long_time);
	printf("sigtimedwait %d, code %d, value %d, errno %d\n", signal == info.si_signo ? signal : 0,
	       info.si_code, info.si_value.sival_int, info.si_errno);
	printf("nothing %d\n", sigtimedwait(&only, NULL, &some) == -1 && errno == EAGAIN);
	raise(SIGSYS);
	printf("without info %d\n", sigtimedwait(&only, NULL, &none));
	kill(getpid(), SIGSYS);
	printf("of all %d\n", sigwaitinfo(&full, NULL));
	tell("taken");
	/* It comes while another thread waits for it. */
	pthread_t thread;
	pthread_create(&thread, NULL, take, NULL);
	usleep(20000);
	sigqueue(getpid(), SIGSYS, (union sigval){ .sival_int = 8 });
	pthread_join(thread, NULL);
	signal_soon();
	printf("sigwait %d", sigwait(&only, &signal));
	printf(" %d\n", signal);
	tell("at last");
}

/* A mask for one call. */
static void one_call(void)
{
	sigset_t open;
	struct timespec t = { 10, 0 };
	install(SIGSYS, count, 0, 0);
	install(SIGUSR1, count, 0, 0);
	sigprocmask(SIG_BLOCK, &full, NULL);
	sigemptyset(&open);
	raise(SIGSYS);
	printf("sigsuspend %d\n", sigsuspend(&open) == -1 && errno == EINTR);
	tell("sigsuspend");
	raise(SIGSYS);
	printf("ppoll %d\n", ppoll(NULL, 0, &t, &open) == -1 && errno == EINTR);
	tell("ppoll");
	signal_soon();
	printf("ppoll %d\n", ppoll(NULL, 0, &t, &open) == -1 && errno == EINTR);
	tell("ppoll from outside");
	sigaddset(&open, SIGSYS);
	raise(SIGSYS);
	t.tv_sec = 0;
	printf("ppoll %d\n", ppoll(NULL, 0, &t, &open));
	tell("ppoll that blocks it");
	raise(SIGUSR1);
	printf("sigsuspend %d\n", sigsuspend(&open) == -1 && errno == EINTR);
	tell("sigsuspend that blocks it");
}

/* Threads have masks of their own, and inherit that of who makes them. */
static pthread_barrier_t both;

static void *open_thread(void *result)
{
	*(int *)result = blocked();
	pthread_sigmask(SIG_UNBLOCK, &only, NULL);
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both);
	return NULL;
}

static void threads(void)
{
	pthread_t thread;
	int inherited = -1;
	install(SIGSYS, count, SA_RESTART, 0);
	pthread_barrier_init(&both, NULL, 2);
	sigprocmask(SIG_BLOCK, &only, NULL);
	pthread_create(&thread, NULL, open_thread, &inherited);
	pthread_barrier_wait(&both);
	printf("inherited %d\n", inherited);
	/* To the process: to the thread that has it open. */
	kill(getpid(), SIGSYS);
	while (!handled)
		usleep(1000);
	tell("by the other thread");
	/* To this thread: it stays. */
	pthread_kill(pthread_self(), SIGSYS);
	usleep(10000);
	tell("to this thread");
	pthread_barrier_wait(&both);
	pthread_join(thread, NULL);
	tell("joined");
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	tell("let go");
}

/* The ways out of a handler. */
static sigjmp_buf back;

static void jump(int signal)
{
	count(signal);
	siglongjmp(back, 1);
}

static void fill(int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	count(signal);
	sigfillset(&interrupted->uc_sigmask);
}

static void leaves(void)
{
	install(SIGSYS, jump, 0, 0);
	if (sigsetjmp(back, 1) == 0)
		raise(SIGSYS);
	tell("jumped");
	sigprocmask(SIG_BLOCK, &only, NULL);
	raise(SIGSYS);
	if (sigsetjmp(back, 0) == 0)
		sigprocmask(SIG_UNBLOCK, &only, NULL);
	tell("jumped without the mask");
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	tell("open");
	struct sigaction action = { .sa_sigaction = fill, .sa_flags = SA_SIGINFO };
	sigaction(SIGSYS, &action, NULL);
	raise(SIGSYS);
	tell("filled");
	sigprocmask(SIG_UNBLOCK, &full, NULL);
	tell("open");
	ucontext_t context;
	volatile int once = 0;
	sigprocmask(SIG_BLOCK, &only, NULL);
	getcontext(&context);
	printf("context %d\n", sigismember(&context.uc_sigmask, SIGSYS));
	if (!once++) {
		sigprocmask(SIG_UNBLOCK, &only, NULL);
		setcontext(&context);
	}
	tell("context");
}

/* Whoever is sent a signal runs from then on, until it sleeps again. */
static void await_sleep(pid_t process)
{
	char path[64], line[512] = "";

	snprintf(path, sizeof(path), "/proc/%d/stat", process);
	while (!strstr(line, ") S ")) {
		FILE *stat = fopen(path, "r");
		if (!stat || !fgets(line, sizeof(line), stat))
			_exit(1);
		fclose(stat);
		usleep(1000);
	}
}

/* Waits for an octet that a child writes, which sends a signal before. */
static void read_beside_a_signal(void)
{
	int ends[2], got;
	char octet = 0;

	if (pipe(ends))
		return;
	fflush(stdout);
	if (fork() == 0) {
		await_sleep(getppid());
		kill(getppid(), SIGSYS);
		await_sleep(getppid());
		_exit(write(ends[1], "x", 1) != 1);
	}
	errno = 0;
	got = read(ends[0], &octet, 1);
	printf("read %d %d\n", got, got < 0 ? errno : octet);
	wait(NULL);
}

/* What interrupts a call and what does not. */
static void restarts(void)
{
	for (int flags = 0; flags <= SA_RESTART; flags += SA_RESTART) {
		install(SIGSYS, count, flags, 0);
		read_beside_a_signal();
	}
	/* Who blocks or ignores it goes on reading. */
	for (int ignored = 0; ignored < 2; ignored++) {
		signal(SIGSYS, ignored ? SIG_IGN : count);
		sigprocmask(ignored ? SIG_UNBLOCK : SIG_BLOCK, &only, NULL);
		read_beside_a_signal();
		tell(ignored ? "ignored" : "blocked");
	}
}

/* Its own handler of the signal that stands for it, before and after that is needed. */
static volatile sig_atomic_t stack_faults;

static void stack_fault(int signal)
{
	stack_faults += signal == SIGSTKFLT;
}

static void stand_in(void)
{
	struct sigaction old;
	install(SIGSTKFLT, stack_fault, 0, 0);
	install(SIGSYS, count, 0, 0);
	raise(SIGSTKFLT);
	sigprocmask(SIG_BLOCK, &only, NULL);
	raise(SIGSYS);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	raise(SIGSTKFLT);
	printf("handled %d and %d\n", handled, stack_faults);
	sigaction(SIGSTKFLT, NULL, &old);
	printf("handler %d\n", old.sa_handler == stack_fault);
	signal(SIGSTKFLT, SIG_IGN);
	raise(SIGSTKFLT);
	sigprocmask(SIG_BLOCK, &only, NULL);
	raise(SIGSYS);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	printf("handled %d and %d\n", handled, stack_faults);
	sigset_t other = set_of(SIGSTKFLT);
	int signal_number = 0;
	sigprocmask(SIG_BLOCK, &other, NULL);
	install(SIGSTKFLT, stack_fault, 0, 0);
	raise(SIGSTKFLT);
	printf("sigwait %d", sigwait(&other, &signal_number));
	printf(" %d\n", signal_number);
	sigprocmask(SIG_UNBLOCK, &other, NULL);
	signal(SIGSTKFLT, SIG_DFL);
	fflush(stdout);
	raise(SIGSTKFLT);
	printf("not reached\n");
}

/* A filter of its own asks for it: that comes at once, or ends the program where it is blocked. */
static void by_filter(int signal)
{
	count(signal);
	printf("in the handler: blocked %d, pending %d, waits %d\n", blocked(), pending(), waits_work());
	fflush(stdout);
	if (handled == 2)
		getppid();
}

static void filtered(void)
{
	struct sock_filter code[] = {
		{ BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
		{ BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_getppid },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_TRAP },
		{ BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
	};
	struct sock_fprog program = { 4, code };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	install(SIGSYS, by_filter, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		perror("filter");
	getppid();
	tell("handled");
	fflush(stdout);
	for (int in_handler = 0; in_handler < 2; in_handler++) {
		int status = 0;
		if (fork() == 0) {
			if (!in_handler)
				sigprocmask(SIG_BLOCK, &only, NULL);
			getppid();
			printf("not reached\n");
			exit(0);
		}
		wait(&status);
		printf("%d: signal %d\n", in_handler, WTERMSIG(status));
	}
}

/* Programs begin with the mask of what was there before, and with what was pending. */
static void started(void)
{
	sigprocmask(SIG_BLOCK, &only, NULL);
	raise(SIGSYS);
	fflush(stdout);
	execl("/proc/self/exe", "sigsys", "inherited", NULL);
}

static void inherited(void)
{
	install(SIGSYS, count, 0, 0);
	tell("inherited");
	raise(SIGSYS);
	tell("kept");
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	tell("let go");
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "masks", masks },       { "kept", kept },         { "handlers", handlers },
		{ "taken", taken },       { "one-call", one_call }, { "threads", threads },
		{ "leaves", leaves },     { "restarts", restarts }, { "stand-in", stand_in },
		{ "filtered", filtered }, { "started", started },   { "inherited", inherited },
		{ 0 },
	};
	only = set_of(SIGSYS);
	sigfillset(&full);
	return run_mode(modes, argc, argv);
}
