/* Functions that the wheel needs and that glibc 2.28 lacks, by functions that it has
 * (packaging/old_glibc.py). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <time.h>

/* Not in its headers since 2.33; `version` is the structure's version. */
int __xstat(int version, const char* path, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int file, struct stat* result);
int __fxstatat(int version, int folder, const char* path, struct stat* result, int flags);

int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void* dso);

#pragma GCC visibility push(hidden)

/* Since 2.32: whether the process has one thread, so that reference counts need no atomic
 * instructions. */
char __libc_single_threaded = 0;

/* Since 2.33: before, they were inline functions. */
#ifdef __x86_64__
enum { kStatVersion = 1 };
#else
enum { kStatVersion = 0 };
#endif
int stat(const char* path, struct stat* result) { return __xstat(kStatVersion, path, result); }
int lstat(const char* path, struct stat* result) { return __lxstat(kStatVersion, path, result); }
int fstat(int file, struct stat* result) { return __fxstat(kStatVersion, file, result); }
int fstatat(int folder, const char* path, struct stat* result, int flags) {
  return __fxstatat(kStatVersion, folder, path, result, flags);
}
int fstat64(int file, struct stat64* result) {
  return fstat(file, (struct stat*)result);
} /* the same structure */

/* Was in every program, and on 64-bit Arm in no shared library. */
extern void* __dso_handle;
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void)) {
  return __register_atfork(prepare, parent, child, __dso_handle);
}

/* Since 2.30: waits until a time of the given clock. Conditions of std::condition_variable use the
 * clock of the time of day, so the time that is left is added to its present time. */
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  const long kSecond = 1000000000;
  struct timespec now, then;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &then);
  then.tv_sec += until->tv_sec - now.tv_sec;
  then.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (then.tv_nsec < 0) then.tv_nsec += kSecond, --then.tv_sec;
  if (then.tv_nsec >= kSecond) then.tv_nsec -= kSecond, ++then.tv_sec;
  return pthread_cond_timedwait(condition, mutex, &then);
}

#pragma GCC visibility pop
