// The C++ wrapper: values, ranges, transactions, exceptions, lifetimes.

#include <skeindb.hpp>

#include <thread>

#include "check.h"

// The expression throws skein::Error with this status.
#define THROWS(expected, expression)                                                         \
    do {                                                                                     \
        skein_status thrown = SKEIN_OK;                                                      \
        try {                                                                                \
            static_cast<void>(expression);                                                   \
        } catch (const skein::Error &error) {                                                \
            thrown = error.status();                                                         \
            TRUE(*error.what() != 0);                                                        \
        }                                                                                    \
        IS(expected, thrown);                                                                \
    } while (0)

static std::string keys_of(skein::Cursor &&cursor) {
    std::string keys;
    for (auto [key, value] : cursor) keys.append(key).append("=").append(value).append(" ");
    return keys;
}

static void rows(skein::Db &db) {
    auto geese = db.keyspace("geese");
    TRUE(geese.name() == "geese" && db.keyspaces() == std::vector<std::string>{"geese"});
    geese.put("grey", "Anser anser");
    geese.put("", std::string_view("\0x", 2));
    TRUE(geese.get("grey") == "Anser anser");
    TRUE(geese.get("")->size() == 2);
    auto many = geese.get_many({"snow", "grey", ""});
    TRUE(many.size() == 3 && !many[0] && many[1] == "Anser anser" && many[2]->size() == 2);
    TRUE(geese.get_many({}).empty());
    TRUE(!geese.get("snow") && geese.contains("grey"));
    TRUE(geese.erase("") && !geese.erase(""));
    TRUE(geese.increment("count") == 1 && geese.increment("count", 9) == 10);
    TRUE(geese.compare_and_swap("cas", std::nullopt, "1"));
    TRUE(!geese.compare_and_swap("cas", std::nullopt, "2"));
    TRUE(geese.compare_and_swap("cas", "1", std::nullopt) && !geese.contains("cas"));
    geese.put_until("old", "x", 1000);
    TRUE(!geese.contains("old"));
    geese.erase("count");

    skein::Batch batch;
    batch.put(geese, "bean", "Anser fabalis").put(geese, "snow", "white").erase(geese, "grey");
    TRUE(batch.size() == 3);
    auto before = db.snapshot();
    db.apply(batch);
    batch.clear();
    TRUE(before.get(geese, "grey") == "Anser anser" && !before.contains(geese, "snow"));
    TRUE(keys_of(before.cursor(geese)) == "grey=Anser anser ");
    TRUE(keys_of(geese.cursor()) == "bean=Anser fabalis snow=white ");
    TRUE(keys_of(geese.cursor().range("c", std::nullopt)) == "snow=white ");
    TRUE(keys_of(geese.cursor().prefix("be")) == "bean=Anser fabalis ");
    TRUE(keys_of(geese.cursor().prefix("x")).empty());
    std::string found;
    for (auto row : geese.cursor().prefix("b")) found += row.key;
    TRUE(found == "bean");
    auto cursor = geese.cursor();
    TRUE(cursor.seek("c") && cursor.key() == "snow" && cursor.prev() && cursor.key() == "bean" && !cursor.prev());
    TRUE(cursor.key().data() == nullptr && cursor.seek_last() && cursor.value() == "white");
    TRUE(geese.count() == 2 && geese.count("c") == 1 && geese.erase_range({}, "c") == 1);
    THROWS(SKEIN_NOT_AN_INTEGER, geese.increment("snow"));
}

static void transactions(skein::Db &db) {
    auto geese = db.keyspace("geese");
    int calls = 0;
    db.transaction([&](skein::Transaction &tx) {
        tx.put(geese, "tx", "1");
        TRUE(tx.get(geese, "tx") == "1" && tx.increment(geese, "tx") == 2);
        auto savepoint = tx.savepoint();
        TRUE(tx.erase(geese, "tx") && !tx.contains(geese, "tx"));
        tx.rollback_to(savepoint);
        TRUE(keys_of(std::move(tx.cursor(geese).prefix("tx"))) == "tx=2 ");
        // Another write comes in between, once.
        if (++calls == 1) std::thread([&] { geese.put("tx", "9"); }).join();
    });
    TRUE(calls == 2 && geese.get("tx") == "2");

    // The body's own exception goes through, and nothing is written.
    std::string caught;
    try {
        db.transaction([&](skein::Transaction &tx) {
            tx.erase(geese, "tx");
            throw std::runtime_error("changed my mind");
        });
    } catch (const std::runtime_error &error) {
        caught = error.what();
    }
    TRUE(caught == "changed my mind" && geese.contains("tx"));
    THROWS(SKEIN_NOT_AN_INTEGER, db.transaction([&](skein::Transaction &tx) { tx.increment(geese, "snow"); }));

    db.transaction_exclusive([&](skein::Transaction &tx) {
        tx.put(geese, "timed", "1");
        tx.expire_at(geese, "timed", 4102444800000);
        TRUE(tx.expiry(geese, "timed") == 4102444800000 && !tx.persist(geese, "none"));
    });
    TRUE(geese.expiry("timed") == 4102444800000 && db.snapshot().expiry(geese, "timed") == 4102444800000);
    TRUE(geese.persist("timed") && geese.expiry("timed") == 0u && !geese.expiry("none"));
    TRUE(geese.expire_at("timed", 1) && !geese.contains("timed"));
    { auto alone = db.begin_exclusive(); }
    auto tx = db.begin();
    tx.put(geese, "tx", "3");
    tx.set_durability(SKEIN_DURABILITY_SYNC);
    auto moved = std::move(tx);
    auto of_moved = moved.cursor(geese);
    moved.commit();
    TRUE(geese.get("tx") == "3");
    THROWS(SKEIN_TXN_ENDED, moved.commit());
    THROWS(SKEIN_TXN_ENDED, of_moved.next());
    {
        auto dropped = db.begin();
        dropped.put(geese, "tx", "4");
    }
    TRUE(geese.get("tx") == "3");
}

static void backups(const skein::Db &db) {
    const std::string copy = check_path("wrapper-copy"), restored = check_path("wrapper-restored");
    std::uint64_t told = 0;
    auto report = db.backup(copy, [&](const skein_progress &done) {
        told = done.rows;
        return true;
    });
    TRUE(report.rows > 0 && told > 0 && told <= report.rows);
    THROWS(SKEIN_BAD_FOLDER, db.backup(copy));
    TRUE(skein::Db::restore(copy, restored).rows > 0);
    auto found = skein::Db::verify(restored);
    TRUE(found.is_sound() && found.report.rows + found.report.log_records > 0);
    THROWS(SKEIN_LOCKED, skein::Db::verify(check_path("wrapper")));

    const std::string other = check_path("wrapper-other");
    THROWS(SKEIN_CANCELED, db.backup(other, [](const skein_progress &) { return false; }));
    std::string caught;
    try {
        skein::Db::restore(copy, other, [](const skein_progress &) -> bool { throw std::runtime_error("no"); });
    } catch (const std::runtime_error &error) {
        caught = error.what();
    }
    TRUE(caught == "no");
    THROWS(SKEIN_BAD_FOLDER, skein::Db::verify(other));
}

int main() {
    std::optional<skein::Cursor> survivor;
    {
        auto options = skein::options();
        options.engine = SKEIN_ENGINE_DISK;
        auto db = skein::Db::open(check_path("wrapper"), options);
        rows(db);
        transactions(db);
        backups(db);
        db.rename_keyspace("geese", "birds");
        auto ordinary = db.default_keyspace();
        ordinary.put("k", "v");
        db.flush();
        db.checkpoint();
        TRUE(db.stats().engine == SKEIN_ENGINE_DISK && db.stats().keys > 0);
        THROWS(SKEIN_LOCKED, skein::Db::open(check_path("wrapper")));
        survivor = db.keyspace("birds").cursor();
        TRUE(db.drop_keyspace("birds") && !db.drop_keyspace("birds"));
        THROWS(SKEIN_KEYSPACE_DROPPED, survivor->next());
        survivor = ordinary.cursor();
        db.close();
        THROWS(SKEIN_MISUSE, db.flush());
        THROWS(SKEIN_CLOSED, ordinary.get("k"));
    }
    THROWS(SKEIN_CLOSED, survivor->next());
    auto reopened = skein::Db::open(check_path("wrapper"));
    TRUE(reopened.default_keyspace().get("k") == "v" && reopened.keyspaces().empty());
    return 0;
}
