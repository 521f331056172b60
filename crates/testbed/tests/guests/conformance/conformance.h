/* What the cases of the conformance suite share: see main.c. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H
#include "../guest.h"

/* Memory that a case shares with its helper, a process. */
struct shared {
	volatile uint32_t word;
	volatile int ready;
	volatile int handled;
};

/* One wait as it happens. */
struct scene {
	const struct call *call;
	struct shared *shared;
	/* What is asked for, and the time to hand to the call: a span, or a time of call->clock. */
	int64_t asked_ns;
	struct timespec *time;
	/* What the call says to be left; -1 if it does not. */
	int64_t left_ns;
	int pipe[2];
	int object;
	timer_t timer;
};

struct call {
	const char *name;
	/* Answers what came of the wait, in words that are the same however long it took. */
	const char *(*wait)(struct scene *);
	/* Makes what is needed, before any helper is there; may be NULL. */
	void (*prepare)(struct scene *);
	/* What a helper does before the wait; may be NULL. */
	void (*before)(struct scene *);
	/* What a helper does to end the wait; NULL if nothing but time ends it. */
	void (*wake)(struct scene *);
	int clock;
	int flags;
	/* Of what reads a clock: how, in nanoseconds, and to which. */
	int64_t (*read)(int clock);
	int64_t resolution_ns;
};

/* The time handed over is one of the clock, not a span. */
#define ABSOLUTE 1
/* Takes no timespec of the program, so that there is nothing to get wrong. */
#define NO_TIMESPEC 2
/* Handlers are not part of what is looked at. */
#define NO_SIGNALS 4
/* The kernel counts in ticks here, and the first one has begun already. */
#define TICKS 8
/* What is left is told in whole seconds. */
#define SECONDS 32
/* No wait: makes its whole check at once. */
#define AT_ONCE 16

extern const struct call sleeps[], descriptors[], futexes[], queues[], sockets[], timers[], clocks[];

void pause_ns(int64_t ns);
/* "time is over" for `over`, "gets it" for `got` or more, else the name of the error. */
const char *told(long result, const char *zero);
const char *error_name(int error);
void must(int good, const char *what);
#endif
