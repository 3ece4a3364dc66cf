/* Rows, keyspaces, batches and options, over both engines and without a folder. */

#include "check.h"

static void rows(const skein_keyspace *geese) {
    check_put(geese, "grey", "Anser anser");
    check_value(geese, "grey", "Anser anser");
    check_value(geese, "snow", NULL);
    OK(skein_contains(geese, LIT("grey")));
    IS(SKEIN_NOT_FOUND, skein_contains(geese, LIT("snow")));
    OK(skein_delete(geese, LIT("grey")));
    IS(SKEIN_NOT_FOUND, skein_delete(geese, LIT("grey")));

    /* NULL with length 0 is the empty key and the empty value. */
    OK(skein_put(geese, NULL, 0, NULL, 0));
    check_value(geese, "", "");
    OK(skein_delete(geese, "", 0));

    /* Any bytes. The length counts, and not the NUL byte that follows. */
    char *value;
    size_t len;
    OK(skein_put(geese, "\0\xff", 2, "a\0b", 3));
    OK(skein_get(geese, "\0\xff", 2, &value, &len));
    TRUE(len == 3 && memcmp(value, "a\0b\0", 4) == 0);
    skein_free(value);
    OK(skein_delete(geese, "\0\xff", 2));

    /* Times in the past and in the future. */
    OK(skein_put_until(geese, LIT("old"), LIT("x"), 1000));
    check_value(geese, "old", NULL);
    OK(skein_put_until(geese, LIT("new"), LIT("x"), 4102444800000));
    check_value(geese, "new", "x");
    OK(skein_delete(geese, LIT("new")));
}

static void many_reads(const skein_keyspace *geese) {
    skein_slice keys[] = {{LIT("snow")}, {NULL, 0}, {LIT("grey")}, {LIT("grey")}, {"\0\xff", 2}};
    skein_slice *values;
    check_put(geese, "grey", "Anser anser");
    OK(skein_put(geese, "\0\xff", 2, NULL, 0));
    OK(skein_get_many(geese, keys, 5, &values));
    TRUE(values[0].data == NULL && values[0].len == 0 && values[1].data == NULL);
    /* A NUL byte follows each. */
    TRUE(values[2].len == 11 && strcmp(values[2].data, "Anser anser") == 0);
    TRUE(check_slice_is(values[3], "Anser anser") && values[3].data != values[2].data);
    TRUE(values[4].data != NULL && values[4].len == 0 && values[4].data[0] == 0);
    skein_free(values);
    OK(skein_get_many(geese, keys, 1, &values));
    TRUE(values[0].data == NULL);
    skein_free(values);
    OK(skein_get_many(geese, NULL, 0, &values));
    skein_free(values);
    OK(skein_delete(geese, LIT("grey")));
    OK(skein_delete(geese, "\0\xff", 2));
}

static void conditional_writes(const skein_keyspace *counts) {
    skein_slice one = {LIT("1")}, two = {LIT("2")};
    char *current;
    size_t len;
    OK(skein_compare_and_swap(counts, LIT("k"), NULL, &one, &current, &len));
    TRUE(current == NULL && len == 0);
    IS(SKEIN_SWAP_REFUSED, skein_compare_and_swap(counts, LIT("k"), &two, NULL, &current, &len));
    TRUE(len == 1 && strcmp(current, "1") == 0);
    skein_free(current);
    IS(SKEIN_SWAP_REFUSED, skein_compare_and_swap(counts, LIT("other"), &two, &one, &current, NULL));
    TRUE(current == NULL);
    OK(skein_compare_and_swap(counts, LIT("k"), &one, &two, NULL, NULL));
    check_value(counts, "k", "2");

    int64_t sum;
    OK(skein_increment(counts, LIT("k"), 40, &sum));
    TRUE(sum == 42);
    OK(skein_increment(counts, LIT("k"), -2, NULL));
    check_value(counts, "k", "40");
    check_put(counts, "k", "9223372036854775807");
    IS(SKEIN_OVERFLOW, skein_increment(counts, LIT("k"), 1, &sum));
    TRUE(sum == 0);
    check_put(counts, "k", "goose");
    IS(SKEIN_NOT_AN_INTEGER, skein_increment(counts, LIT("k"), 1, &sum));
    OK(skein_compare_and_swap(counts, LIT("k"), &(skein_slice){LIT("goose")}, NULL, NULL, NULL));
    check_value(counts, "k", NULL);
}

static void ranges(const skein_keyspace *letters) {
    for (char letter = 'a'; letter <= 'z'; letter++) OK(skein_put(letters, &letter, 1, NULL, 0));
    skein_slice from = {LIT("f")}, to = {LIT("i")};
    uint64_t count;
    OK(skein_count(letters, NULL, NULL, &count));
    TRUE(count == 26);
    OK(skein_count(letters, &from, &to, &count));
    TRUE(count == 3);
    OK(skein_count(letters, &to, &from, &count));
    TRUE(count == 0);
    OK(skein_delete_range(letters, &from, &to, &count));
    TRUE(count == 3);
    OK(skein_delete_range(letters, &to, &from, &count));
    TRUE(count == 0);
    OK(skein_delete_range(letters, NULL, NULL, NULL));
    OK(skein_count(letters, NULL, NULL, &count));
    TRUE(count == 0);
}

static void keyspaces(const skein_db *db) {
    skein_keyspace *swans, *other;
    char **names, *name;
    size_t count;
    IS(SKEIN_NOT_FOUND, skein_keyspace_find(db, "swans", &swans));
    TRUE(swans == NULL);
    OK(skein_keyspace_open(db, "swans", &swans));
    check_put(swans, "mute", "Cygnus olor");
    OK(skein_keyspace_rename(db, "swans", "cygni"));
    OK(skein_keyspace_name(swans, &name, &count));
    TRUE(count == 5 && strcmp(name, "cygni") == 0);
    skein_free(name);
    IS(SKEIN_NO_KEYSPACE, skein_keyspace_rename(db, "swans", "x"));
    IS(SKEIN_KEYSPACE_EXISTS, skein_keyspace_rename(db, "cygni", "geese"));
    IS(SKEIN_BAD_NAME, skein_keyspace_open(db, "", &other));

    OK(skein_keyspace_list(db, &names, &count));
    TRUE(count == 2 && strcmp(names[0], "cygni") == 0 && strcmp(names[1], "geese") == 0 && names[2] == NULL);
    skein_free(names);

    OK(skein_keyspace_find(db, "cygni", &other));
    check_value(other, "mute", "Cygnus olor");
    OK(skein_keyspace_drop(db, "cygni"));
    IS(SKEIN_NOT_FOUND, skein_keyspace_drop(db, "cygni"));
    IS(SKEIN_KEYSPACE_DROPPED, skein_put(other, LIT("mute"), LIT("x")));
    TRUE(strstr(skein_error_message(), "cygni") != NULL);
    skein_keyspace_free(other);
    skein_keyspace_free(swans);
}

static void batches(const skein_db *db, const skein_keyspace *geese) {
    skein_keyspace *ordinary;
    skein_batch *batch;
    OK(skein_keyspace_default(db, &ordinary));
    OK(skein_batch_new(&batch));
    check_put(geese, "gone", "x");
    OK(skein_batch_put(batch, geese, LIT("bean"), LIT("Anser fabalis")));
    OK(skein_batch_put(batch, ordinary, LIT("bean"), LIT("a bean")));
    OK(skein_batch_put_until(batch, ordinary, LIT("short"), LIT("x"), 1000));
    OK(skein_batch_delete(batch, geese, LIT("gone")));
    TRUE(skein_batch_len(batch) == 4);
    check_value(geese, "bean", NULL);
    OK(skein_batch_apply(db, batch));
    check_value(geese, "bean", "Anser fabalis");
    check_value(geese, "gone", NULL);
    check_value(ordinary, "bean", "a bean");
    check_value(ordinary, "short", NULL);

    /* It stays, so it can be applied again. */
    OK(skein_delete(geese, LIT("bean")));
    OK(skein_batch_apply(db, batch));
    check_value(geese, "bean", "Anser fabalis");
    OK(skein_batch_clear(batch));
    TRUE(skein_batch_len(batch) == 0);
    OK(skein_batch_apply(db, batch));

    /* One write that cannot be done, so none is. */
    static char long_key[70000];
    OK(skein_batch_put(batch, geese, LIT("brent"), LIT("x")));
    OK(skein_batch_put(batch, geese, long_key, sizeof long_key, LIT("x")));
    IS(SKEIN_TOO_LONG, skein_batch_apply(db, batch));
    check_value(geese, "brent", NULL);
    IS(SKEIN_KEY_RESERVED, skein_put(ordinary, LIT("\xff\x53\x4b\x00"), LIT("x")));
    skein_batch_free(batch);
    skein_keyspace_free(ordinary);
}

static void numbers(const skein_db *db, uint32_t engine) {
    skein_db_stats stats = {.size = sizeof stats};
    OK(skein_stats(db, &stats));
    TRUE(stats.engine == engine && stats.keys > 0 && stats.memory_bytes > 0 && stats.writes_stopped == 0);
    TRUE((stats.file_bytes > 0) == (engine == SKEIN_ENGINE_DISK));
    /* A program of an older version knows fewer fields, and one of a newer version more. */
    skein_db_stats older = {.size = offsetof(skein_db_stats, memory_bytes), .memory_bytes = 7};
    OK(skein_stats(db, &older));
    TRUE(older.keys == stats.keys && older.memory_bytes == 7);
    struct {
        skein_db_stats known;
        uint64_t later;
    } newer = {.known = {.size = sizeof newer}, .later = 7};
    OK(skein_stats(db, &newer.known));
    TRUE(newer.known.keys == stats.keys && newer.later == 0 && newer.known.size == sizeof newer);
}

static void all(const skein_db *db, uint32_t engine) {
    skein_keyspace *geese;
    OK(skein_keyspace_open(db, "geese", &geese));
    rows(geese);
    many_reads(geese);
    conditional_writes(geese);
    ranges(geese);
    keyspaces(db);
    batches(db, geese);
    numbers(db, engine);
    OK(skein_flush(db));
    skein_keyspace_free(geese);
}

static void in_a_folder(const char *name, uint32_t engine) {
    skein_options options = {.size = sizeof options, .engine = engine, .durability = SKEIN_DURABILITY_SYNC};
    skein_db *db;
    skein_keyspace *geese;
    OK(skein_open(check_path(name), &options, &db));
    all(db, engine);
    OK(skein_checkpoint(db));
    OK(skein_close(db));

    /* Everything is there again, with the folder's own engine. */
    options.engine = SKEIN_ENGINE_DEFAULT;
    options.must_exist = 1;
    OK(skein_open(check_path(name), &options, &db));
    OK(skein_keyspace_find(db, "geese", &geese));
    check_value(geese, "bean", "Anser fabalis");
    numbers(db, engine);
    skein_keyspace_free(geese);
    OK(skein_close(db));
}

int main(void) {
    skein_db *db;
    TRUE(skein_version_number() == 1000000 * SKEIN_VERSION_MAJOR + 1000 * SKEIN_VERSION_MINOR + SKEIN_VERSION_PATCH);
    TRUE(strlen(skein_version()) >= 5);
    TRUE(strcmp(skein_status_name(SKEIN_CONFLICT), "SKEIN_CONFLICT") == 0);
    TRUE(strcmp(skein_status_name(12345), "SKEIN_?") == 0);
    in_a_folder("memory", SKEIN_ENGINE_MEMORY);
    in_a_folder("disk", SKEIN_ENGINE_DISK);
    OK(skein_open_in_memory(NULL, &db));
    all(db, SKEIN_ENGINE_MEMORY);
    OK(skein_close(db));
    /* The text is read after the fields. */
    skein_options options = {
        .size = sizeof options, .engine = SKEIN_ENGINE_MEMORY, .text = " engine=disk  durability=sync "};
    OK(skein_open(check_path("text"), &options, &db));
    all(db, SKEIN_ENGINE_DISK);
    OK(skein_close(db));
    return 0;
}
