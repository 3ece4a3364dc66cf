#include <inttypes.h>
#include <skeindb.h>
#include <stdio.h>

static int show(const skein_progress *done, void *most) {
    fprintf(stderr, "%" PRIu64 " rows\n", done->rows);
    return done->rows > *(uint64_t *)most; /* Another number than 0 cancels it. */
}

int main(void) {
    skein_db *db;
    uint64_t most = 1000000;
    char **damages;
    if (skein_open("geese-data", NULL, &db) < 0) return 1;
    if (skein_backup(db, "geese-copy", show, &most, NULL) < 0) fprintf(stderr, "%s\n", skein_error_message());
    if (skein_verify("geese-copy", NULL, &damages) == SKEIN_OK) puts("sound");
    skein_free(damages);
    return skein_close(db) < 0;
}
