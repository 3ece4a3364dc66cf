// libcuckoo's cuckoohash_map: numbers or std::string as keys, looked up without making a string.

#include "index.hh"

#include <functional>
#include <libcuckoo/cuckoohash_map.hh>

namespace {

template <class Keys> class Cuckoo {
  using View = typename Keys::View;

public:
  void put(View key, uint64_t value) { map.insert_or_assign(key, value); }

  bool get(View key, uint64_t &value) const { return map.find(key, value); }

  bool remove(View key) { return map.erase(key); }

private:
  libcuckoo::cuckoohash_map<typename Keys::Owned, uint64_t, typename Keys::Hash, std::equal_to<>> map;
};

} // namespace

extern "C" {
extern const Functions skein_libcuckoo_words = unordered<Cuckoo<Words>, Words>();
extern const Functions skein_libcuckoo_bytes = unordered<Cuckoo<Bytes>, Bytes>();
}
