/*
 * Copies small files of the kernel every so often into one stream, as they are read.
 *
 *   record STREAM INTERVAL_S GLOBS STOP
 *
 * GLOBS holds a pattern a line. Each file becomes "F <unix seconds> <bytes> <path>\n" and its bytes. It ends with the
 * snapshot after which the file STOP exists.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST_BYTES (1 << 20)
/* Files below /proc/sys refuse reads of megabytes. */
#define READ_BYTES (32 << 10)

static char held[MOST_BYTES];

static size_t read_all(const char *path)
{
	size_t bytes = 0;
	ssize_t got;
	int file = open(path, O_RDONLY | O_NONBLOCK);

	if (file < 0)
		return 0;
	while (bytes + READ_BYTES <= MOST_BYTES && (got = read(file, held + bytes, READ_BYTES)) > 0)
		bytes += got;
	close(file);
	return bytes;
}

static void snapshot(FILE *stream, glob_t *paths, long second)
{
	for (size_t i = 0; i < paths->gl_pathc; i++) {
		size_t bytes = read_all(paths->gl_pathv[i]);

		if (bytes > 0) {
			fprintf(stream, "F %ld %zu %s\n", second, bytes, paths->gl_pathv[i]);
			fwrite(held, 1, bytes, stream);
		}
	}
	fflush(stream);
}

int main(int argc, char **argv)
{
	char line[256];
	glob_t paths = {0};
	FILE *globs, *stream;
	struct timespec due;

	if (argc != 5 || !(stream = fopen(argv[1], "w")) || !(globs = fopen(argv[3], "r")))
		return 2;
	/* Found once: a snapshot then costs the reads alone. */
	while (fgets(line, sizeof line, globs)) {
		line[strcspn(line, "\n")] = 0;
		if (line[0])
			glob(line, paths.gl_pathc ? GLOB_APPEND : 0, NULL, &paths);
	}
	clock_gettime(CLOCK_MONOTONIC, &due);
	for (;;) {
		int last = !access(argv[4], F_OK);

		snapshot(stream, &paths, time(NULL));
		if (last)
			break;
		due.tv_sec += atol(argv[2]);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	}
	return fclose(stream);
}
