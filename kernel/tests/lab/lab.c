// SPDX-License-Identifier: GPL-2.0
/*
 * The first process of a guest: mounts what it needs, and then does as it is told over the
 * second serial port.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "lab.h"

#define PORT "/dev/ttyS1"

static FILE *port;

int lab_ok(const char *format, ...)
{
	va_list words;

	fputs("ok ", port);
	va_start(words, format);
	vfprintf(port, format, words);
	va_end(words);
	fputs("\n", port);
	return 0;
}

int lab_failed(void)
{
	fprintf(port, "error %d\n", errno);
	return -1;
}

long long lab_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* insmod FILE */
static int insmod(char *const *words)
{
	int fd = open(words[1], O_RDONLY | O_CLOEXEC);
	int err = fd < 0 || syscall(SYS_finit_module, fd, "", 0);

	if (err)
		return lab_failed();
	close(fd);
	return lab_ok("%s", "");
}

/* rmmod NAME */
static int rmmod(char *const *words)
{
	return syscall(SYS_delete_module, words[1], O_NONBLOCK) ? lab_failed() : lab_ok("%s", "");
}

/* cat FILE: what it holds, its lines as words. */
static int cat(char *const *words)
{
	char text[4096];
	int fd = open(words[1], O_RDONLY | O_CLOEXEC);
	ssize_t at, size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (size < 0)
		return lab_failed();
	close(fd);
	for (at = 0; at < size; at++)
		if (text[at] == '\n')
			text[at] = ' ';
	text[size] = 0;
	return lab_ok("%s", text);
}

/* complaints: whether the kernel has warned of something since it started. */
static int complaints(char *const *words)
{
	(void)words;
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char text[8192];
	ssize_t size;
	int found = 0;

	if (fd < 0)
		return lab_failed();
	while ((size = read(fd, text, sizeof(text) - 1)) > 0) {
		text[size] = 0;
		found += strstr(text, "WARNING:") || strstr(text, "BUG:") || strstr(text, "Oops");
	}
	close(fd);
	return lab_ok("%d", found);
}

static int off(char *const *words)
{
	(void)words;
	lab_ok("%s", "");
	fflush(port);
	return reboot(RB_POWER_OFF);
}

static const struct command own_commands[] = {
	{ "insmod", 2, insmod },
	{ "rmmod", 2, rmmod },
	{ "cat", 2, cat },
	{ "complaints", 1, complaints },
	{ "off", 1, off },
	{ NULL, 0, NULL },
};

static int run(char *line)
{
	static const struct command *const all[] = { own_commands, agent_commands, line_commands };
	char *words[WORDS_MAX];
	const struct command *command;
	int count = 0;
	size_t table;

	for (char *word = strtok(line, " \n"); word && count < WORDS_MAX; word = strtok(NULL, " \n"))
		words[count++] = word;
	for (table = 0; count && table < sizeof(all) / sizeof(*all); table++)
		for (command = all[table]; command->name; command++)
			if (command->words == count && !strcmp(command->name, words[0]))
				return command->run(words);
	errno = ENOSYS;
	return lab_failed();
}

int main(void)
{
	struct termios raw;
	char line[256];
	FILE *orders;
	int fd;

	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	fd = open(PORT, O_RDWR | O_NOCTTY);
	if (fd < 0 || tcgetattr(fd, &raw))
		return 1;
	cfmakeraw(&raw);
	cfsetspeed(&raw, B115200);
	tcsetattr(fd, TCSANOW, &raw);
	port = fdopen(fd, "w");
	orders = fdopen(dup(fd), "r");
	lab_ok("ready");
	fflush(port);
	while (fgets(line, sizeof(line), orders)) {
		run(line);
		fflush(port);
	}
	return 1;
}
