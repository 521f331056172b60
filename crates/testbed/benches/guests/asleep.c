/* Programs that wait for nothing, to be held on a host.
 *
 * Usage: asleep PROGRAMS
 */
#include "../../tests/guests/guest.h"

int main(int argc, char **argv)
{
	int left = argc == 2 ? atoi(argv[1]) : 1;

	while (--left > 0) {
		pid_t child = fork();

		if (child < 0)
			return 1;
		if (child == 0)
			break;
	}
	for (;;)
		pause();
}
