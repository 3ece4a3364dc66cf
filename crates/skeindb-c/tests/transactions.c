/* Transactions: conflicts, phantoms, savepoints, repetition under several threads. */

#include <pthread.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 50 };

static skein_db *db;
static skein_keyspace *accounts;

static skein_txn *begin(void) {
    skein_txn *txn;
    OK(skein_txn_begin(db, &txn));
    return txn;
}

static void private_writes(void) {
    skein_txn *txn = begin();
    char *value;
    OK(skein_txn_put(txn, accounts, LIT("ada"), LIT("10")));
    OK(skein_txn_get(txn, accounts, LIT("ada"), &value, NULL));
    TRUE(strcmp(value, "10") == 0);
    skein_free(value);
    OK(skein_txn_contains(txn, accounts, LIT("ada")));
    check_value(accounts, "ada", NULL);
    OK(skein_txn_set_durability(txn, SKEIN_DURABILITY_SYNC));
    OK(skein_txn_commit(txn));
    check_value(accounts, "ada", "10");
    IS(SKEIN_TXN_ENDED, skein_txn_commit(txn));
    IS(SKEIN_TXN_ENDED, skein_txn_rollback(txn));
    IS(SKEIN_TXN_ENDED, skein_txn_put(txn, accounts, LIT("ada"), LIT("11")));
    IS(SKEIN_TXN_ENDED, skein_txn_get(txn, accounts, LIT("ada"), &value, NULL));
    skein_txn_free(txn);

    txn = begin();
    OK(skein_txn_delete(txn, accounts, LIT("ada")));
    IS(SKEIN_NOT_FOUND, skein_txn_contains(txn, accounts, LIT("ada")));
    skein_txn_free(txn); /* Without a commit it leaves nothing. */
    check_value(accounts, "ada", "10");
    txn = begin();
    OK(skein_txn_put_until(txn, accounts, LIT("bob"), LIT("1"), 4102444800000));
    OK(skein_txn_rollback(txn));
    check_value(accounts, "bob", NULL);
    skein_txn_free(txn);
}

static void conflicts(void) {
    int64_t sum;
    skein_txn *txn = begin();
    OK(skein_txn_increment(txn, accounts, LIT("ada"), 1, &sum));
    TRUE(sum == 11);
    check_put(accounts, "ada", "20");
    IS(SKEIN_CONFLICT, skein_txn_commit(txn));
    TRUE(strstr(skein_error_message(), "begin it again") != NULL);
    check_value(accounts, "ada", "20");
    IS(SKEIN_TXN_ENDED, skein_txn_commit(txn));
    skein_txn_free(txn);

    /* A phantom: another key comes into a range that was read, and was empty. */
    skein_cursor *cursor;
    txn = begin();
    OK(skein_txn_cursor(txn, accounts, &cursor));
    OK(skein_cursor_set_prefix(cursor, LIT("room/")));
    IS(SKEIN_NOT_FOUND, skein_cursor_next(cursor));
    OK(skein_txn_put(txn, accounts, LIT("room/1"), LIT("ada")));
    check_put(accounts, "room/2", "bob");
    IS(SKEIN_CONFLICT, skein_txn_commit(txn));
    skein_txn_free(txn);
    skein_cursor_free(cursor);
}

static void savepoints(void) {
    uint64_t first, second, foreign;
    skein_txn *txn = begin(), *other = begin();
    OK(skein_txn_savepoint(other, &foreign));
    OK(skein_txn_put(txn, accounts, LIT("s1"), LIT("x")));
    OK(skein_txn_savepoint(txn, &first));
    OK(skein_txn_put(txn, accounts, LIT("s2"), LIT("x")));
    OK(skein_txn_savepoint(txn, &second));
    OK(skein_txn_put(txn, accounts, LIT("s3"), LIT("x")));
    OK(skein_txn_rollback_to(txn, second));
    OK(skein_txn_contains(txn, accounts, LIT("s2")));
    OK(skein_txn_rollback_to(txn, first));
    IS(SKEIN_SAVEPOINT_GONE, skein_txn_rollback_to(txn, second));
    IS(SKEIN_FOREIGN, skein_txn_rollback_to(txn, foreign));
    IS(SKEIN_FOREIGN, skein_txn_rollback_to(txn, 0));
    OK(skein_txn_commit(txn));
    IS(SKEIN_TXN_ENDED, skein_txn_savepoint(txn, &first));
    IS(SKEIN_TXN_ENDED, skein_txn_rollback_to(txn, 0));
    check_value(accounts, "s1", "x");
    check_value(accounts, "s2", NULL);
    check_value(accounts, "s3", NULL);
    skein_txn_free(txn);
    skein_txn_free(other);
}

static int pay(const skein_txn *txn, void *context) {
    int *calls = context;
    int64_t left;
    ++*calls;
    skein_status status = skein_txn_increment(txn, accounts, LIT("from"), -1, &left);
    if (status < 0) return status;
    if (left < 0) return 7;
    return skein_txn_increment(txn, accounts, LIT("to"), 1, NULL);
}

static int misbehave(const skein_txn *txn, void *context) {
    (void)context;
    OK(skein_txn_put(txn, accounts, LIT("misbehaved"), LIT("x")));
    IS(SKEIN_MISUSE, skein_txn_commit(txn));
    IS(SKEIN_MISUSE, skein_txn_rollback(txn));
    skein_txn_free((skein_txn *)txn);
    OK(skein_txn_contains(txn, accounts, LIT("misbehaved")));
    return SKEIN_OK;
}

static int fail(const skein_txn *txn, void *context) {
    OK(skein_txn_put(txn, accounts, LIT("failed"), LIT("x")));
    check_put(accounts, "goose", "honk");
    (void)context;
    return skein_txn_increment(txn, accounts, LIT("goose"), 1, NULL);
}

static int conflict(const skein_txn *txn, void *context) {
    int *calls = context;
    OK(skein_txn_put(txn, accounts, LIT("conflict"), LIT("x")));
    ++*calls;
    return SKEIN_CONFLICT;
}

static void bodies(void) {
    int calls = 0;
    check_put(accounts, "from", "2");
    OK(skein_transaction(db, pay, &calls));
    OK(skein_transaction(db, pay, &calls));
    IS(SKEIN_ABORTED, skein_transaction(db, pay, &calls));
    TRUE(calls == 3);
    check_value(accounts, "from", "0");
    check_value(accounts, "to", "2");
    OK(skein_transaction(db, misbehave, NULL));
    check_value(accounts, "misbehaved", "x");
    /* The status and the text of the call that failed in the body. */
    IS(SKEIN_NOT_AN_INTEGER, skein_transaction(db, fail, NULL));
    TRUE(strstr(skein_error_message(), "integer") != NULL);
    check_value(accounts, "failed", NULL);
    calls = 0;
    /* A conflict of another transaction ends this one. */
    IS(SKEIN_CONFLICT, skein_transaction(db, conflict, &calls));
    TRUE(calls == 1);
    check_value(accounts, "conflict", NULL);
}

/* Reads of the time, and what keeps it: the same at once and in a transaction. */
static void expiry(void) {
    const uint64_t far = 4102444800000;
    uint64_t time = 1;
    IS(SKEIN_NOT_FOUND, skein_expiry(accounts, LIT("hits"), &time));
    TRUE(time == 0);
    IS(SKEIN_NOT_FOUND, skein_expire_at(accounts, LIT("hits"), far));
    IS(SKEIN_NOT_FOUND, skein_persist(accounts, LIT("hits")));
    IS(SKEIN_MISUSE, skein_expiry(accounts, LIT("hits"), NULL));
    OK(skein_put_until(accounts, LIT("hits"), LIT("1"), far));
    OK(skein_increment(accounts, LIT("hits"), 1, NULL));
    OK(skein_expiry(accounts, LIT("hits"), &time));
    TRUE(time == far);
    skein_txn *txn = begin();
    OK(skein_txn_increment(txn, accounts, LIT("hits"), 1, NULL));
    OK(skein_txn_expiry(txn, accounts, LIT("hits"), &time));
    TRUE(time == far);
    OK(skein_txn_expire_at(txn, accounts, LIT("hits"), far + 1));
    IS(SKEIN_NOT_FOUND, skein_txn_expiry(txn, accounts, LIT("none"), &time));
    IS(SKEIN_NOT_FOUND, skein_txn_expire_at(txn, accounts, LIT("none"), far));
    IS(SKEIN_NOT_FOUND, skein_txn_persist(txn, accounts, LIT("none")));
    OK(skein_txn_commit(txn));
    skein_txn_free(txn);
    OK(skein_expiry(accounts, LIT("hits"), &time));
    TRUE(time == far + 1);
    check_value(accounts, "hits", "3");
    skein_snapshot *snapshot;
    OK(skein_snapshot_new(db, &snapshot));
    txn = begin();
    OK(skein_txn_persist(txn, accounts, LIT("hits")));
    OK(skein_txn_commit(txn));
    skein_txn_free(txn);
    OK(skein_expiry(accounts, LIT("hits"), &time));
    TRUE(time == 0);
    OK(skein_snapshot_expiry(snapshot, accounts, LIT("hits"), &time));
    TRUE(time == far + 1);
    skein_snapshot_free(snapshot);
    OK(skein_expire_at(accounts, LIT("hits"), far));
    OK(skein_persist(accounts, LIT("hits")));
    OK(skein_expire_at(accounts, LIT("hits"), 1));
    IS(SKEIN_NOT_FOUND, skein_expiry(accounts, LIT("hits"), &time));
}

static int beside(const skein_txn *txn, void *context) {
    int *calls = context;
    ++*calls;
    IS(SKEIN_MISUSE, skein_put(accounts, LIT("beside"), LIT("x")));
    TRUE(strstr(skein_error_message(), "exclusive") != NULL);
    IS(SKEIN_MISUSE, skein_transaction_exclusive(db, beside, context));
    return skein_txn_increment(txn, accounts, LIT("alone"), 1, NULL);
}

static void *add_one(void *context) {
    (void)context;
    OK(skein_increment(accounts, LIT("alone"), 1, NULL));
    return NULL;
}

/* Writers wait for an exclusive transaction, so it cannot conflict. */
static void exclusive(void) {
    int calls = 0;
    pthread_t writer;
    skein_txn *txn;
    OK(skein_transaction_exclusive(db, beside, &calls));
    TRUE(calls == 1);
    check_value(accounts, "alone", "1");
    OK(skein_txn_begin_exclusive(db, &txn));
    OK(skein_txn_increment(txn, accounts, LIT("alone"), 1, NULL));
    TRUE(pthread_create(&writer, NULL, add_one, NULL) == 0);
    check_value(accounts, "alone", "1");
    OK(skein_txn_commit(txn));
    skein_txn_free(txn);
    TRUE(pthread_join(writer, NULL) == 0);
    check_value(accounts, "alone", "3");
    OK(skein_txn_begin_exclusive(db, &txn));
    skein_txn_free(txn); /* Without a commit it lets the others go on. */
    IS(SKEIN_ABORTED, skein_transaction_exclusive(db, pay, &calls));
    OK(skein_increment(accounts, LIT("alone"), 1, NULL));
}

static void *pay_often(void *context) {
    (void)context;
    int calls;
    for (int round = 0; round < ROUNDS; round++) OK(skein_transaction(db, pay, &calls));
    return NULL;
}

/* Many threads over one handle, without a lost update. */
static void threads(void) {
    pthread_t all[THREADS];
    char expected[16];
    snprintf(expected, sizeof expected, "%d", THREADS * ROUNDS);
    check_put(accounts, "from", expected);
    check_put(accounts, "to", "0");
    for (int n = 0; n < THREADS; n++) TRUE(pthread_create(&all[n], NULL, pay_often, NULL) == 0);
    for (int n = 0; n < THREADS; n++) TRUE(pthread_join(all[n], NULL) == 0);
    check_value(accounts, "from", "0");
    check_value(accounts, "to", expected);
}

static void *use_one(void *context) {
    const skein_txn *txn = context;
    char key[32];
    for (int round = 0; round < ROUNDS; round++) {
        int len = snprintf(key, sizeof key, "one/%d", round);
        OK(skein_txn_put(txn, accounts, key, (size_t)len, LIT("x")));
        OK(skein_txn_contains(txn, accounts, key, (size_t)len));
    }
    return NULL;
}

/* Threads over one transaction take turns. */
static void one_transaction(void) {
    pthread_t all[THREADS];
    uint64_t count;
    skein_txn *txn = begin();
    for (int n = 0; n < THREADS; n++) TRUE(pthread_create(&all[n], NULL, use_one, txn) == 0);
    for (int n = 0; n < THREADS; n++) TRUE(pthread_join(all[n], NULL) == 0);
    OK(skein_txn_commit(txn));
    skein_txn_free(txn);
    OK(skein_count(accounts, &(skein_slice){LIT("one/")}, &(skein_slice){LIT("one0")}, &count));
    TRUE(count == ROUNDS);
}

int main(void) {
    for (uint32_t engine = SKEIN_ENGINE_MEMORY; engine <= SKEIN_ENGINE_DISK; engine++) {
        skein_options options = {.size = sizeof options, .engine = engine};
        OK(skein_open(check_path(engine == SKEIN_ENGINE_DISK ? "disk" : "memory"), &options, &db));
        OK(skein_keyspace_open(db, "accounts", &accounts));
        private_writes();
        conflicts();
        savepoints();
        bodies();
        expiry();
        exclusive();
        threads();
        one_transaction();
        skein_keyspace_free(accounts);
        OK(skein_close(db));
    }
    return 0;
}
