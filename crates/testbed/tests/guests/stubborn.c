/* A process whose command line nobody gets to read: the memory that holds it is of userfaultfd, and
 * nobody answers for it. Prints "ready", or what is missing on this host. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 };

int main(int argc, char **argv)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	struct uffdio_api api = { .api = UFFD_API };
	if (argc < 1 || fd < 0 || ioctl(fd, UFFDIO_API, &api)) {
		puts("no userfaultfd");
		return 0;
	}
	uintptr_t from = (uintptr_t)argv[0] & ~(uintptr_t)(PAGE - 1);
	uintptr_t to = ((uintptr_t)argv[argc - 1] + strlen(argv[argc - 1]) + PAGE) & ~(uintptr_t)(PAGE - 1);
	const int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	struct uffdio_register all = {
		.range = { .start = from, .len = to - from },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	puts("ready");
	fflush(stdout);
	/* Nothing that is used any more may lie there. */
	if (mmap((void *)from, to - from, PROT_READ | PROT_WRITE, fixed, -1, 0) == MAP_FAILED)
		return 1;
	if (ioctl(fd, UFFDIO_REGISTER, &all))
		return 1;
	for (;;)
		pause();
}
