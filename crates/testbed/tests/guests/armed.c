/* Timers of each kind, set at the beginning: prints "ready", and when each has expired its name
 * and the nanoseconds on CLOCK_MONOTONIC since then. Each is set to a second.
 *
 *   armed */
#include "guest.h"

static volatile int64_t at[65];

static void expired(int signal)
{
	at[signal] = now_ns(CLOCK_MONOTONIC);
}

int main(void)
{
	struct sigaction action = { .sa_handler = expired };
	struct itimerspec second = setting(BILLION, 0);
	struct itimerval interval = { .it_value = { 1, 0 } };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	timer_t timer;
	uint64_t count;
	sigaction(SIGUSR1, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	int64_t begun = now_ns(CLOCK_MONOTONIC);
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	if (fd < 0 || timerfd_settime(fd, 0, &second, NULL) ||
	    timer_create(CLOCK_REALTIME, &event, &timer) || timer_settime(timer, 0, &second, NULL) ||
	    setitimer(ITIMER_REAL, &interval, NULL))
		return 1;
	print_line("ready");
	while (!at[0] || !at[SIGUSR1] || !at[SIGALRM]) {
		struct pollfd wanted = { at[0] ? -1 : fd, POLLIN, 0 };
		if (poll(&wanted, 1, 50) == 1) {
			if (read(fd, &count, sizeof(count)) != sizeof(count) || count != 1)
				return 2;
			at[0] = now_ns(CLOCK_MONOTONIC);
		}
	}
	/* One that was set before can be set again and deleted. */
	if (timer_settime(timer, 0, &second, NULL) || timer_gettime(timer, &second) ||
	    !second.it_value.tv_nsec || timer_delete(timer) || !timer_delete(timer))
		return 3;
	printf("timerfd %lld\n", (long long)(at[0] - begun));
	printf("timer %lld\n", (long long)(at[SIGUSR1] - begun));
	printf("interval %lld\n", (long long)(at[SIGALRM] - begun));
	return 0;
}
