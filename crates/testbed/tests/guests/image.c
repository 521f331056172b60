/* What a program can do to the image that it has been given, and with it. Prints one line for each
 * attempt. Written for programs in virtual time: natively nothing lies at these addresses. */
#include "guest.h"
#include <sys/shm.h>

enum { SLOT = 0x20000, PAGE = 4096 };

static char *image;

static void tell(const char *what, long result)
{
	printf("%s %s\n", what, result == -1 ? strerrorname_np(errno) : "done");
}

static long writes(const char *at)
{
	int memory = open("/proc/self/mem", O_RDWR);
	return pwrite(memory, "\x90", 1, (off_t)(uintptr_t)at) == 1 ? 0 : -1;
}

/* Each of them natively does what it says. */
static void replace(void)
{
	const int fixed = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, all = PROT_READ | PROT_WRITE | PROT_EXEC;
	char *own = mmap(NULL, SLOT, all, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int segment = shmget(IPC_PRIVATE, PAGE, 0600);
	tell("mmap", (long)mmap(image, PAGE, all, fixed, -1, 0));
	tell("mmap-rest", (long)mmap(image + SLOT - PAGE, PAGE, all, fixed, -1, 0));
	tell("mmap-around", (long)mmap(image - SLOT, 2 * SLOT, all, fixed, -1, 0));
	tell("munmap", munmap(image, SLOT));
	tell("mprotect", mprotect(image, PAGE, all));
	tell("pkey_mprotect", syscall(SYS_pkey_mprotect, image, PAGE, all, -1));
	tell("mremap", (long)mremap(image, SLOT, SLOT, MREMAP_MAYMOVE | MREMAP_FIXED, own));
	tell("mremap-onto", (long)mremap(own, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, image));
	tell("remap_file_pages", syscall(SYS_remap_file_pages, image, PAGE, 0, 1, 0));
	tell("shmat", (long)shmat(segment, image, SHM_REMAP));
	shmctl(segment, IPC_RMID, NULL);
	tell("write", writes(image));
	tell("write-rest", writes(image + SLOT - PAGE));
}

/* A place in the slot that nothing lies at. */
static void room(void)
{
	const int careful = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
	int found = 0;
	for (char *at = image; at < image + SLOT; at += PAGE) {
		char *got = mmap(at, PAGE, PROT_READ | PROT_EXEC, careful, -1, 0);
		found += got == at;
	}
	printf("room for %d pages\n", found);
}

/* An exec by the image's own system call instruction. */
static void jump(char **command)
{
	extern char **environ;
#ifdef __x86_64__
	const char syscall_instruction[] = { 0x0f, 0x05 };
#else
	const char syscall_instruction[] = { 0x01, 0x00, 0x00, (char)0xd4 };
#endif
	char *at = memmem(image, SLOT, syscall_instruction, sizeof syscall_instruction);
	if (!at)
		exit(3);
#ifdef __x86_64__
	register long nr __asm__("rax") = SYS_execve;
	register const char *file __asm__("rdi") = command[0];
	register char **arguments __asm__("rsi") = command;
	register char **variables __asm__("rdx") = environ;
	__asm__ volatile("jmp *%0" : : "r"(at), "r"(nr), "r"(file), "r"(arguments), "r"(variables));
#else
	register long nr __asm__("x8") = SYS_execve;
	register const char *file __asm__("x0") = command[0];
	register char **arguments __asm__("x1") = command;
	register char **variables __asm__("x2") = environ;
	__asm__ volatile("br %0" : : "r"(at), "r"(nr), "r"(file), "r"(arguments), "r"(variables));
#endif
	__builtin_unreachable();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	image = (char *)strtoul(argv[2], NULL, 0);
	if (!strcmp(argv[1], "replace"))
		replace();
	else if (!strcmp(argv[1], "room"))
		room();
	else if (!strcmp(argv[1], "jump"))
		jump(argv + 3);
	struct timespec now;
	printf("clock %d\n", clock_gettime(CLOCK_MONOTONIC, &now));
	return 0;
}
