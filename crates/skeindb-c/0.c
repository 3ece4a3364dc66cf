#include <skeindb.h>
#include <stdio.h>

int main(void) {
    skein_db *db;
    skein_keyspace *geese;
    char *latin;
    if (skein_open("geese-data", NULL, &db) || skein_keyspace_open(db, "geese", &geese)) {
        fprintf(stderr, "%s\n", skein_error_message());
        return 1;
    }
    skein_put(geese, "grey", 4, "Anser anser", 11);
    if (skein_get(geese, "grey", 4, &latin, NULL) == SKEIN_OK) puts(latin);
    skein_free(latin);
    skein_keyspace_free(geese);
    return skein_close(db) < 0;
}
