/* The guest of the conformance suite: makes one call in one phase, in the way of one condition,
 * and prints what came of it in words that do not depend on how long things take.
 *
 *   conformance list                      prints each call and its phases
 *   conformance drive PROGRAM ARGUMENT... starts PROGRAM with ARGUMENT... and each line of input:
 *                                         call, phase; then obeys "go" and "now"; ends with its input
 *   conformance call CONDITION CALL PHASE
 *
 * Phases: `timeout`, it waits in vain; `woken`, it gets what it waits for; `interrupted` and
 * `restarted`, handlers without and with SA_RESTART run meanwhile; `refused`, the time is none;
 * `read`, for what is no wait. A call says "ready", waits when its gate, a pipe, is closed, and
 * its helpers act when its trigger is, another pipe: that is by no clock, which may be stopped. */
#include "conformance.h"
#include <sched.h>
#include <sys/prctl.h>

/* What a wait in vain asks for, whole ticks of any kernel, and one that ends otherwise. */
#define SHORT_NS (240 * MS)
#define LONG_NS (1000 * BILLION)
#define SIGNALS 8
/* Numbers of the two pipes. */
#define GATE 8
#define TRIGGER 9

static const struct call *const families[] = {
	sleeps, descriptors, futexes, queues, sockets, timers, clocks,
};

static struct shared *shared;
static const struct call *call;
static const char *phase;

void pause_ns(int64_t ns)
{
	struct timespec t = span_of(ns);
	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

void must(int good, const char *what)
{
	if (good)
		return;
	dprintf(2, "%s %s: %s: %s\n", call ? call->name : "", phase, what, strerror(errno));
	_exit(3);
}

const char *error_name(int error)
{
	const char *name = strerrorname_np(error);
	return name ? name : "an unknown error";
}

const char *told(long result, const char *zero)
{
	return result < 0 ? error_name(errno) : result == 0 ? zero : "gets it";
}

static void say(const char *what)
{
	char line[256];
	int length = snprintf(line, sizeof(line), "%s\t%s\t%s\n", call->name, phase, what);
	must(write(1, line, length) == length, "write");
}

static void handler(int signal)
{
	shared->handled++;
}

static int is(const char *name)
{
	return !strcmp(phase, name);
}

/* Some hundred microseconds by no clock at all. */
static void dawdle(void)
{
	for (int i = 0; i < 100; i++)
		sched_yield();
}

static void await(int pipe)
{
	char nothing;
	while (read(pipe, &nothing, 1) < 0)
		;
}

static void ready(void)
{
	say("ready");
	await(GATE);
}

/* Returns when a thread sleeps, as in a wait; on a busy machine it may take long to get there. */
static void await_sleep(pid_t process, pid_t thread)
{
	char path[64], line[256], *state = NULL;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", process, thread);
	do {
		sched_yield();
		FILE *stat = fopen(path, "r");
		must(stat != NULL && fgets(line, sizeof(line), stat) != NULL, "stat");
		fclose(stat);
		state = strrchr(line, ')');
	} while (!state || state[2] != 'S');
}

/* Signals until one must have hit the wait; what they do not end, it is woken from. */
static void pester(struct scene *s, pid_t process, pid_t thread)
{
	for (int i = 0; i < SIGNALS; i++) {
		int before = shared->handled;
		await_sleep(process, thread);
		syscall(SYS_tgkill, process, thread, SIGUSR1);
		while (shared->handled == before)
			sched_yield();
		dawdle();
	}
	if (s->call->wake)
		s->call->wake(s);
}

static void start_helper(struct scene *s)
{
	pid_t process = getpid(), thread = syscall(SYS_gettid);
	int acts = is("woken") || is("interrupted") || is("restarted");
	if (!acts && !s->call->before)
		return;
	pid_t helper = fork();
	must(helper >= 0, "fork");
	if (helper) {
		while (!shared->ready)
			sched_yield();
		return;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (s->call->before)
		s->call->before(s);
	shared->ready = 1;
	if (acts) {
		await(TRIGGER);
		await_sleep(process, thread);
		if (is("woken"))
			s->call->wake(s);
		else
			pester(s, process, thread);
	}
	for (;;)
		pause();
}

/* Whether what is said to be left and what has passed make up what was asked for. */
static const char *judge(struct scene *s, const char *outcome, int64_t waited_ns)
{
	static __thread char text[128];
	const char *left = "";
	int64_t slack = s->call->flags & TICKS ? 10 * MS : 0;
	int early = is("timeout") && waited_ns + slack < s->asked_ns;
	if (s->left_ns >= 0) {
		int none = s->left_ns == 0;
		int64_t unit = s->call->flags & SECONDS ? BILLION : 1000;
		int right = s->left_ns <= s->asked_ns && waited_ns + s->left_ns + unit >= s->asked_ns;
		left = none ? ", nothing left" : right ? ", the rest left" : ", a wrong time left";
	}
	snprintf(text, sizeof(text), "%s%s%s", early ? "early: " : "", outcome, left);
	return text;
}

static void refused(struct scene *s)
{
	static const struct timespec wrong[] = { { 0, BILLION }, { 0, -1 }, { -1, 0 } };
	char text[200] = "";
	for (int i = 0; i < 5; i++) {
		struct timespec t = i < 3 ? wrong[i] : (struct timespec){ 0, 0 };
		s->time = i == 3 ? (struct timespec *)8 : &t;
		s->asked_ns = 0;
		const char *outcome = s->call->wait(s);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? ", " : "", outcome);
	}
	say(text);
}

static void act(void)
{
	struct scene s = { .call = call, .shared = shared, .left_ns = -1, .object = -1 };
	if (call->flags & AT_ONCE) {
		ready();
		say(call->wait(&s));
		return;
	}
	struct sigaction action = { .sa_handler = handler, .sa_flags = is("restarted") ? SA_RESTART : 0 };
	sigaction(SIGUSR1, &action, NULL);
	must(pipe(s.pipe) == 0, "pipe");
	if (call->prepare)
		call->prepare(&s);
	if (is("refused")) {
		ready();
		refused(&s);
		return;
	}
	start_helper(&s);
	s.asked_ns = is("timeout") ? SHORT_NS : LONG_NS;
	ready();
	int64_t begin = now_ns(call->clock);
	struct timespec t = span_of(s.asked_ns + (call->flags & ABSOLUTE ? begin : 0));
	s.time = &t;
	const char *outcome = call->wait(&s);
	say(judge(&s, outcome, now_ns(call->clock) - begin));
}

static int act_in_vfork(void *nothing)
{
	act();
	return 0;
}

static void *act_in_thread(void *nothing)
{
	act();
	return NULL;
}

static void reap(pid_t child)
{
	int status;
	must(child > 0 && waitpid(child, &status, __WALL) == child, "wait");
	if (status)
		_exit(3);
}

static void in_condition(const char *condition, char **argv)
{
	if (!strcmp(condition, "exec")) {
		execl("/proc/self/exe", argv[0], "call", "plain", call->name, phase, NULL);
		must(0, "exec");
	} else if (!strcmp(condition, "fork")) {
		pid_t child = fork();
		if (child == 0) {
			act();
			_exit(0);
		}
		reap(child);
	} else if (!strcmp(condition, "vfork")) {
		/* vfork() would have the child on the stack of its parent. */
		char *stack = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		must(stack != MAP_FAILED, "mmap");
		reap(clone(act_in_vfork, stack + (1 << 20), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
	} else if (!strcmp(condition, "thread")) {
		pthread_t thread;
		must(pthread_create(&thread, NULL, act_in_thread, NULL) == 0, "pthread_create");
		pthread_join(thread, NULL);
	} else {
		act();
	}
}

static const struct call *find(const char *name)
{
	for (size_t i = 0; i < COUNT(families); i++)
		for (const struct call *c = families[i]; c->name; c++)
			if (!strcmp(c->name, name))
				return c;
	dprintf(2, "there is no call %s\n", name);
	exit(3);
}

static void list(void)
{
	for (size_t i = 0; i < COUNT(families); i++)
		for (const struct call *c = families[i]; c->name; c++) {
			if (c->flags & AT_ONCE) {
				printf("%s\tread\n", c->name);
				continue;
			}
			printf("%s\ttimeout\n", c->name);
			if (c->wake)
				printf("%s\twoken\n", c->name);
			if (!(c->flags & NO_SIGNALS))
				printf("%s\tinterrupted\n%s\trestarted\n", c->name, c->name);
			if (!(c->flags & NO_TIMESPEC))
				printf("%s\trefused\n", c->name);
		}
}

/* Starts PROGRAM ARGUMENT... CALL PHASE for each line, all at once; waits for all. */
static int drive(int argc, char **argv)
{
	char line[128];
	int gate[2], trigger[2], wrong = 0, status;
	char *arguments[16] = { NULL };
	must(argc < 12 && pipe2(gate, O_CLOEXEC) == 0 && pipe2(trigger, O_CLOEXEC) == 0, "pipe");
	for (int i = 2; i < argc; i++)
		arguments[i - 2] = argv[i];
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "go\n")) {
		arguments[argc - 2] = strtok(line, "\t\n");
		arguments[argc - 1] = strtok(NULL, "\t\n");
		pid_t child = fork();
		must(child >= 0, "fork");
		if (child == 0) {
			if (dup2(trigger[0], TRIGGER) < 0 || dup2(gate[0], GATE) < 0)
				_exit(127);
			execv(arguments[0], arguments);
			_exit(127);
		}
	}
	close(gate[1]);
	must(fgets(line, sizeof(line), stdin) != NULL, "no line");
	close(trigger[1]);
	while (wait(&status) > 0)
		wrong |= status != 0;
	/* The domain ends with this program, and somebody may still have something to ask it. */
	while (fgets(line, sizeof(line), stdin))
		;
	return wrong ? 3 : 0;
}

int main(int argc, char **argv)
{
	sigset_t blocked;
	phase = "";
	if (argc > 2 && !strcmp(argv[1], "drive"))
		return drive(argc, argv);
	if (argc < 5 || strcmp(argv[1], "call")) {
		list();
		return 0;
	}
	call = find(argv[3]);
	phase = argv[4];
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED, "mmap");
	/* Taken by those who wait for a signal. */
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	sigaddset(&blocked, SIGUSR2);
	sigaddset(&blocked, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	in_condition(argv[2], argv);
	return 0;
}
