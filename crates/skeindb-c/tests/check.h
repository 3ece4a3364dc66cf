/* Asserts for the tests. A failure prints where, what and the library's text, and ends the program.
 * Included once in each program. */

#ifndef SKEIN_CHECK_H
#define SKEIN_CHECK_H

#include <ftw.h>
#include <skeindb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRUE(condition)                                                                      \
    do {                                                                                     \
        if (!(condition)) check_failed(__FILE__, __LINE__, #condition, "false");             \
    } while (0)

/* The call returns this status. */
#define IS(expected, call)                                                                   \
    do {                                                                                     \
        skein_status check_status = (call);                                                  \
        if (check_status != (expected))                                                      \
            check_failed(__FILE__, __LINE__, #call, skein_status_name(check_status));        \
    } while (0)

#define OK(call) IS(SKEIN_OK, call)

/* Bytes of a literal, with their length. */
#define LIT(text) (text), (sizeof(text) - 1)

static inline void check_failed(const char *file, int line, const char *what, const char *got) {
    fprintf(stderr, "%s:%d: %s: %s; last error: %s\n", file, line, what, got, skein_error_message());
    abort();
}

static inline int check_slice_is(skein_slice slice, const char *text) {
    return slice.data != NULL && slice.len == strlen(text) && memcmp(slice.data, text, slice.len) == 0;
}

/* The value of a key is this text, or absent if it is NULL. */
static inline void check_value(const skein_keyspace *keyspace, const char *key, const char *expected) {
    char *value;
    size_t len;
    skein_status status = skein_get(keyspace, key, strlen(key), &value, &len);
    if (expected == NULL) {
        IS(SKEIN_NOT_FOUND, status);
        TRUE(value == NULL && len == 0);
        return;
    }
    IS(SKEIN_OK, status);
    TRUE(len == strlen(expected) && strcmp(value, expected) == 0);
    skein_free(value);
}

static inline void check_put(const skein_keyspace *keyspace, const char *key, const char *value) {
    OK(skein_put(keyspace, key, strlen(key), value, strlen(value)));
}

static inline int check_remove(const char *path, const struct stat *stat, int kind, struct FTW *where) {
    (void)stat, (void)kind, (void)where;
    return remove(path);
}

static char check_folder[256];

static inline void check_clean_up(void) { nftw(check_folder, check_remove, 16, FTW_DEPTH | FTW_PHYS); }

/* A path in a folder that exists until the program ends. Each call has another name. */
static inline const char *check_path(const char *name) {
    static char path[320];
    if (check_folder[0] == 0) {
        const char *temporary = getenv("TMPDIR");
        snprintf(check_folder, sizeof check_folder, "%s/skein-c-XXXXXX", temporary ? temporary : "/tmp");
        TRUE(mkdtemp(check_folder) != NULL);
        atexit(check_clean_up);
    }
    snprintf(path, sizeof path, "%s/%s", check_folder, name);
    return path;
}

#endif
