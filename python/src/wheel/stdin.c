/* stdin: for the wheel only. Debian's libjansson.a is position independent but for one reference:
 * it compares the file that it reads with the C library's stdin. Here is a stdin of the module's
 * own, seen by nobody else, to which no file is equal. faro reads JSON from memory and from files
 * that it opened. */
__attribute__((visibility("hidden"))) void *stdin;
