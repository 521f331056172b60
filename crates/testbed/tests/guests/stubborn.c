/* A process whose memory map nobody gets to look at: it maps a file whose server, a child of this
 * program, never says what is in it, and the kernel waits for that with the map locked. Prints "ready",
 * or what is missing on this host. fuse(4): the file is the root of a file system of its own, in a
 * namespace of its own.
 *
 * Nothing ends a process that waits like this but the end of the server, not even SIGKILL. The server
 * ends after a while in any case: until then whoever lists processes waits too. */
#include "guest.h"
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

enum { PAGE = 4096, REQUEST_MAX = FUSE_MIN_READ_BUFFER, LENGTH = 1 << 20 };
enum { LONGEST_S = 60 };

static int device;

static void answer(const struct fuse_in_header *to, int error, const void *body, size_t length)
{
	char message[512];
	struct fuse_out_header head = { .len = sizeof head + length, .error = -error, .unique = to->unique };
	memcpy(message, &head, sizeof head);
	if (length)
		memcpy(message + sizeof head, body, length);
	if (write(device, message, head.len) < 0)
		return;
}

/* Answers a request for anything but what is in the file. */
static void serve(const struct fuse_in_header *head)
{
	if (head->opcode == FUSE_INIT) {
		const struct fuse_init_in *in = (void *)(head + 1);
		struct fuse_init_out out = {
			.major = FUSE_KERNEL_VERSION,
			.minor = FUSE_KERNEL_MINOR_VERSION,
			.max_readahead = in->max_readahead,
			.max_write = PAGE,
		};
		answer(head, 0, &out, sizeof out);
	} else if (head->opcode == FUSE_GETATTR) {
		struct fuse_attr_out out = {
			.attr_valid = 1000,
			.attr = { .ino = 1, .size = LENGTH, .mode = S_IFREG | 0600, .nlink = 1 },
		};
		answer(head, 0, &out, sizeof out);
	} else if (head->opcode == FUSE_OPEN) {
		/* The second one goes round the cache, which must be empty for that. */
		static int opened;
		struct fuse_open_out out = { .open_flags = opened++ ? FOPEN_DIRECT_IO : 0 };
		answer(head, 0, &out, sizeof out);
	} else if (head->opcode != FUSE_READ) {
		answer(head, ENOSYS, NULL, 0);
	}
}

/* The process of the server. */
static int server(void)
{
	static _Alignas(8) char request[REQUEST_MAX];
	alarm(LONGEST_S);
	while (read(device, request, sizeof request) > 0)
		serve((void *)request);
	return 0;
}

/* Opens the file twice; answers 0 where this host does not let this user make it. */
static int mounted(int files[2])
{
	char place[] = "/tmp/stubborn-XXXXXX", options[128];
	device = open("/dev/fuse", O_RDWR);
	if (device < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 0;
	if (mkstemp(place) < 0)
		return 0;
	snprintf(options, sizeof options, "fd=%d,rootmode=100000,user_id=0,group_id=0", device);
	int failed = mount("stubborn", place, "fuse", 0, options);
	if (!failed && !fork())
		_exit(server());
	close(device);
	files[0] = failed ? -1 : open(place, O_RDONLY);
	files[1] = failed ? -1 : open(place, O_RDONLY);
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
	if (!mounted(files)) {
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
