/* Cursors over a keyspace, a snapshot and a transaction: both ways, ranges, turns, writes between. */

#include "check.h"

enum { ROWS = 1500 };

#define ON(expected, cursor) TRUE(check_slice_is(skein_cursor_key(cursor), expected))

static void number(char key[8], int n) { snprintf(key, 8, "k%05d", n); }

static void steps(const skein_cursor *cursor) {
    char key[8];
    TRUE(skein_cursor_key(cursor).data == NULL && skein_cursor_value(cursor).data == NULL);
    for (int n = 0; n < ROWS; n++) {
        OK(skein_cursor_next(cursor));
        number(key, n);
        ON(key, cursor);
        TRUE(check_slice_is(skein_cursor_value(cursor), key + 1));
    }
    for (int twice = 0; twice < 2; twice++) IS(SKEIN_NOT_FOUND, skein_cursor_next(cursor));
    TRUE(skein_cursor_key(cursor).data == NULL);
    for (int n = ROWS - 1; n >= 0; n--) {
        OK(skein_cursor_prev(cursor));
        number(key, n);
        ON(key, cursor);
    }
    for (int twice = 0; twice < 2; twice++) IS(SKEIN_NOT_FOUND, skein_cursor_prev(cursor));
    OK(skein_cursor_next(cursor));
    ON("k00000", cursor);
}

static void turns(const skein_cursor *cursor) {
    OK(skein_cursor_seek(cursor, LIT("k00100")));
    ON("k00100", cursor);
    OK(skein_cursor_prev(cursor));
    ON("k00099", cursor);
    OK(skein_cursor_next(cursor));
    OK(skein_cursor_next(cursor));
    ON("k00101", cursor);
    OK(skein_cursor_seek(cursor, LIT("k00100x")));
    ON("k00101", cursor);
    OK(skein_cursor_seek(cursor, NULL, 0));
    ON("k00000", cursor);
    IS(SKEIN_NOT_FOUND, skein_cursor_seek(cursor, LIT("l")));
    OK(skein_cursor_prev(cursor));
    ON("k01499", cursor);
    OK(skein_cursor_seek_last(cursor));
    ON("k01499", cursor);
    IS(SKEIN_NOT_FOUND, skein_cursor_next(cursor));
}

static void ranges(const skein_cursor *cursor) {
    skein_slice from = {LIT("k00010")}, to = {LIT("k00013")};
    int rows = 0;
    OK(skein_cursor_set_range(cursor, &from, &to));
    TRUE(skein_cursor_key(cursor).data == NULL);
    while (skein_cursor_next(cursor) == SKEIN_OK) rows++;
    TRUE(rows == 3);
    OK(skein_cursor_seek(cursor, LIT("a")));
    ON("k00010", cursor);
    IS(SKEIN_NOT_FOUND, skein_cursor_prev(cursor));
    OK(skein_cursor_seek_last(cursor));
    ON("k00012", cursor);
    IS(SKEIN_NOT_FOUND, skein_cursor_seek(cursor, LIT("k00013")));
    OK(skein_cursor_set_range(cursor, NULL, &to));
    OK(skein_cursor_prev(cursor));
    ON("k00012", cursor);
    /* A range that is upside down is empty. */
    OK(skein_cursor_set_range(cursor, &to, &from));
    IS(SKEIN_NOT_FOUND, skein_cursor_next(cursor));
    IS(SKEIN_NOT_FOUND, skein_cursor_prev(cursor));
    IS(SKEIN_NOT_FOUND, skein_cursor_seek_last(cursor));
    IS(SKEIN_NOT_FOUND, skein_cursor_seek(cursor, LIT("k00011")));
    OK(skein_cursor_set_prefix(cursor, LIT("k0012")));
    for (rows = 0; skein_cursor_next(cursor) == SKEIN_OK;) rows++;
    TRUE(rows == 10);
    OK(skein_cursor_set_range(cursor, NULL, NULL));
}

static void all(const skein_cursor *cursor) {
    steps(cursor);
    turns(cursor);
    ranges(cursor);
}

static void own_writes(const skein_txn *txn, const skein_keyspace *keyspace) {
    skein_cursor *cursor;
    int rows = 0;
    OK(skein_txn_cursor(txn, keyspace, &cursor));
    OK(skein_cursor_next(cursor));
    /* The rows ahead were read before these writes, and show them nevertheless. */
    OK(skein_txn_delete(txn, keyspace, LIT("k00001")));
    OK(skein_txn_put(txn, keyspace, LIT("k00001a"), LIT("new")));
    OK(skein_cursor_next(cursor));
    ON("k00001a", cursor);
    TRUE(check_slice_is(skein_cursor_value(cursor), "new"));
    /* Each row that it stands on is deleted. */
    OK(skein_cursor_set_prefix(cursor, LIT("k001")));
    while (skein_cursor_next(cursor) == SKEIN_OK) {
        skein_slice key = skein_cursor_key(cursor);
        OK(skein_txn_delete(txn, keyspace, key.data, key.len));
        rows++;
    }
    TRUE(rows == 100);
    IS(SKEIN_NOT_FOUND, skein_cursor_seek_last(cursor));
    skein_cursor_free(cursor);
}

static void over(uint32_t engine) {
    skein_options options = {.size = sizeof options, .engine = engine};
    skein_db *db;
    skein_keyspace *keyspace;
    skein_cursor *cursor;
    skein_snapshot *snapshot;
    skein_txn *txn;
    char key[8];
    OK(skein_open(check_path(engine == SKEIN_ENGINE_DISK ? "disk" : "memory"), &options, &db));
    OK(skein_keyspace_open(db, "numbers", &keyspace));
    skein_batch *batch;
    OK(skein_batch_new(&batch));
    for (int n = 0; n < ROWS; n++) {
        number(key, n);
        OK(skein_batch_put(batch, keyspace, key, 6, key + 1, 5));
    }
    OK(skein_batch_apply(db, batch));
    skein_batch_free(batch);

    OK(skein_cursor_open(keyspace, &cursor));
    all(cursor);
    skein_cursor_free(cursor);

    OK(skein_snapshot_new(db, &snapshot));
    OK(skein_txn_begin(db, &txn));
    OK(skein_txn_cursor(txn, keyspace, &cursor));
    all(cursor);
    own_writes(txn, keyspace);
    OK(skein_txn_commit(txn));
    IS(SKEIN_TXN_ENDED, skein_cursor_next(cursor));
    skein_cursor_free(cursor);
    skein_txn_free(txn);

    /* The snapshot shows what the transaction deleted. A cursor outlives its snapshot. */
    char *value;
    check_value(keyspace, "k00100", NULL);
    OK(skein_snapshot_get(snapshot, keyspace, LIT("k00100"), &value, NULL));
    TRUE(strcmp(value, "00100") == 0);
    skein_free(value);
    OK(skein_snapshot_contains(snapshot, keyspace, LIT("k00100")));
    IS(SKEIN_NOT_FOUND, skein_snapshot_contains(snapshot, keyspace, LIT("k00001a")));
    OK(skein_snapshot_cursor(snapshot, keyspace, &cursor));
    skein_snapshot_free(snapshot);
    all(cursor);
    skein_cursor_free(cursor);
    skein_keyspace_free(keyspace);
    OK(skein_close(db));
}

int main(void) {
    over(SKEIN_ENGINE_MEMORY);
    over(SKEIN_ENGINE_DISK);
    return 0;
}
