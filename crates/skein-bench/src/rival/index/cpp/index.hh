// The interface of a C++ index to cpp_index.rs: a table of C functions, made from a class.
//
//   class Index<Keys>:  put(View, value), get(View, &value) -> bool, remove(View) -> bool,
//                       and if it has an order: scan(View, count, each), scan_back(View, count, each)
//
// `Keys` is the representation of keys: `Words` if all have 8 bytes, `Bytes` otherwise. No function
// throws: an index that runs out of memory ends the program, as Rust's own do.
#pragma once

#include <endian.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

using Visit = void (*)(void *context, const uint8_t *key, size_t length, uint64_t value);

/// Mirrors `CppFunctions` in cpp_index.rs.
struct Functions {
  void *(*create)();
  void (*destroy)(void *);
  void (*put)(void *, const uint8_t *, size_t, uint64_t);
  bool (*get)(const void *, const uint8_t *, size_t, uint64_t *);
  bool (*remove)(void *, const uint8_t *, size_t);
  void (*scan)(const void *, const uint8_t *, size_t, size_t, Visit, void *);
  void (*scan_back)(const void *, const uint8_t *, size_t, size_t, Visit, void *);
};

/// Keys of 8 bytes, as numbers of the same order.
struct Words {
  using View = uint64_t;
  using Owned = uint64_t;

  static View view(const uint8_t *key, size_t) {
    uint64_t word;
    std::memcpy(&word, key, sizeof word);
    return be64toh(word);
  }

  template <class Each> static void show(View key, Each each) {
    const uint64_t word = htobe64(key);
    each(reinterpret_cast<const uint8_t *>(&word), sizeof word);
  }

  /// The final mix of MurmurHash3. std::hash is the identity here; it would put numbers that differ
  /// only in their high bits into one bucket.
  struct Hash {
    size_t operator()(uint64_t key) const {
      key = (key ^ (key >> 33)) * 0xff51afd7ed558ccd;
      key = (key ^ (key >> 33)) * 0xc4ceb9fe1a85ec53;
      return key ^ (key >> 33);
    }
  };
};

/// Keys of any length. They compare as bytes do.
struct Bytes {
  using View = std::string_view;
  using Owned = std::string;
  using Hash = std::hash<std::string_view>;

  static View view(const uint8_t *key, size_t length) { return {reinterpret_cast<const char *>(key), length}; }

  template <class Each> static void show(View key, Each each) {
    each(reinterpret_cast<const uint8_t *>(key.data()), key.size());
  }
};

template <class Index, class Keys> struct Face {
  static void *create() noexcept { return new Index; }

  static void destroy(void *index) noexcept { delete static_cast<Index *>(index); }

  static void put(void *index, const uint8_t *key, size_t length, uint64_t value) noexcept {
    static_cast<Index *>(index)->put(Keys::view(key, length), value);
  }

  static bool get(const void *index, const uint8_t *key, size_t length, uint64_t *value) noexcept {
    return static_cast<const Index *>(index)->get(Keys::view(key, length), *value);
  }

  static bool remove(void *index, const uint8_t *key, size_t length) noexcept {
    return static_cast<Index *>(index)->remove(Keys::view(key, length));
  }

  static void scan(const void *index, const uint8_t *key, size_t length, size_t count, Visit visit,
                   void *context) noexcept {
    static_cast<const Index *>(index)->scan(Keys::view(key, length), count, shower(visit, context));
  }

  static void scan_back(const void *index, const uint8_t *key, size_t length, size_t count, Visit visit,
                        void *context) noexcept {
    static_cast<const Index *>(index)->scan_back(Keys::view(key, length), count, shower(visit, context));
  }

private:
  static auto shower(Visit visit, void *context) {
    return [=](typename Keys::View key, uint64_t value) {
      Keys::show(key, [=](const uint8_t *bytes, size_t size) { visit(context, bytes, size, value); });
    };
  }
};

template <class Index, class Keys> constexpr Functions unordered() {
  using F = Face<Index, Keys>;
  return {F::create, F::destroy, F::put, F::get, F::remove, nullptr, nullptr};
}

template <class Index, class Keys> constexpr Functions ordered() {
  using F = Face<Index, Keys>;
  return {F::create, F::destroy, F::put, F::get, F::remove, F::scan, F::scan_back};
}
