/* Programs that give themselves seccomp filters, as sandboxes do. Each mode prints what it saw, which
 * must be the same natively and in virtual time. */
#include "guest.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <ucontext.h>

#define LOAD(what) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define ON(number, verdict)                                       \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, (verdict))
#define ALWAYS(verdict) BPF_STMT(BPF_RET | BPF_K, (verdict))

#ifdef __aarch64__
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#define ARGUMENT(context) ((context)->uc_mcontext.regs[0])
#else
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#define ARGUMENT(context) ((context)->uc_mcontext.gregs[REG_RDI])
#endif

static volatile sig_atomic_t usr1;

static long install(struct sock_filter *steps, size_t count, unsigned flags)
{
	struct sock_fprog program = { .len = count, .filter = steps };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

/* What a server does after it has shut itself in: waits with and without a timeout, reads clocks. */
static int serve(void)
{
	struct timespec t = { 0, 1000000 }, now;
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct pollfd nothing = { .fd = -1 };
	int good = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == 0;
	good += ppoll(&nothing, 1, &t, NULL) == 0;
	good += syscall(SYS_clock_gettime, CLOCK_REALTIME, &now) == 0;
	now.tv_nsec = (now.tv_nsec + 1000000) % 1000000000;
	now.tv_sec += now.tv_nsec < 1000000;
	pthread_mutex_lock(&mutex);
	good += pthread_cond_timedwait(&cond, &mutex, &now) == ETIMEDOUT;
	sigset_t all, before;
	sigfillset(&all);
	good += sigprocmask(SIG_BLOCK, &all, &before) == 0;
	good += sigprocmask(SIG_SETMASK, &before, NULL) == 0;
	return good;
}

/* Kills at every call that a server of this kind does not make. */
static void kills(void)
{
	struct sock_filter steps[] = {
		LOAD(nr),
		ON(SYS_read, SECCOMP_RET_ALLOW),
		ON(SYS_write, SECCOMP_RET_ALLOW),
		ON(SYS_exit, SECCOMP_RET_ALLOW),
		ON(SYS_exit_group, SECCOMP_RET_ALLOW),
		ON(SYS_clock_nanosleep, SECCOMP_RET_ALLOW),
		ON(SYS_ppoll, SECCOMP_RET_ALLOW),
		ON(SYS_clock_gettime, SECCOMP_RET_ALLOW),
		ON(SYS_futex, SECCOMP_RET_ALLOW),
		ON(SYS_rt_sigprocmask, SECCOMP_RET_ALLOW),
		ON(SYS_rt_sigreturn, SECCOMP_RET_ALLOW),
		ALWAYS(SECCOMP_RET_KILL),
	};
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("installed %ld\n", install(steps, COUNT(steps), 0));
	printf("serves %d\n", serve());
	printf("%s\n", "kills still");
	syscall(SYS_getppid);
	printf("not reached\n");
}

static void note(int signal)
{
	usr1++;
}

/* Puts its own answer in the place of a call, as the broker of a browser's sandbox does. */
static void emulate(int signal, siginfo_t *info, void *context)
{
	ucontext_t *frame = context;
	raise(SIGUSR1);
	int nested = signal == SIGSYS && info->si_code == 1 && info->si_call_addr != NULL;
	int argument = ARGUMENT(frame) == 3 && !usr1;
	RESULT(frame) = 10000 * nested + 1000 * argument + 10 * info->si_errno +
			(info->si_syscall == SYS_getppid);
}

static void handle(void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGSYS, &action, NULL);
	signal(SIGUSR1, note);
}

static void traps(void)
{
	struct sock_filter steps[] = {
		LOAD(nr),
		ON(SYS_getppid, SECCOMP_RET_TRAP | 7),
		ON(SYS_clock_gettime, SECCOMP_RET_TRAP | 9),
		ON(SYS_recvfrom, SECCOMP_RET_TRAP | 11),
		ALWAYS(SECCOMP_RET_ALLOW),
	};
	int pair[2];
	struct timeval limit = { 0, 1000 };
	struct timespec t = { 0, 1000000 };
	char octet;
	handle(emulate, SA_NODEFER);
	printf("installed %ld\n", install(steps, COUNT(steps), 0));
	printf("getppid %ld", syscall(SYS_getppid, 3L));
	printf(", handled %d\n", usr1);
	printf("clock %ld, handled %d\n", syscall(SYS_clock_gettime, 3L, 0L), usr1);
	/* From here on, calls on sockets are stopped that were let through before. */
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ssize_t count = read(pair[0], &octet, 1);
	printf("read %zd %d\n", count, errno);
	usr1 = 0;
	printf("recvfrom %ld, handled %d\n", syscall(SYS_recvfrom, 3L, &octet, 1L, 0L, 0L, 0L), usr1);
	printf("sleeps %d\n", nanosleep(&t, NULL));
	/* Once. */
	handle(emulate, SA_RESETHAND);
	syscall(SYS_getppid, 3L);
	fflush(stdout);
	syscall(SYS_getppid, 3L);
	printf("not reached\n");
}

static void trapped_by_default(void)
{
	struct sock_filter steps[] = { LOAD(nr), ON(SYS_getppid, SECCOMP_RET_TRAP), ALWAYS(SECCOMP_RET_ALLOW) };
	signal(SIGSYS, SIG_IGN);
	printf("installed %ld\n", install(steps, COUNT(steps), 0));
	kill(getpid(), SIGSYS);
	print_line("ignored");
	syscall(SYS_getppid);
	printf("not reached\n");
}

/* What a filter forbids by an error number, before and after an exec. */
static int forbidden(void)
{
	struct timespec t = { 0, 1000000 }, now;
	int error = syscall(SYS_clock_gettime, CLOCK_REALTIME, &now) ? errno : 0;
	printf("clock_gettime %d", error);
	error = syscall(SYS_nanosleep, &t, NULL) ? errno : 0;
	printf(" nanosleep %d", error);
	error = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	printf(" clock_nanosleep %d", error);
	struct itimerval timer = { { 0, 0 }, { 1000, 0 } };
	error = setitimer(ITIMER_REAL, &timer, NULL) ? errno : 0;
	printf(" setitimer %d", error);
	printf(" mode %d\n", prctl(PR_GET_SECCOMP));
	return fflush(stdout);
}

static void errors(void)
{
	struct sock_filter steps[] = {
		LOAD(nr),
		ON(SYS_clock_gettime, SECCOMP_RET_ERRNO | ENODEV),
		ON(SYS_nanosleep, SECCOMP_RET_ERRNO | ENOSYS),
		ON(SYS_setitimer, SECCOMP_RET_ERRNO | EACCES),
		ALWAYS(SECCOMP_RET_ALLOW),
	};
	forbidden();
	printf("installed %ld\n", install(steps, COUNT(steps), 0));
	forbidden();
	execl("/proc/self/exe", "sandbox", "forbidden", NULL);
}

static void only_forbidden(void)
{
	forbidden();
}

/* Filters that the kernel does not take, and a mode that there is not. */
static void wrong(void)
{
	struct sock_filter good = ALWAYS(SECCOMP_RET_ALLOW), endless = LOAD(nr), steps[4100];
	for (size_t i = 0; i < COUNT(steps); i++)
		steps[i] = good;
	struct sock_fprog nowhere = { .len = 1, .filter = (void *)1 };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("%ld", install(&good, 0, 0) ? errno : 0L);
	printf(" %ld", install(&endless, 1, 0) ? errno : 0L);
	printf(" %ld", install(steps, COUNT(steps), 0) ? errno : 0L);
	printf(" %ld", install(&good, 1, 1 << 30) ? errno : 0L);
	printf(" %ld", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &nowhere) ? errno : 0L);
	printf(" %ld", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, 8L) ? errno : 0L);
	printf(" %ld", syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) ? errno : 0L);
	printf(" %ld", syscall(SYS_seccomp, 77, 0, NULL) ? errno : 0L);
	printf(" %d", prctl(PR_SET_SECCOMP, 5, 0, 0, 0) ? errno : 0);
	unsigned action = SECCOMP_RET_TRAP;
	printf(" %ld\n", syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) ? errno : 0L);
	printf("as many as there can be: %ld\n", install(steps, BPF_MAXINSNS, 0) ? errno : 0L);
	printf("serves %d\n", serve());
}

static pthread_barrier_t installed;

static void *other(void *unused)
{
	pthread_barrier_wait(&installed);
	long error = syscall(SYS_getppid) < 0 ? errno : 0;
	printf("in the other thread %ld, serves %d\n", error, serve());
	return unused;
}

static void threads(void)
{
	struct sock_filter steps[] = { LOAD(nr), ON(SYS_getppid, SECCOMP_RET_ERRNO | EXDEV), ALWAYS(SECCOMP_RET_ALLOW) };
	pthread_t thread;
	pthread_barrier_init(&installed, NULL, 2);
	pthread_create(&thread, NULL, other, NULL);
	printf("installed %ld\n", install(steps, COUNT(steps), SECCOMP_FILTER_FLAG_TSYNC));
	pthread_barrier_wait(&installed);
	pthread_join(thread, NULL);
}

/* By the older way, and with what a filter finds in its registers at the start. */
static void older(void)
{
	struct sock_filter steps[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		ALWAYS(SECCOMP_RET_ERRNO | EXDEV),
		LOAD(nr),
		ON(SYS_getppid, SECCOMP_RET_ERRNO | ENOTDIR),
		ALWAYS(SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = COUNT(steps), .filter = steps };
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	printf("mode %d", prctl(PR_GET_SECCOMP));
	printf(", installed %d", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	printf(", mode %d\n", prctl(PR_GET_SECCOMP));
	printf("getppid %d", syscall(SYS_getppid) < 0 ? errno : 0);
	printf(", serves %d", serve());
	printf(", strict %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) ? errno : 0);
}

static void strict(void)
{
	int pipe_ends[2];
	char octet = 'x';
	if (pipe(pipe_ends))
		exit(1);
	setvbuf(stdout, NULL, _IONBF, 0);
	printf("entered %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
	int good = write(pipe_ends[1], &octet, 1) == 1 && read(pipe_ends[0], &octet, 1) == 1;
	printf("reads and writes %d\n", good);
	syscall(SYS_getppid);
	printf("not reached\n");
}

static void listener(void)
{
	struct sock_filter allow = ALWAYS(SECCOMP_RET_ALLOW);
	/* As libseccomp asks whether the kernel knows the flag, before any filter. */
	long asked = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, NULL);
	printf("asked %ld %s\n", asked, strerrorname_np(errno));
	long fd = install(&allow, 1, SECCOMP_FILTER_FLAG_NEW_LISTENER);
	printf("%s\n", fd >= 0 ? "listens" : strerrorname_np(errno));
}

/* Syscall User Dispatch, with a selector that lets all calls pass; then it waits for its input's end. */
static void dispatch(void)
{
	static volatile char selector = 0; /* SYSCALL_DISPATCH_FILTER_ALLOW */
	char octet;

	printf("%s\n", prctl(59 /* PR_SET_SYSCALL_USER_DISPATCH */, 1, 0, 0, &selector) ? strerrorname_np(errno)
										    : "dispatches");
	fflush(stdout);
	while (read(0, &octet, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	static const struct mode modes[] = {
		{ "kills", kills }, { "traps", traps }, { "default", trapped_by_default },
		{ "errors", errors }, { "forbidden", only_forbidden }, { "wrong", wrong },
		{ "threads", threads }, { "older", older }, { "strict", strict }, { "listener", listener },
		{ "dispatch", dispatch },
		{ 0 },
	};
	return run_mode(modes, argc, argv);
}
