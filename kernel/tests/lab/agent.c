// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that use the module as an agent does, and as a program that may only read.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../qcbus/qcclock.h"
#include "../../qcbus/uapi/qcbus.h"
#include "lab.h"

#define DOMAINS 4
#define PAGE 4096

static struct domain {
	int fd;
	struct qcclock *page;
	unsigned int id;
	/* What the agent knows of how often the module has stopped the clock. */
	unsigned int stops;
} domains[DOMAINS];

static struct domain *domain_of(const char *word)
{
	return &domains[atoi(word) % DOMAINS];
}

static int open_domain(char *const *words)
{
	struct domain *domain = domain_of(words[1]);
	struct qcbus_info info;

	domain->fd = open("/dev/qcbus", O_RDWR | O_CLOEXEC);
	if (domain->fd < 0 || ioctl(domain->fd, QCBUS_INFO, &info) < 0)
		return lab_failed();
	domain->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, domain->fd, 0);
	if (domain->page == MAP_FAILED)
		return lab_failed();
	domain->id = info.domain;
	domain->stops = 0;
	return lab_ok("%u %u %d", info.version, info.domain,
		      domain->page->magic == QCCLOCK_MAGIC && domain->page->size == QCCLOCK_SIZE);
}

static int close_domain(char *const *words)
{
	struct domain *domain = domain_of(words[1]);

	munmap(domain->page, PAGE);
	return close(domain->fd) < 0 ? lab_failed() : lab_ok("%s", "");
}

static void parse_line(struct qcbus_line *line, const char *chip, const char *offset, unsigned int flags)
{
	snprintf(line->chip, sizeof(line->chip), "%s", chip);
	line->offset = atoi(offset);
	line->flags = flags;
}

/* attach DOMAIN CHIP OUTPUT INPUT INPUT_RELEASED|- DEBOUNCE_US FLAGS */
static int attach(char *const *words)
{
	unsigned int flags = atoi(words[7]);
	struct qcbus_attach attach = { .inputs = 1, .debounce_us = atoi(words[6]) };

	parse_line(&attach.output, words[2], words[3], flags);
	parse_line(&attach.input, words[2], words[4], flags & QCBUS_ACTIVE_LOW);
	if (strcmp(words[5], "-")) {
		attach.inputs = 2;
		parse_line(&attach.input_released, words[2], words[5], flags & QCBUS_ACTIVE_LOW);
	}
	if (ioctl(domain_of(words[1])->fd, QCBUS_ATTACH, &attach) < 0)
		return lab_failed();
	return lab_ok("%s", "");
}

static int detach(char *const *words)
{
	return ioctl(domain_of(words[1])->fd, QCBUS_DETACH) < 0 ? lab_failed() : lab_ok("%s", "");
}

static int start(char *const *words)
{
	struct domain *domain = domain_of(words[1]);

	return lab_ok("%d", page_start(domain->page, domain->stops));
}

static int write_hold(const struct domain *domain, const char *text)
{
	char path[64];
	int fd, err;

	snprintf(path, sizeof(path), "/sys/class/qcbus/qcbus%u/hold", domain->id);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -1;
	err = write(fd, text, strlen(text)) < 0;
	close(fd);
	return -err;
}

static int hold(char *const *words)
{
	return write_hold(domain_of(words[1]), words[2]) ? lab_failed() : lab_ok("%s", "");
}

/* event DOMAIN MILLISECONDS: the next one, or nothing; the agent counts stops from then on. */
static int event(char *const *words)
{
	struct domain *domain = domain_of(words[1]);
	struct pollfd wait = { .fd = domain->fd, .events = POLLIN };
	struct qcbus_event event;
	int ready = poll(&wait, 1, atoi(words[2]));

	if (ready < 0 || (ready && read(domain->fd, &event, sizeof(event)) != sizeof(event)))
		return lab_failed();
	if (!ready)
		return lab_ok("%s", "");
	domain->stops += !!(event.flags & QCBUS_STOPPED);
	return lab_ok("%u %u %lld %lld %lld %lld %llu %u", event.edge, event.flags, event.edge_ns,
		      event.stopped_ns, event.virtual_ns, event.latency_ns, event.round, event.lost);
}

/* now DOMAIN: virtual time twice, a millisecond of the host apart. */
static int now(char *const *words)
{
	struct domain *domain = domain_of(words[1]);
	long long first = page_now(domain->page);

	usleep(1000);
	return lab_ok("%lld %lld", first, page_now(domain->page));
}

/* odd DOMAIN: holds the bus while the page is odd: the request to stop, before and after it is even. */
static int odd(char *const *words)
{
	struct domain *domain = domain_of(words[1]);
	unsigned int sequence = page_make_odd(domain->page);
	int asked, failed = write_hold(domain, "1");
	unsigned int asks = domain->page->stop_asked;

	asked = page_make_even(domain->page, sequence);
	return failed ? lab_failed() : lab_ok("%u %d", asks, asked);
}

/*
 * race DOMAIN MILLISECONDS: changes the page all the time, whatever the module does: whether
 * time went back, and how often the module has stopped the clock.
 */
static int race(char *const *words)
{
	struct qcclock *page = domain_of(words[1])->page;
	long long end = lab_now() + atoi(words[2]) * 1000000LL;
	long long now, last = 0, virtual_ns;
	int back = 0, read;

	while (lab_now() < end) {
		page_stop(page, &virtual_ns);
		back += virtual_ns < last;
		page_start(page, page->stops);
		/* In most of the time nobody changes the page, as with an agent. */
		for (read = 0; read < 30; read++) {
			now = page_now(page);
			back += now < last || now < virtual_ns;
			last = now;
		}
	}
	domain_of(words[1])->stops = page->stops;
	return lab_ok("%d %u", back, page->stops);
}

/* program DOMAIN: the errors of all that a program may not do, and the time that it reads at last. */
static int program(char *const *words)
{
	struct domain *domain = domain_of(words[1]);
	int fd = ioctl(domain->fd, QCBUS_PROGRAM);
	int writable, private, reopened, asked, protect;
	struct qcclock *page;
	char path[64];
	long long now;

	if (fd < 0)
		return lab_failed();
	writable = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED ? errno : 0;
	private = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ? errno : 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	reopened = open(path, O_RDWR) < 0 ? errno : 0;
	asked = ioctl(fd, QCBUS_DETACH) < 0 ? errno : 0;
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		return lab_failed();
	protect = mprotect(page, PAGE, PROT_READ | PROT_WRITE) < 0 ? errno : 0;
	now = page_now(page);
	munmap(page, PAGE);
	close(fd);
	return lab_ok("%d %d %d %d %d %lld", writable, private, reopened, asked, protect, now);
}

/* keep DOMAIN: closes the agent's descriptor and keeps a program's mapping of the page, and nothing else. */
static int keep(char *const *words)
{
	struct domain *domain = domain_of(words[1]);
	int fd = ioctl(domain->fd, QCBUS_PROGRAM);
	struct qcclock *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	if (page == MAP_FAILED)
		return lab_failed();
	close(fd);
	munmap(domain->page, PAGE);
	close(domain->fd);
	domain->page = page;
	return lab_ok("%d", page->magic == QCCLOCK_MAGIC);
}

/* drop DOMAIN: ends what keep has begun. */
static int drop(char *const *words)
{
	return munmap(domain_of(words[1])->page, PAGE) < 0 ? lab_failed() : lab_ok("%s", "");
}

static unsigned int next(unsigned int *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* hostile DOMAIN SEED CALLS: requests with random words and addresses: how many were accepted. */
static int hostile(char *const *words)
{
	static const unsigned long requests[] = {
		QCBUS_INFO, QCBUS_ATTACH, QCBUS_DETACH, QCBUS_ATTACH, 0, _IOW('Q', 0x74, int),
	};
	struct domain *domain = domain_of(words[1]);
	unsigned int seed = atoi(words[2]);
	int call, at, accepted = 0;
	struct qcbus_attach attach;
	unsigned char *octets = (unsigned char *)&attach;

	for (call = 0; call < atoi(words[3]); call++) {
		void *argument = next(&seed) % 4 ? (void *)&attach : (void *)(long)next(&seed);

		for (at = 0; at < (int)sizeof(attach); at++)
			octets[at] = next(&seed) % 2 ? next(&seed) : 0;
		attach.inputs = next(&seed) % 4;
		/* As often as not a chip that is there, so that more is looked at. */
		if (next(&seed) % 2) {
			parse_line(&attach.output, "virtio0", "0", next(&seed) % 4);
			parse_line(&attach.input, "virtio0", "1", next(&seed) % 2);
			attach.input.offset = next(&seed) % 5;
			attach.reserved[0] = attach.reserved[1] = 0;
			attach.debounce_us = next(&seed) % 2000000;
		}
		accepted += ioctl(domain->fd, requests[next(&seed) % 6], argument) >= 0;
	}
	/* What may be attached now is not: the tests go on. */
	ioctl(domain->fd, QCBUS_DETACH);
	return lab_ok("%d", accepted);
}

const struct command agent_commands[] = {
	{ "open", 2, open_domain },
	{ "close", 2, close_domain },
	{ "attach", 8, attach },
	{ "detach", 2, detach },
	{ "start", 2, start },
	{ "hold", 3, hold },
	{ "event", 3, event },
	{ "now", 2, now },
	{ "odd", 2, odd },
	{ "race", 3, race },
	{ "program", 2, program },
	{ "keep", 2, keep },
	{ "drop", 2, drop },
	{ "hostile", 4, hostile },
	{ NULL, 0, NULL },
};
