// SPDX-License-Identifier: GPL-2.0
/*
 * The clock page as an agent in user space changes it, beside the module: the protocol in
 * qcclock.h, word by word.
 */
#include <stdatomic.h>
#include <stdint.h>

#include "../../qcbus/qcclock.h"
#include "../../qcbus/qcline.h"
#include "lab.h"

static _Atomic uint32_t *word(__u32 *field)
{
	return (_Atomic uint32_t *)field;
}

static struct qcline line_of(const struct qcclock *page)
{
	return (struct qcline) {
		.base_host = page->base_host,
		.base_virtual = page->base_virtual,
		.base_fraction = page->base_fraction,
		.rate_whole = page->rate_whole,
		.rate_fraction = page->rate_fraction,
		.horizon = page->horizon,
		.limit = page->limit,
	};
}

/* Takes the page: the sequence that it has now. */
unsigned int page_make_odd(struct qcclock *page)
{
	uint32_t even;

	do {
		even = atomic_load(word(&page->sequence)) & ~1u;
	} while (!atomic_compare_exchange_weak(word(&page->sequence), &even, even + 1));
	return even + 1;
}

/* Gives it back: whether the module asks for a stop. */
int page_make_even(struct qcclock *page, unsigned int odd)
{
	atomic_store(word(&page->sequence), odd + 1);
	return atomic_exchange(word(&page->stop_asked), 0);
}

static long long settled(void)
{
	long long now, begun = lab_now();

	do {
		now = lab_now();
	} while (now - begun < QCCLOCK_SETTLE_NS);
	return now;
}

static void turn(struct qcclock *page, __u64 rate_whole)
{
	long long host = settled();
	struct qcline line = line_of(page);
	struct qcline_time time = qcline_at(&line, host);

	page->base_host = host;
	page->base_virtual = time.ns;
	page->base_fraction = time.fraction;
	page->rate_whole = rate_whole;
	page->rate_fraction = 0;
	page->shift_until = QCLINE_S64_MIN;
}

/* Stops the clock: whether the module asks for it once more. */
int page_stop(struct qcclock *page, long long *virtual_ns)
{
	unsigned int odd = page_make_odd(page);

	turn(page, 0);
	*virtual_ns = page->base_virtual;
	return page_make_even(page, odd);
}

/*
 * Lets the clock run, unless the module has stopped it more often than that many times: whether
 * it runs.
 */
int page_start(struct qcclock *page, unsigned int stops)
{
	unsigned int odd = page_make_odd(page);
	long long virtual_ns;
	int runs = page->stops == stops;

	if (runs)
		turn(page, 1);
	if (page_make_even(page, odd)) {
		page_stop(page, &virtual_ns);
		return 0;
	}
	return runs;
}

/* Virtual time, as programs read it. */
long long page_now(struct qcclock *page)
{
	struct qcline line;
	uint32_t begun;
	long long now;

	do {
		begun = atomic_load(word(&page->sequence));
		line = line_of(page);
		now = qcline_at(&line, lab_now()).ns;
		atomic_thread_fence(memory_order_acquire);
	} while (begun & 1 || atomic_load(word(&page->sequence)) != begun);
	return now;
}
