/* A secondary index: users by number, and their numbers by city. A transaction keeps both alike,
 * and a range over the index finds the users of a city.
 *
 *   cc index.c $(pkg-config --cflags --libs skeindb) -o index && ./index index-data
 */

#include <skeindb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tables {
    skein_keyspace *users;   /* number -> city */
    skein_keyspace *by_city; /* city/number -> nothing */
};

struct move {
    const struct tables *tables;
    const char *user, *city;
};

static void check(skein_status status) {
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", skein_status_name(status), skein_error_message());
        exit(1);
    }
}

/* Moves a user to a city. Runs again if another thread changed the user meanwhile. */
static int move_user(const skein_txn *txn, void *context) {
    const struct move *move = context;
    const struct tables *tables = move->tables;
    char entry[128], *old;
    size_t user_len = strlen(move->user);
    skein_status status = skein_txn_get(txn, tables->users, move->user, user_len, &old, NULL);
    if (status == SKEIN_OK) {
        int len = snprintf(entry, sizeof entry, "%s/%s", old, move->user);
        skein_free(old);
        status = skein_txn_delete(txn, tables->by_city, entry, (size_t)len);
    }
    if (status < 0) return status;
    status = skein_txn_put(txn, tables->users, move->user, user_len, move->city, strlen(move->city));
    if (status < 0) return status;
    int len = snprintf(entry, sizeof entry, "%s/%s", move->city, move->user);
    return skein_txn_put(txn, tables->by_city, entry, (size_t)len, NULL, 0);
}

static void move_to(const skein_db *db, const struct tables *tables, const char *user, const char *city) {
    struct move move = {tables, user, city};
    check(skein_transaction(db, move_user, &move));
}

static void print_users_of(const struct tables *tables, const char *city) {
    char prefix[64];
    int len = snprintf(prefix, sizeof prefix, "%s/", city);
    skein_cursor *cursor;
    skein_status status;
    check(skein_cursor_open(tables->by_city, &cursor));
    check(skein_cursor_set_prefix(cursor, prefix, (size_t)len));
    printf("%s:", city);
    while ((status = skein_cursor_next(cursor)) == SKEIN_OK) {
        skein_slice key = skein_cursor_key(cursor);
        printf(" %.*s", (int)key.len - len, key.data + len);
    }
    check(status);
    printf("\n");
    skein_cursor_free(cursor);
}

int main(int argc, char **argv) {
    skein_options options = {.size = sizeof options, .durability = SKEIN_DURABILITY_SYNC};
    skein_db *db;
    struct tables tables;
    check(skein_open(argc > 1 ? argv[1] : "index-data", &options, &db));
    check(skein_keyspace_open(db, "users", &tables.users));
    check(skein_keyspace_open(db, "by_city", &tables.by_city));

    move_to(db, &tables, "u1", "London");
    move_to(db, &tables, "u2", "London");
    move_to(db, &tables, "u3", "Paris");
    print_users_of(&tables, "London");
    move_to(db, &tables, "u1", "Paris");
    print_users_of(&tables, "London");
    print_users_of(&tables, "Paris");

    skein_keyspace_free(tables.users);
    skein_keyspace_free(tables.by_city);
    check(skein_close(db));
    return 0;
}
