/* Preloaded under a test or a bench: makes syncs slow, or makes them fail.
 *
 * SYNC_SHIM_DELAY_US   every sync takes so many microseconds longer
 * SYNC_SHIM_FAIL_FILE  while this file exists, syncs fail with EIO, after they were made
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static int sync_by(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    const char *delay = getenv("SYNC_SHIM_DELAY_US");
    const char *fail = getenv("SYNC_SHIM_FAIL_FILE");
    int result = real(fd);
    if (delay) {
        usleep((useconds_t)atoi(delay));
    }
    if (fail && access(fail, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return result;
}

int fsync(int fd) { return sync_by("fsync", fd); }
int fdatasync(int fd) { return sync_by("fdatasync", fd); }
