/* Backups, restores and checks of folders, over both engines. */

#include "check.h"

/* What a progress function hears, and when it cancels. */
struct heard {
    skein_db *db;
    int calls;
    int cancels;
    uint64_t rows;
};

static int hear(const skein_progress *done, void *context) {
    struct heard *heard = context;
    TRUE(done->size == sizeof *done && done->rows >= heard->rows);
    heard->rows = done->rows;
    heard->calls++;
    /* It may use the database. */
    if (heard->db) {
        skein_keyspace *geese;
        OK(skein_keyspace_open(heard->db, "geese", &geese));
        check_put(geese, "meanwhile", "v");
        skein_keyspace_free(geese);
    }
    return heard->cancels;
}

/* The result of check_path is overwritten by the next call. */
static const char *path(char *copy, const char *engine, const char *name) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s-%s", engine, name);
    return strcpy(copy, check_path(whole));
}

static int is_there(const char *path) { return access(path, F_OK) == 0; }

static void fill(const skein_db *db) {
    skein_keyspace *geese;
    skein_batch *batch;
    char key[16];
    OK(skein_keyspace_open(db, "geese", &geese));
    OK(skein_batch_new(&batch));
    for (int number = 0; number < 5000; number++) {
        snprintf(key, sizeof key, "%06d", number);
        OK(skein_batch_put(batch, geese, key, 6, LIT("a value of a goose")));
    }
    OK(skein_batch_apply(db, batch));
    skein_batch_free(batch);
    skein_keyspace_free(geese);
}

static void is_whole(const char *folder) {
    skein_db *db;
    skein_keyspace *geese;
    uint64_t count;
    OK(skein_open(folder, NULL, &db));
    OK(skein_keyspace_find(db, "geese", &geese));
    OK(skein_count(geese, NULL, &(skein_slice){"meanwhile", 9}, &count));
    TRUE(count == 5000);
    check_value(geese, "meanwhile", NULL);
    skein_keyspace_free(geese);
    OK(skein_close(db));
}

static void backs_up(skein_db *db, const char *copy, const char *other) {
    skein_backup_report report = {.size = sizeof report};
    struct heard heard = {.db = db};
    OK(skein_backup(db, copy, hear, &heard, &report));
    TRUE(heard.calls > 0 && report.rows >= 5000 && report.bytes > 5000 * 18 && report.size == sizeof report);
    TRUE(heard.rows <= report.rows);
    IS(SKEIN_BAD_FOLDER, skein_backup(db, copy, NULL, NULL, &report));
    TRUE(strstr(skein_error_message(), "not empty") != NULL && report.rows == 0 && report.took_us == 0);
    /* It is cancelled, and there is nothing. */
    heard = (struct heard){.cancels = 7};
    IS(SKEIN_CANCELED, skein_backup(db, other, hear, &heard, NULL));
    TRUE(heard.calls == 1 && !is_there(other));
    /* A report of a wrong size is refused before the copy. */
    report.size = 3;
    IS(SKEIN_MISUSE, skein_backup(db, other, NULL, NULL, &report));
    TRUE(!is_there(other));
    OK(skein_backup(db, other, NULL, NULL, NULL));
    IS(SKEIN_MISUSE, skein_backup(NULL, other, NULL, NULL, NULL));
    IS(SKEIN_MISUSE, skein_backup(db, NULL, NULL, NULL, NULL));
}

static void restores(const char *copy, const char *restored) {
    skein_backup_report report = {.size = sizeof report};
    struct heard heard = {.cancels = -1};
    IS(SKEIN_CANCELED, skein_restore(copy, restored, hear, &heard, &report));
    TRUE(heard.calls == 1 && !is_there(restored) && report.rows == 0);
    heard = (struct heard){.cancels = 0};
    OK(skein_restore(copy, restored, hear, &heard, &report));
    TRUE(heard.calls > 0 && report.bytes > 5000 * 18 && report.rows > 0);
    is_whole(restored);
    IS(SKEIN_BAD_FOLDER, skein_restore(copy, restored, NULL, NULL, NULL));
    IS(SKEIN_MISUSE, skein_restore(NULL, restored, NULL, NULL, NULL));
    IS(SKEIN_MISUSE, skein_restore(copy, NULL, NULL, NULL, NULL));
}

/* Overwrites bytes within a file of a folder. */
static void damage_one(const char *folder, const char *file) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s/%s", folder, file);
    FILE *opened = fopen(whole, "r+");
    TRUE(opened != NULL && fseek(opened, 9000, SEEK_SET) == 0);
    for (int number = 0; number < 20000; number++) fputc('x', opened);
    TRUE(fclose(opened) == 0);
}

static void verifies(const skein_db *db, const char *open, const char *copy, const char *restored, uint32_t engine) {
    skein_verify_report report = {.size = sizeof report};
    char **damages;
    OK(skein_verify(copy, &report, &damages));
    TRUE(report.engine == engine && report.rows >= 5000 && report.bytes > 5000 * 18 && report.damages == 0);
    TRUE(damages != NULL && damages[0] == NULL);
    skein_free(damages);
    OK(skein_verify(copy, NULL, NULL));
    IS(SKEIN_LOCKED, skein_verify(open, &report, &damages));
    TRUE(damages == NULL && report.rows == 0 && db != NULL);
    IS(SKEIN_BAD_FOLDER, skein_verify(check_path("nothing"), &report, NULL));
    IS(SKEIN_MISUSE, skein_verify(NULL, &report, NULL));
    if (engine != SKEIN_ENGINE_DISK) return;
    damage_one(restored, "data.skein");
    IS(SKEIN_DAMAGE_FOUND, skein_verify(restored, &report, &damages));
    TRUE(report.damages > 0 && strstr(damages[0], "data.skein") != NULL && damages[report.damages] == NULL);
    skein_free(damages);
    IS(SKEIN_DAMAGED, skein_restore(restored, check_path("of-damaged"), NULL, NULL, NULL));
}

static void all(const char *name, uint32_t engine) {
    skein_options options = {.size = sizeof options, .engine = engine};
    char open[320], copy[320], other[320], restored[320];
    skein_db *db;
    path(open, name, "open"), path(copy, name, "copy"), path(other, name, "other");
    path(restored, name, "restored");
    OK(skein_open(open, &options, &db));
    fill(db);
    backs_up(db, copy, other);
    is_whole(copy);
    restores(copy, restored);
    verifies(db, open, copy, restored, engine);
    OK(skein_close(db));
}

/* The limit of snapshots, and of the memory that is kept for them. */
static void snapshot_options(void) {
    skein_options options = {.size = sizeof options, .max_snapshots = 1, .max_snapshot_memory = 100000};
    skein_db *db;
    skein_keyspace *geese;
    skein_snapshot *snapshot, *second;
    static char long_value[60000];
    char *value;
    OK(skein_open_in_memory(&options, &db));
    OK(skein_keyspace_open(db, "geese", &geese));
    OK(skein_put(geese, LIT("a"), long_value, sizeof long_value));
    OK(skein_put(geese, LIT("b"), long_value, sizeof long_value));
    OK(skein_snapshot_new(db, &snapshot));
    IS(SKEIN_TOO_MANY_SNAPSHOTS, skein_snapshot_new(db, &second));
    TRUE(strstr(skein_error_message(), "raise `max_snapshots`") != NULL);
    check_put(geese, "a", "");
    OK(skein_snapshot_get(snapshot, geese, LIT("a"), &value, NULL));
    skein_free(value);
    check_put(geese, "b", "");
    IS(SKEIN_SNAPSHOT_ENDED, skein_snapshot_get(snapshot, geese, LIT("a"), &value, NULL));
    TRUE(strstr(skein_error_message(), "raise `max_snapshot_memory`") != NULL);
    skein_snapshot_free(snapshot);
    skein_keyspace_free(geese);
    OK(skein_close(db));
}

int main(void) {
    all("memory", SKEIN_ENGINE_MEMORY);
    all("disk", SKEIN_ENGINE_DISK);
    snapshot_options();
    return 0;
}
