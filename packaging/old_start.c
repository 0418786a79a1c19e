/* Starts a program that was linked on glibc 2.34 or later on an older one. Before 2.34 a program
 * brought the function that runs its constructors; since then the C library has it, and start files
 * pass none. Linked with
 * --wrap=__libc_start_main. */
typedef void (*Constructor)(int, char**, char**);
extern Constructor __preinit_array_start[] __attribute__((visibility("hidden")));
extern Constructor __preinit_array_end[] __attribute__((visibility("hidden")));
extern Constructor __init_array_start[] __attribute__((visibility("hidden")));
extern Constructor __init_array_end[] __attribute__((visibility("hidden")));

static void RunConstructors(int argc, char** argv, char** environment) {
  for (Constructor* one = __preinit_array_start; one < __preinit_array_end; ++one)
    (*one)(argc, argv, environment);
  for (Constructor* one = __init_array_start; one < __init_array_end; ++one)
    (*one)(argc, argv, environment);
}

int __real___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv,
                             Constructor init, void (*fini)(void), void (*loader_fini)(void),
                             void* stack_end);

int __wrap___libc_start_main(int (*main)(int, char**, char**), int argc, char** argv,
                             Constructor init, void (*fini)(void), void (*loader_fini)(void),
                             void* stack_end) {
  return __real___libc_start_main(main, argc, argv, init ? init : RunConstructors, fini,
                                  loader_fini, stack_end);
}
