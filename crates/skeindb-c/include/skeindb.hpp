/* SkeinDB for C++17: handles that free themselves, exceptions, string_view, range-for.
 *
 * Header-only, over skeindb.h. Link with -lskeindb. Every class is moved and not copied. A class may
 * be used from any thread, a Cursor from one at a time. Objects may be destroyed in any order.
 *
 * A call that fails throws skein::Error. "Not there" is no failure: it is an empty optional or false.
 */

#ifndef SKEINDB_HPP
#define SKEINDB_HPP

#include <skeindb.h>
#include <skeindb_detail.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace skein {

using Bound = std::optional<std::string_view>;

/* A row, valid until its cursor moves. */
struct Row {
    std::string_view key, value;
};

/* A place in a keyspace; see skein_cursor. `for (auto [key, value] : cursor)` visits the rows that
 * follow. */
class Cursor {
public:
    explicit Cursor(detail::Owned<skein_cursor> handle) : handle_(std::move(handle)) {}

    Cursor &range(Bound from, Bound to) & {
        detail::check(skein_cursor_set_range(get(), detail::Optional(from), detail::Optional(to)));
        return *this;
    }
    Cursor &prefix(std::string_view prefix) & {
        detail::check(skein_cursor_set_prefix(get(), prefix.data(), prefix.size()));
        return *this;
    }
    /* A temporary cursor is moved out, so that `for (auto row : geese.cursor().prefix("b"))` keeps it. */
    Cursor range(Bound from, Bound to) && { return std::move(range(from, to)); }
    Cursor prefix(std::string_view bytes) && { return std::move(prefix(bytes)); }

    /* Each returns whether the cursor stands on a row. */
    bool seek(std::string_view key) { return detail::check(skein_cursor_seek(get(), key.data(), key.size())); }
    bool seek_last() { return detail::check(skein_cursor_seek_last(get())); }
    bool next() { return detail::check(skein_cursor_next(get())); }
    bool prev() { return detail::check(skein_cursor_prev(get())); }

    std::string_view key() const noexcept { return view(skein_cursor_key(get())); }
    std::string_view value() const noexcept { return view(skein_cursor_value(get())); }

    class Iterator {
    public:
        using iterator_category = std::input_iterator_tag;
        using value_type = Row;
        using difference_type = std::ptrdiff_t;
        using pointer = const Row *;
        using reference = Row;

        explicit Iterator(Cursor *cursor) : cursor_(cursor) {}
        Row operator*() const { return {cursor_->key(), cursor_->value()}; }
        Iterator &operator++() {
            if (!cursor_->next()) cursor_ = nullptr;
            return *this;
        }
        void operator++(int) { ++*this; }
        bool operator==(const Iterator &other) const noexcept { return cursor_ == other.cursor_; }
        bool operator!=(const Iterator &other) const noexcept { return cursor_ != other.cursor_; }

    private:
        Cursor *cursor_;
    };

    Iterator begin() { return ++Iterator(this); }
    Iterator end() noexcept { return Iterator(nullptr); }

    const skein_cursor *get() const noexcept { return handle_.get(); }

private:
    static std::string_view view(skein_slice slice) noexcept {
        return slice.data ? std::string_view(slice.data, slice.len) : std::string_view();
    }

    detail::Owned<skein_cursor> handle_;
};

/* An ordered table of keys and values. */
class Keyspace {
public:
    explicit Keyspace(detail::Owned<skein_keyspace> handle) : handle_(std::move(handle)) {}

    std::string name() const {
        return detail::value_of([&](char **name, std::size_t *len) { return skein_keyspace_name(get(), name, len); })
            .value_or("");
    }
    void put(std::string_view key, std::string_view value) {
        detail::check(skein_put(get(), key.data(), key.size(), value.data(), value.size()));
    }
    void put_until(std::string_view key, std::string_view value, std::uint64_t expires_unix_ms) {
        detail::check(
            skein_put_until(get(), key.data(), key.size(), value.data(), value.size(), expires_unix_ms));
    }
    std::optional<std::string> get(std::string_view key) const {
        return detail::value_of([&](char **value, std::size_t *len) {
            return skein_get(get(), key.data(), key.size(), value, len);
        });
    }
    /* The values of many keys, in their order and as of one moment. */
    std::vector<std::optional<std::string>> get_many(const std::vector<std::string_view> &keys) const {
        std::vector<skein_slice> slices;
        for (std::string_view key : keys) slices.push_back(detail::slice(key));
        skein_slice *values = nullptr;
        skein_status status = skein_get_many(get(), slices.data(), slices.size(), &values);
        detail::Owned<skein_slice> owned(values);
        detail::check(status);
        std::vector<std::optional<std::string>> found;
        for (std::size_t at = 0; at < keys.size(); ++at) {
            if (values[at].data) found.emplace_back(std::in_place, values[at].data, values[at].len);
            else found.emplace_back();
        }
        return found;
    }
    bool contains(std::string_view key) const { return detail::check(skein_contains(get(), key.data(), key.size())); }
    /* Returns whether the key was present. */
    bool erase(std::string_view key) { return detail::check(skein_delete(get(), key.data(), key.size())); }
    std::uint64_t erase_range(Bound from, Bound to) {
        std::uint64_t removed = 0;
        detail::check(skein_delete_range(get(), detail::Optional(from), detail::Optional(to), &removed));
        return removed;
    }
    std::uint64_t count(Bound from = {}, Bound to = {}) const {
        std::uint64_t count = 0;
        detail::check(skein_count(get(), detail::Optional(from), detail::Optional(to), &count));
        return count;
    }
    /* Returns whether the value was `expected`, and is `desired` now. */
    bool compare_and_swap(std::string_view key, Bound expected, Bound desired) {
        return detail::check(skein_compare_and_swap(get(), key.data(), key.size(), detail::Optional(expected),
                                                    detail::Optional(desired), nullptr, nullptr));
    }
    std::int64_t increment(std::string_view key, std::int64_t by = 1) {
        std::int64_t sum = 0;
        detail::check(skein_increment(get(), key.data(), key.size(), by, &sum));
        return sum;
    }
    /* When the key expires, in milliseconds after 1970; 0 if it does not, nullopt if it is absent. */
    std::optional<std::uint64_t> expiry(std::string_view key) const {
        return detail::time_of([&](std::uint64_t *time) { return skein_expiry(get(), key.data(), key.size(), time); });
    }
    /* Both return whether the key is present. Its value stays. */
    bool expire_at(std::string_view key, std::uint64_t unix_ms) {
        return detail::check(skein_expire_at(get(), key.data(), key.size(), unix_ms));
    }
    bool persist(std::string_view key) { return detail::check(skein_persist(get(), key.data(), key.size())); }
    Cursor cursor() const {
        return Cursor(detail::opened<skein_cursor>([&](skein_cursor **out) { return skein_cursor_open(get(), out); }));
    }

    const skein_keyspace *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<skein_keyspace> handle_;
};

/* All keyspaces as they were at one moment. */
class Snapshot {
public:
    explicit Snapshot(detail::Owned<skein_snapshot> handle) : handle_(std::move(handle)) {}

    std::optional<std::string> get(const Keyspace &keyspace, std::string_view key) const {
        return detail::value_of([&](char **value, std::size_t *len) {
            return skein_snapshot_get(handle_.get(), keyspace.get(), key.data(), key.size(), value, len);
        });
    }
    bool contains(const Keyspace &keyspace, std::string_view key) const {
        return detail::check(skein_snapshot_contains(handle_.get(), keyspace.get(), key.data(), key.size()));
    }
    std::optional<std::uint64_t> expiry(const Keyspace &keyspace, std::string_view key) const {
        return detail::time_of([&](std::uint64_t *time) {
            return skein_snapshot_expiry(handle_.get(), keyspace.get(), key.data(), key.size(), time);
        });
    }
    Cursor cursor(const Keyspace &keyspace) const {
        return Cursor(detail::opened<skein_cursor>(
            [&](skein_cursor **out) { return skein_snapshot_cursor(handle_.get(), keyspace.get(), out); }));
    }

private:
    detail::Owned<skein_snapshot> handle_;
};

/* Writes to any keyspaces that Db::apply applies together. */
class Batch {
public:
    Batch() : handle_(detail::opened<skein_batch>([](skein_batch **out) { return skein_batch_new(out); })) {}

    Batch &put(const Keyspace &keyspace, std::string_view key, std::string_view value) {
        detail::check(
            skein_batch_put(get(), keyspace.get(), key.data(), key.size(), value.data(), value.size()));
        return *this;
    }
    Batch &erase(const Keyspace &keyspace, std::string_view key) {
        detail::check(skein_batch_delete(get(), keyspace.get(), key.data(), key.size()));
        return *this;
    }
    void clear() { detail::check(skein_batch_clear(get())); }
    std::size_t size() const noexcept { return skein_batch_len(get()); }

    const skein_batch *get() const noexcept { return handle_.get(); }

private:
    detail::Owned<skein_batch> handle_;
};

/* A transaction. One that Db::begin returns and that is not committed is rolled back. */
class Transaction {
public:
    explicit Transaction(detail::Owned<skein_txn> handle) : owned_(std::move(handle)), handle_(owned_.get()) {}
    /* The transaction of skein_transaction, which owns it. */
    explicit Transaction(const skein_txn *lent) : handle_(lent) {}

    std::optional<std::string> get(const Keyspace &keyspace, std::string_view key) const {
        return detail::value_of([&](char **value, std::size_t *len) {
            return skein_txn_get(handle_, keyspace.get(), key.data(), key.size(), value, len);
        });
    }
    bool contains(const Keyspace &keyspace, std::string_view key) const {
        return detail::check(skein_txn_contains(handle_, keyspace.get(), key.data(), key.size()));
    }
    void put(const Keyspace &keyspace, std::string_view key, std::string_view value) {
        detail::check(skein_txn_put(handle_, keyspace.get(), key.data(), key.size(), value.data(), value.size()));
    }
    bool erase(const Keyspace &keyspace, std::string_view key) {
        return detail::check(skein_txn_delete(handle_, keyspace.get(), key.data(), key.size()));
    }
    std::int64_t increment(const Keyspace &keyspace, std::string_view key, std::int64_t by = 1) {
        std::int64_t sum = 0;
        detail::check(skein_txn_increment(handle_, keyspace.get(), key.data(), key.size(), by, &sum));
        return sum;
    }
    std::optional<std::uint64_t> expiry(const Keyspace &keyspace, std::string_view key) const {
        return detail::time_of([&](std::uint64_t *time) {
            return skein_txn_expiry(handle_, keyspace.get(), key.data(), key.size(), time);
        });
    }
    bool expire_at(const Keyspace &keyspace, std::string_view key, std::uint64_t unix_ms) {
        return detail::check(skein_txn_expire_at(handle_, keyspace.get(), key.data(), key.size(), unix_ms));
    }
    bool persist(const Keyspace &keyspace, std::string_view key) {
        return detail::check(skein_txn_persist(handle_, keyspace.get(), key.data(), key.size()));
    }
    Cursor cursor(const Keyspace &keyspace) const {
        return Cursor(detail::opened<skein_cursor>(
            [&](skein_cursor **out) { return skein_txn_cursor(handle_, keyspace.get(), out); }));
    }
    std::uint64_t savepoint() {
        std::uint64_t savepoint = 0;
        detail::check(skein_txn_savepoint(handle_, &savepoint));
        return savepoint;
    }
    void rollback_to(std::uint64_t savepoint) { detail::check(skein_txn_rollback_to(handle_, savepoint)); }
    void set_durability(std::uint32_t level) { detail::check(skein_txn_set_durability(handle_, level)); }
    void commit() { detail::check(skein_txn_commit(handle_)); }
    void rollback() { detail::check(skein_txn_rollback(handle_)); }

private:
    detail::Owned<skein_txn> owned_;
    const skein_txn *handle_;
};

/* Options with their defaults. */
inline skein_options options() {
    skein_options options{};
    options.size = sizeof options;
    return options;
}

/* A folder that Db::verify has checked, and the text of each damage. */
struct Verified {
    skein_verify_report report;
    std::vector<std::string> damages;
    bool is_sound() const noexcept { return damages.empty(); }
};

namespace detail {

/* A callback of progress, and the exception that it threw: exceptions must not pass through the library. */
template <typename Progress>
struct Watch {
    Progress &progress;
    std::exception_ptr thrown;

    static int call(const skein_progress *done, void *context) noexcept {
        auto *watch = static_cast<Watch *>(context);
        try {
            return watch->progress(*done) ? 0 : 1;
        } catch (...) {
            watch->thrown = std::current_exception();
        }
        return 1;
    }
};

/* Calls `copy(function, context, &report)`, and throws the exception of `progress`. */
template <typename Progress, typename Copy>
skein_backup_report copied(Progress &progress, Copy copy) {
    Watch<Progress> watch{progress, nullptr};
    skein_backup_report report{};
    report.size = sizeof report;
    skein_status status = copy(&Watch<Progress>::call, &watch, &report);
    if (watch.thrown) std::rethrow_exception(watch.thrown);
    check(status);
    return report;
}

inline bool go_on(const skein_progress &) noexcept { return true; }

} // namespace detail

/* A database. The destructor closes it; call close() to learn of an error. */
class Db {
public:
    static Db open(const std::string &path, const skein_options &options = skein::options()) {
        return Db(detail::opened<skein_db>([&](skein_db **out) { return skein_open(path.c_str(), &options, out); }));
    }
    static Db in_memory(const skein_options &options = skein::options()) {
        return Db(detail::opened<skein_db>([&](skein_db **out) { return skein_open_in_memory(&options, out); }));
    }

    /* Closes the database. Its other objects throw SKEIN_CLOSED from now on, this one SKEIN_MISUSE. */
    void close() { detail::check(skein_close(handle_.release())); }
    void flush() { detail::check(skein_flush(get())); }
    void checkpoint() { detail::check(skein_checkpoint(get())); }
    skein_db_stats stats() const {
        skein_db_stats stats{};
        stats.size = sizeof stats;
        detail::check(skein_stats(get(), &stats));
        return stats;
    }

    /* Creates the keyspace if it is missing. */
    Keyspace keyspace(const std::string &name) {
        return Keyspace(detail::opened<skein_keyspace>(
            [&](skein_keyspace **out) { return skein_keyspace_open(get(), name.c_str(), out); }));
    }
    Keyspace default_keyspace() {
        return Keyspace(
            detail::opened<skein_keyspace>([&](skein_keyspace **out) { return skein_keyspace_default(get(), out); }));
    }
    std::vector<std::string> keyspaces() const {
        char **names = nullptr;
        std::size_t count = 0;
        detail::check(skein_keyspace_list(get(), &names, &count));
        std::unique_ptr<char *, detail::Free> owned(names);
        return std::vector<std::string>(names, names + count);
    }
    /* Returns whether there was one. */
    bool drop_keyspace(const std::string &name) { return detail::check(skein_keyspace_drop(get(), name.c_str())); }
    void rename_keyspace(const std::string &from, const std::string &to) {
        detail::check(skein_keyspace_rename(get(), from.c_str(), to.c_str()));
    }

    void apply(const Batch &batch) { detail::check(skein_batch_apply(get(), batch.get())); }
    Snapshot snapshot() const {
        return Snapshot(
            detail::opened<skein_snapshot>([&](skein_snapshot **out) { return skein_snapshot_new(get(), out); }));
    }
    Transaction begin() {
        return Transaction(detail::opened<skein_txn>([&](skein_txn **out) { return skein_txn_begin(get(), out); }));
    }
    /* All other writes wait until it is committed or destroyed, so it cannot conflict. */
    Transaction begin_exclusive() {
        return Transaction(
            detail::opened<skein_txn>([&](skein_txn **out) { return skein_txn_begin_exclusive(get(), out); }));
    }

    /* Calls `body(Transaction &)` and commits. Calls it again if another write has changed rows or
     * ranges that it read. If it throws, nothing is written, and the caller gets the exception. */
    template <typename Body>
    void transaction(Body &&body) {
        run<&skein_transaction>(body);
    }
    /* Calls `body(Transaction &)` once and commits, while all other writes wait. */
    template <typename Body>
    void transaction_exclusive(Body &&body) {
        run<&skein_transaction_exclusive>(body);
    }

    /* Copies the database to another folder, as it is at one moment. `progress(const skein_progress &)`
     * returns whether to continue. If it throws, there is no copy, and the caller gets the exception. */
    skein_backup_report backup(const std::string &folder) const { return backup(folder, detail::go_on); }
    template <typename Progress>
    skein_backup_report backup(const std::string &folder, Progress &&progress) const {
        return detail::copied(progress, [&](auto function, void *context, skein_backup_report *report) {
            return skein_backup(get(), folder.c_str(), function, context, report);
        });
    }
    /* Makes a database in `folder` from a backup, which is checked first. */
    static skein_backup_report restore(const std::string &backup, const std::string &folder) {
        return restore(backup, folder, detail::go_on);
    }
    template <typename Progress>
    static skein_backup_report restore(const std::string &backup, const std::string &folder, Progress &&progress) {
        return detail::copied(progress, [&](auto function, void *context, skein_backup_report *report) {
            return skein_restore(backup.c_str(), folder.c_str(), function, context, report);
        });
    }
    /* Reads all files of a database that is not open, and checks them. Damage does not throw. */
    static Verified verify(const std::string &folder) {
        Verified found{};
        found.report.size = sizeof found.report;
        char **damages = nullptr;
        skein_status status = skein_verify(folder.c_str(), &found.report, &damages);
        detail::Owned<char *> owned(damages);
        detail::check(status);
        found.damages.assign(damages, damages + found.report.damages);
        return found;
    }

    const skein_db *get() const noexcept { return handle_.get(); }

private:
    explicit Db(detail::Owned<skein_db> handle) : handle_(std::move(handle)) {}

    /* A body, and the exception that it threw: exceptions must not pass through the library. */
    template <typename Body>
    struct Run {
        Body &body;
        std::exception_ptr thrown;

        static int call(const skein_txn *txn, void *context) noexcept {
            auto *run = static_cast<Run *>(context);
            run->thrown = nullptr;
            try {
                Transaction transaction(txn);
                run->body(transaction);
                return SKEIN_OK;
            } catch (...) {
                run->thrown = std::current_exception();
            }
            return SKEIN_ABORTED;
        }
    };

    template <auto function, typename Body>
    void run(Body &body) {
        Run<Body> run{body, nullptr};
        skein_status status = function(get(), &Run<Body>::call, &run);
        if (run.thrown) std::rethrow_exception(run.thrown);
        detail::check(status);
    }

    detail::Owned<skein_db> handle_;
};

} // namespace skein

#endif /* SKEINDB_HPP */
