/* Memory and a file that answer nobody: a reader waits for ever. */
#ifndef SILENT_H
#define SILENT_H
#include "guest.h"
#include <linux/fuse.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>

/* Memory there, or anywhere (0); NULL where this host has none like it. */
static inline char *silent_memory(unsigned long at, size_t length)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC), fixed = at ? MAP_FIXED : 0;
	char *memory = mmap((void *)at, length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
	struct uffdio_register range = { .range = { (uintptr_t)memory, length },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };

	if (fd < 0 || memory == MAP_FAILED || ioctl(fd, UFFDIO_API, &api))
		return NULL;
	if (ioctl(fd, UFFDIO_REGISTER, &range))
		exit(2);
	return memory;
}

static inline void answer_fuse(int device, uint64_t unique, int error, const void *body, size_t length)
{
	char message[512];
	struct fuse_out_header head = { .len = sizeof head + length, .error = -error, .unique = unique };

	memcpy(message, &head, sizeof head);
	if (length)
		memcpy(message + sizeof head, body, length);
	if (write(device, message, head.len) < 0)
		return;
}

/* Answers requests for anything but what is in the file. */
static inline void serve_silent_file(int device, unsigned permissions, unsigned later_opens)
{
	static _Alignas(8) char request[1 << 17];
	const struct fuse_in_header *asked = (void *)request;
	const struct fuse_init_in *offered = (void *)(asked + 1);
	struct fuse_open_out opened = { 0 };
	struct fuse_attr_out attributes = {
		.attr_valid = 1000,
		.attr = { .ino = 1, .size = 1 << 20, .mode = S_IFREG | permissions, .nlink = 1 },
	};

	while (read(device, request, sizeof request) > 0) {
		struct fuse_init_out init = {
			.major = FUSE_KERNEL_VERSION,
			.minor = FUSE_KERNEL_MINOR_VERSION,
			.max_readahead = offered->max_readahead,
			.max_write = 4096,
		};

		if (asked->opcode == FUSE_INIT) {
			answer_fuse(device, asked->unique, 0, &init, sizeof init);
		} else if (asked->opcode == FUSE_GETATTR) {
			answer_fuse(device, asked->unique, 0, &attributes, sizeof attributes);
		} else if (asked->opcode == FUSE_OPEN) {
			answer_fuse(device, asked->unique, 0, &opened, sizeof opened);
			opened.open_flags = later_opens;
		} else if (asked->opcode != FUSE_READ) {
			answer_fuse(device, asked->unique, ENOSYS, NULL, 0);
		}
	}
}

/* A file of this name (mkstemp(3)), which is the root of a file system of its own: fuse(4). Its server
 * is a child and ends after so many seconds, if not 0; opens after the first have these flags. Answers
 * 0 where this user may not make it. */
static inline int mount_silent_file(char *name, unsigned permissions, unsigned later_opens, int seconds)
{
	char options[80];
	int device = open("/dev/fuse", O_RDWR), place = mkstemp(name);

	snprintf(options, sizeof options, "fd=%d,rootmode=100000,user_id=0,group_id=0", device);
	int made = device >= 0 && place >= 0 &&
		   !mount("silent", name, "fuse", MS_NODEV | MS_NOSUID, options);
	if (made && !fork()) {
		alarm(seconds);
		serve_silent_file(device, permissions, later_opens);
		_exit(0);
	}
	/* The last of these ends the file system: nobody who waits for it can be killed before. */
	close(device);
	close(place);
	return made;
}

#endif
