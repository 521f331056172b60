/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * What /dev/qcbus and user space say to each other.
 *
 * Each open file of the device is a domain: a clock page (qcclock.h) and, once lines are
 * attached, a place on a wired-OR bus. Whoever opened it, the agent, maps the page to read and
 * to write; programs get a descriptor of their own, through which it can be read and never be
 * written.
 *
 * An edge by which the bus becomes asserted stops the clock in the page. The edge by which it
 * is released starts nothing: it is reported, and the agent decides when all go on.
 *
 * All words have a fixed width and the byte order of the machine. Reserved words are zero.
 */
#ifndef _UAPI_QCBUS_H
#define _UAPI_QCBUS_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Changes with every change of what stands below. */
#define QCBUS_VERSION 1

/* Octets of a chip's label with the zero at its end. */
#define QCBUS_CHIP_SIZE 32

/* The bus is asserted while the line is low. */
#define QCBUS_ACTIVE_LOW 0x1
/* An output that drives the line low or not at all. */
#define QCBUS_OPEN_DRAIN 0x2

/**
 * struct qcbus_line - one line of a GPIO chip
 * @chip: the label of the chip, as gpiodetect shows it in brackets; ends with a zero
 * @offset: number of the line on its chip
 * @flags: QCBUS_ACTIVE_LOW, and QCBUS_OPEN_DRAIN for an output
 */
struct qcbus_line {
	char chip[QCBUS_CHIP_SIZE];
	__u32 offset;
	__u32 flags;
};

/**
 * struct qcbus_attach - the place of a domain on a bus
 * @output: drives the bus
 * @input: watches the bus
 * @input_released: watches the same bus for the edge by which it is released; then @input watches
 *	for the other one only, and no edge has to be told by the level that comes after it
 * @inputs: 1, or 2 if @input_released counts
 * @debounce_us: microseconds after an edge in which further edges do not count; the level that the
 *	bus has at their end does. At most QCBUS_DEBOUNCE_US_MAX
 * @reserved: zero
 */
struct qcbus_attach {
	struct qcbus_line output;
	struct qcbus_line input;
	struct qcbus_line input_released;
	__u32 inputs;
	__u32 debounce_us;
	__u32 reserved[2];
};

/* What contacts and long wires need. */
#define QCBUS_DEBOUNCE_US_DEFAULT 20
#define QCBUS_DEBOUNCE_US_MAX 1000000

/**
 * struct qcbus_info - which domain this is
 * @version: QCBUS_VERSION of the module
 * @domain: its folder in sysfs is /sys/class/qcbus/qcbus<domain>
 */
struct qcbus_info {
	__u32 version;
	__u32 domain;
};

/* The bus became asserted. */
#define QCBUS_EDGE_ASSERTED 1
/* The bus was released. */
#define QCBUS_EDGE_RELEASED 2

/* The module has stopped the clock, at virtual_ns. */
#define QCBUS_STOPPED 0x1
/* The agent was changing the page for too long: it was asked to stop the clock (stop_asked). */
#define QCBUS_STOP_ASKED 0x2

/**
 * struct qcbus_event - an edge, as read from the descriptor of a domain
 * @edge: QCBUS_EDGE_ASSERTED or QCBUS_EDGE_RELEASED
 * @flags: QCBUS_STOPPED or QCBUS_STOP_ASKED, with QCBUS_EDGE_ASSERTED only
 * @edge_ns: CLOCK_MONOTONIC when the interrupt of the edge began, or the write to hold
 * @stopped_ns: CLOCK_MONOTONIC at which the clock was stopped; zero unless QCBUS_STOPPED
 * @virtual_ns: virtual time at that moment, at which the clock stands; zero unless QCBUS_STOPPED
 * @latency_ns: from @edge_ns until the page was changed for all to see; zero unless QCBUS_STOPPED
 * @round: how often the bus has become asserted, this time included
 * @lost: events since the last one that was read that nobody read in time; the oldest are lost
 * @reserved: zero
 */
struct qcbus_event {
	__u32 edge;
	__u32 flags;
	__s64 edge_ns;
	__s64 stopped_ns;
	__s64 virtual_ns;
	__s64 latency_ns;
	__u64 round;
	__u32 lost;
	__u32 reserved;
};

#define QCBUS_IOCTL 'Q'

/* Which domain this is. */
#define QCBUS_INFO _IOR(QCBUS_IOCTL, 0x70, struct qcbus_info)
/*
 * Gives a descriptor that maps the page of this domain, and can do nothing else; it keeps the
 * page when the agent's is closed.
 */
#define QCBUS_PROGRAM _IO(QCBUS_IOCTL, 0x71)
/*
 * Attaches lines. EBUSY: there are some, or the domain is held, or a line is in use. ENODEV: no
 * such chip. EINVAL: no such line, or one without interrupts, or a word that nobody knows.
 */
#define QCBUS_ATTACH _IOW(QCBUS_IOCTL, 0x72, struct qcbus_attach)
/* Releases the bus and detaches the lines. ENOENT: there are none. */
#define QCBUS_DETACH _IO(QCBUS_IOCTL, 0x73)

#endif /* _UAPI_QCBUS_H */
