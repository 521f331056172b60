/* A program whose first thread has ended, and whose second goes on: under the number of the process the
 * kernel then says nothing of its memory, its files and its namespaces. It waits for SECONDS by nanosleep and by
 * a timerfd, and says so of each if it was neither early nor far too late. pthread_exit(3)
 *
 *   headless SECONDS */
#include "guest.h"

static int64_t now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return ns_of(now);
}

static void say(const char *what, int64_t begun, int64_t seconds)
{
	int64_t waited = now() - begun;
	/* A clock that has lost sight of it would be days away. */
	if (waited >= seconds * BILLION && waited < (seconds + 3600) * BILLION)
		printf("%s\n", what);
	else
		printf("%s took %lld ns\n", what, (long long)waited);
	fflush(stdout);
}

static void *go_on(void *argument)
{
	int64_t seconds = *(int64_t *)argument, begun;
	struct timespec span = { seconds, 0 };
	struct itimerspec once = { .it_value = span };
	char state[64] = "";
	uint64_t expirations;
	int timer;

	/* Until the first has ended. */
	while (!strstr(state, "Z")) {
		FILE *status = fopen("/proc/self/status", "r");
		while (fgets(state, sizeof(state), status) && strncmp(state, "State:", 6))
			;
		fclose(status);
	}
	printf("ready\n");
	fflush(stdout);
	begun = now();
	nanosleep(&span, NULL);
	say("slept", begun, seconds);
	begun = now();
	timer = timerfd_create(CLOCK_MONOTONIC, 0);
	if (timerfd_settime(timer, 0, &once, NULL) ||
	    read(timer, &expirations, sizeof(expirations)) != sizeof(expirations))
		perror("timerfd");
	else
		say("timer", begun, seconds);
	return NULL;
}

int main(int argc, char **argv)
{
	static int64_t seconds;
	pthread_t thread;

	seconds = atoll(argv[1]);
	pthread_create(&thread, NULL, go_on, &seconds);
	pthread_exit(NULL);
}
