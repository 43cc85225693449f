/* What children did counts, too, in builds for coverage: they leave by _exit, which writes no
 * counts. */
void __gcov_dump(void) __attribute__((weak));
_Noreturn void __real__exit(int code) __attribute__((weak));
_Noreturn void __wrap__exit(int code);

/* Linked in by -Wl,--wrap=_exit (make coverage). */
_Noreturn void __wrap__exit(int code)
{
    __gcov_dump();
    __real__exit(code);
}
