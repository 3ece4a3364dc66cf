/* The parts of skeindb.hpp that its classes share: the error, owned handles, calls that give values.
 * Include skeindb.hpp. */

#ifndef SKEINDB_DETAIL_HPP
#define SKEINDB_DETAIL_HPP

#include <skeindb.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skein {

/* A failed call: its status, and its text in what(). */
class Error : public std::runtime_error {
public:
    Error(skein_status status, const char *text) : std::runtime_error(text), status_(status) {}
    skein_status status() const noexcept { return status_; }

private:
    skein_status status_;
};

namespace detail {

/* Throws for an error, and returns whether the answer is SKEIN_OK. */
inline bool check(skein_status status) {
    if (status < 0) throw Error(status, skein_error_message());
    return status == SKEIN_OK;
}

struct Free {
    void operator()(void *memory) const noexcept { skein_free(memory); }
    void operator()(skein_db *db) const noexcept { skein_close(db); }
    void operator()(skein_keyspace *keyspace) const noexcept { skein_keyspace_free(keyspace); }
    void operator()(skein_batch *batch) const noexcept { skein_batch_free(batch); }
    void operator()(skein_snapshot *snapshot) const noexcept { skein_snapshot_free(snapshot); }
    void operator()(skein_cursor *cursor) const noexcept { skein_cursor_free(cursor); }
    void operator()(skein_txn *txn) const noexcept { skein_txn_free(txn); }
};

template <typename T>
using Owned = std::unique_ptr<T, Free>;

/* Calls `get(&value, &len)` and returns the value that it allocates. */
template <typename Get>
std::optional<std::string> value_of(Get get) {
    char *value = nullptr;
    std::size_t len = 0;
    skein_status status = get(&value, &len);
    Owned<char> owned(value);
    if (!check(status)) return std::nullopt;
    return std::string(value, len);
}

/* Calls `open(&handle)` and returns the handle. */
template <typename T, typename Open>
Owned<T> opened(Open open) {
    T *handle = nullptr;
    skein_status status = open(&handle);
    Owned<T> owned(handle);
    check(status);
    return owned;
}

/* Calls `get(&time)` and returns the time. */
template <typename Get>
std::optional<std::uint64_t> time_of(Get get) {
    std::uint64_t time = 0;
    if (!check(get(&time))) return std::nullopt;
    return time;
}

inline skein_slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

/* A slice that may be missing, for as long as the full expression. */
class Optional {
public:
    Optional(const std::optional<std::string_view> &bytes) : slice_(slice(bytes.value_or(""))), some_(bytes) {}
    operator const skein_slice *() const noexcept { return some_ ? &slice_ : nullptr; }

private:
    skein_slice slice_;
    bool some_;
};

} // namespace detail

} // namespace skein

#endif /* SKEINDB_DETAIL_HPP */
