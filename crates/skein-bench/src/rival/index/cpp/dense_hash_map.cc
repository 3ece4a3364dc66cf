// Google's dense_hash_map: numbers, or views of bytes that are allocated one key at a time, so that a
// lookup makes no string.
//
// The table reserves two keys, for empty and for deleted slots. Among views, two with impossible
// lengths serve. Among numbers every value may be a key, so the values of the two reserved keys are
// stored outside the table.

#include "index.hh"

#include <array>
#include <new>
#include <optional>
#include <sparsehash/dense_hash_map>

namespace {

class Numbers {
public:
  Numbers() {
    map.set_empty_key(EMPTY);
    map.set_deleted_key(DELETED);
  }

  void put(uint64_t key, uint64_t value) {
    if (key >= DELETED) {
      beside[key - DELETED] = value;
    } else {
      map[key] = value;
    }
  }

  bool get(uint64_t key, uint64_t &value) const {
    if (key >= DELETED) {
      const auto &kept = beside[key - DELETED];
      value = kept.value_or(0);
      return kept.has_value();
    }
    const auto at = map.find(key);
    if (at == map.end()) {
      return false;
    }
    value = at->second;
    return true;
  }

  bool remove(uint64_t key) {
    if (key >= DELETED) {
      const bool there = beside[key - DELETED].has_value();
      beside[key - DELETED].reset();
      return there;
    }
    return map.erase(key) > 0;
  }

private:
  static constexpr uint64_t EMPTY = UINT64_MAX, DELETED = UINT64_MAX - 1;

  google::dense_hash_map<uint64_t, uint64_t, Words::Hash> map;
  /// The values of the keys DELETED and EMPTY.
  std::array<std::optional<uint64_t>, 2> beside;
};

/// The reserved keys have no bytes, and lengths that memory cannot hold.
struct Same {
  bool operator()(std::string_view a, std::string_view b) const {
    return a.size() == b.size() && (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }
};

class Strings {
public:
  Strings() {
    map.set_empty_key({nullptr, SIZE_MAX});
    map.set_deleted_key({nullptr, SIZE_MAX - 1});
  }

  Strings(const Strings &) = delete;
  Strings &operator=(const Strings &) = delete;

  ~Strings() {
    for (const auto &entry : map) {
      operator delete(const_cast<char *>(entry.first.data()));
    }
  }

  void put(std::string_view key, uint64_t value) {
    const auto at = map.find(key);
    if (at != map.end()) {
      at->second = value;
      return;
    }
    char *bytes = static_cast<char *>(operator new(key.size()));
    std::memcpy(bytes, key.data(), key.size());
    map.insert({std::string_view(bytes, key.size()), value});
  }

  bool get(std::string_view key, uint64_t &value) const {
    const auto at = map.find(key);
    if (at == map.end()) {
      return false;
    }
    value = at->second;
    return true;
  }

  bool remove(std::string_view key) {
    const auto at = map.find(key);
    if (at == map.end()) {
      return false;
    }
    char *bytes = const_cast<char *>(at->first.data());
    map.erase(at);
    operator delete(bytes);
    return true;
  }

private:
  google::dense_hash_map<std::string_view, uint64_t, Bytes::Hash, Same> map;
};

} // namespace

extern "C" {
extern const Functions skein_dense_hash_map_words = unordered<Numbers, Words>();
extern const Functions skein_dense_hash_map_bytes = unordered<Strings, Bytes>();
}
