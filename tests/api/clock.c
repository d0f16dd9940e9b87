/* Shifts the time of day of a process by the seconds in the file $CLOCK_SHIFT; other clocks run on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t id, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!real)
        real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int status = real(id, now);
    const char *path = getenv("CLOCK_SHIFT");
    FILE *file = id == CLOCK_REALTIME && path ? fopen(path, "r") : NULL;
    if (file) {
        long shift = 0;
        if (fscanf(file, "%ld", &shift) == 1)
            now->tv_sec += shift;
        fclose(file);
    }
    return status;
}
