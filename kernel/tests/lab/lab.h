/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What runs in a guest of the tests: its only program. Each command is a line of words that the
 * host sends; each answer is a line, "ok" and what was asked for, or "error" and the number of
 * an error.
 */
#ifndef LAB_H
#define LAB_H

#include <stdio.h>

/* Words of a command at most. */
#define WORDS_MAX 8

struct qcclock;

/* Answers: what follows "ok", like printf, or the error of the last system call. */
int lab_ok(const char *format, ...) __attribute__((format(printf, 1, 2)));
int lab_failed(void);

/* The clock of the host of programs: CLOCK_MONOTONIC, in nanoseconds. */
long long lab_now(void);

/* A command of this name; words[0] is the name. Each has answered when it returns. */
struct command {
	const char *name;
	int words;
	int (*run)(char *const *words);
};

extern const struct command agent_commands[];
extern const struct command line_commands[];

/* The clock page as the agent changes it: page.c. */
int page_stop(struct qcclock *page, long long *virtual_ns);
int page_start(struct qcclock *page, unsigned int stops);
unsigned int page_make_odd(struct qcclock *page);
int page_make_even(struct qcclock *page, unsigned int odd);
long long page_now(struct qcclock *page);

#endif
