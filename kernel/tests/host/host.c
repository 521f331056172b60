// SPDX-License-Identifier: GPL-2.0
/*
 * The parts of the module that decide, as a program: what they make of numbers on standard
 * input.
 *
 * host layout: name, offset and size of each field of the clock page
 * host line:   for each line of base_host, base_virtual, base_fraction, rate_whole,
 * rate_fraction, horizon, limit
 *		and a host time: the virtual time there and what was cut off
 * host edges DEBOUNCE_NS: for each level and host time at which a wire was seen: "same",
 * "changed", or until when
 *		it is too early to tell
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../qcbus/edges.h"
#include "../../qcbus/qcclock.h"
#include "../../qcbus/qcline.h"

#define FIELD(name) \
	printf("%s %zu %zu\n", #name, offsetof(struct qcclock, name), sizeof(((struct qcclock *)0)->name))

static void layout(void)
{
	FIELD(magic);
	FIELD(version);
	FIELD(size);
	FIELD(sequence);
	FIELD(holds);
	FIELD(base_host);
	FIELD(base_virtual);
	FIELD(base_fraction);
	FIELD(rate_whole);
	FIELD(rate_fraction);
	FIELD(horizon);
	FIELD(epochs);
	FIELD(resumed);
	FIELD(dilated);
	FIELD(tdf_millionths);
	FIELD(shift_until);
	FIELD(shifts);
	FIELD(limit);
	FIELD(jumped);
	FIELD(jumps);
	FIELD(stop_asked);
	FIELD(stops);
	printf("MAGIC %" PRIu64 "\n", (uint64_t)QCCLOCK_MAGIC);
	printf("VERSION %d\n", QCCLOCK_VERSION);
	printf("SIZE %d\n", QCCLOCK_SIZE);
	printf("SETTLE_NS %d\n", QCCLOCK_SETTLE_NS);
}

static void lines(void)
{
	struct qcline_time time;
	struct qcline line;
	int64_t host, base_host, base_virtual, horizon, limit;
	uint64_t base_fraction, rate_whole, rate_fraction;

	while (scanf("%" SCNd64 "%" SCNd64 "%" SCNu64 "%" SCNu64 "%" SCNu64 "%" SCNd64 "%" SCNd64 "%" SCNd64,
		     &base_host, &base_virtual, &base_fraction, &rate_whole, &rate_fraction, &horizon, &limit,
		     &host) == 8) {
		line = (struct qcline) { base_host, base_virtual, base_fraction, rate_whole, rate_fraction,
					 horizon, limit };
		time = qcline_at(&line, host);
		printf("%" PRId64 " %" PRIu64 "\n", (int64_t)time.ns, (uint64_t)time.fraction);
	}
}

static void edges(const char *debounce_ns)
{
	struct qcbus_edges edges = { .debounce_ns = atoll(debounce_ns) };
	int64_t now;
	int level;

	while (scanf("%d%" SCNd64, &level, &now) == 2) {
		switch (qcbus_edges_see(&edges, level, now)) {
		case QCBUS_SAME:
			puts("same");
			break;
		case QCBUS_CHANGED:
			puts("changed");
			break;
		case QCBUS_LOOK_AGAIN:
			printf("%" PRId64 "\n", (int64_t)edges.quiet_until);
			break;
		}
	}
}

int main(int count, char **words)
{
	if (count == 2 && !strcmp(words[1], "layout"))
		layout();
	else if (count == 2 && !strcmp(words[1], "line"))
		lines();
	else if (count == 3 && !strcmp(words[1], "edges"))
		edges(words[2]);
	else
		return 64;
	return 0;
}
