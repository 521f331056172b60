/* A process whose memory map nobody gets to look at: it maps a file whose server, a child of this
 * program, never says what is in it, and the kernel waits for that with the map locked. Prints "ready",
 * or what is missing on this host. The file is mounted in a namespace of its own.
 *
 * Nothing ends a process that waits like this but the end of the server, not even SIGKILL. The server
 * ends after a while in any case: until then a process that lists processes waits too. */
#include "silent.h"
#include <sched.h>

enum { PAGE = 4096, LONGEST_S = 60 };

/* Opens the file twice; answers 0 where this host does not let this user make it. */
static int opened(int files[2])
{
	char place[] = "/tmp/stubborn-XXXXXX";
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 0;
	/* The second one goes round the cache, which must be empty for that. */
	int made = mount_silent_file(place, 0600, FOPEN_DIRECT_IO, LONGEST_S);
	files[0] = made ? open(place, O_RDONLY) : -1;
	files[1] = made ? open(place, O_RDONLY) : -1;
	umount2(place, MNT_DETACH);
	unlink(place);
	/* So that the kernel knows how long it is, and asks nothing when it is closed at the end. */
	struct stat found;
	return files[1] >= 0 && !fstat(files[0], &found) && !close(dup(files[0]));
}

static void *touch(void *page)
{
	return (void *)(uintptr_t) * (volatile char *)page;
}

int main(void)
{
	int files[2];
	if (!opened(files)) {
		puts("no file system of its own");
		return 0;
	}
	pthread_t toucher;
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, files[0], 0);
	print_line("ready");
	pthread_create(&toucher, NULL, touch, page);
	/* Until the page is asked for. */
	usleep(50000);
	/* Waits for the page, for ever. */
	mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, files[1], 0);
	return 1;
}
