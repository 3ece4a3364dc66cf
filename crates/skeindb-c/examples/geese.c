/* The quick start: open a database, put, get, walk in order.
 *
 *   cc geese.c $(pkg-config --cflags --libs skeindb) -o geese && ./geese geese-data
 */

#include <skeindb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(skein_status status) {
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", skein_status_name(status), skein_error_message());
        exit(1);
    }
}

int main(int argc, char **argv) {
    skein_db *db;
    skein_keyspace *geese;
    check(skein_open(argc > 1 ? argv[1] : "geese-data", NULL, &db));
    check(skein_keyspace_open(db, "geese", &geese));

    check(skein_put(geese, "grey", 4, "Anser anser", 11));
    check(skein_put(geese, "bean", 4, "Anser fabalis", 13));
    check(skein_put(geese, "snow", 4, "Anser caerulescens", 18));

    char *latin;
    if (skein_get(geese, "grey", 4, &latin, NULL) == SKEIN_OK) {
        printf("the grey goose is %s\n", latin);
        skein_free(latin);
    }

    skein_cursor *cursor;
    skein_status status;
    check(skein_cursor_open(geese, &cursor));
    while ((status = skein_cursor_next(cursor)) == SKEIN_OK) {
        skein_slice key = skein_cursor_key(cursor), value = skein_cursor_value(cursor);
        printf("%.*s: %.*s\n", (int)key.len, key.data, (int)value.len, value.data);
    }
    check(status);

    skein_cursor_free(cursor);
    skein_keyspace_free(geese);
    check(skein_close(db));
    return 0;
}
