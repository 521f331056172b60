// SPDX-License-Identifier: GPL-2.0
/*
 * Commands that use lines through the GPIO character device (version 2), as a program in user
 * space does what the module does in the kernel: take an edge, stop a clock page.
 */
#include <fcntl.h>
#include <linux/gpio.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../../qcbus/qcclock.h"
#include "../../qcbus/qcline.h"
#include "lab.h"

static struct qcclock page = { .horizon = QCLINE_S64_MAX, .limit = QCLINE_S64_MAX };
static int watched = -1, driven = -1;

static int request(unsigned int offset, __u64 flags, unsigned int debounce_us)
{
	struct gpio_v2_line_request request = { .num_lines = 1, .offsets = { offset } };
	int chip = open("/dev/gpiochip0", O_RDWR | O_CLOEXEC);
	int err;

	strcpy(request.consumer, "lab");
	request.config.flags = flags;
	if (debounce_us) {
		request.config.num_attrs = 1;
		request.config.attrs[0].mask = 1;
		request.config.attrs[0].attr.id = GPIO_V2_LINE_ATTR_ID_DEBOUNCE;
		request.config.attrs[0].attr.debounce_period_us = debounce_us;
	}
	err = chip < 0 || ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) < 0;
	close(chip);
	return err ? -1 : request.fd;
}

/* watch OFFSET DEBOUNCE_US: both edges of a line, with the priority of an interrupt's thread. */
static int watch(char *const *words)
{
	struct sched_param priority = { .sched_priority = 50 };

	watched = request(atoi(words[1]), GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING |
			  GPIO_V2_LINE_FLAG_EDGE_FALLING, atoi(words[2]));
	if (watched < 0 || sched_setscheduler(0, SCHED_FIFO, &priority) < 0)
		return lab_failed();
	return lab_ok("%s", "");
}

static int unwatch(char *const *words)
{
	struct sched_param priority = { .sched_priority = 0 };

	(void)words;
	if (close(watched) < 0 || sched_setscheduler(0, SCHED_OTHER, &priority) < 0)
		return lab_failed();
	return lab_ok("%s", "");
}

/*
 * edge MILLISECONDS: the next edge, or nothing: whether the line rises, the kernel's number of
 * it, and from its interrupt until a page has been changed.
 */
static int edge(char *const *words)
{
	struct pollfd wait = { .fd = watched, .events = POLLIN };
	struct gpio_v2_line_event event;
	int ready = poll(&wait, 1, atoi(words[1]));
	long long virtual_ns, latency_ns;

	if (ready < 0 || (ready && read(watched, &event, sizeof(event)) != sizeof(event)))
		return lab_failed();
	if (!ready)
		return lab_ok("%s", "");
	page_stop(&page, &virtual_ns);
	latency_ns = lab_now() - (long long)event.timestamp_ns;
	page_start(&page, page.stops);
	return lab_ok("%d %u %lld", event.id == GPIO_V2_LINE_EVENT_RISING_EDGE, event.line_seqno,
		      latency_ns);
}

/* drive OFFSET VALUE: drives a line until undrive. */
static int drive(char *const *words)
{
	struct gpio_v2_line_values values = { .bits = atoi(words[2]), .mask = 1 };

	if (driven < 0)
		driven = request(atoi(words[1]), GPIO_V2_LINE_FLAG_OUTPUT, 0);
	if (driven < 0 || ioctl(driven, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) < 0)
		return lab_failed();
	return lab_ok("%s", "");
}

/* pulse OFFSET TIMES: as fast as a driver can; the line is low in the end. */
static int pulse(char *const *words)
{
	struct gpio_v2_line_values values = { .mask = 1 };
	int times;

	if (driven < 0)
		driven = request(atoi(words[1]), GPIO_V2_LINE_FLAG_OUTPUT, 0);
	for (times = 2 * atoi(words[2]); times > 0; times--) {
		values.bits = times % 2 == 0;
		if (driven < 0 || ioctl(driven, GPIO_V2_LINE_SET_VALUES_IOCTL, &values) < 0)
			return lab_failed();
	}
	return lab_ok("%s", "");
}

static int undrive(char *const *words)
{
	(void)words;
	if (close(driven) < 0)
		return lab_failed();
	driven = -1;
	return lab_ok("%s", "");
}

const struct command line_commands[] = {
	{ "watch", 3, watch },
	{ "unwatch", 1, unwatch },
	{ "edge", 2, edge },
	{ "drive", 3, drive },
	{ "pulse", 3, pulse },
	{ "undrive", 1, undrive },
	{ NULL, 0, NULL },
};
