// std::map: numbers or std::string as keys, looked up without making a string.

#include "index.hh"

#include <iterator>
#include <map>

namespace {

template <class Keys> class StdMap {
  using View = typename Keys::View;

public:
  void put(View key, uint64_t value) {
    const auto at = map.lower_bound(key);
    if (at != map.end() && !(key < at->first)) {
      at->second = value;
    } else {
      map.emplace_hint(at, key, value);
    }
  }

  bool get(View key, uint64_t &value) const {
    const auto at = map.find(key);
    if (at == map.end()) {
      return false;
    }
    value = at->second;
    return true;
  }

  bool remove(View key) {
    const auto at = map.find(key);
    if (at == map.end()) {
      return false;
    }
    map.erase(at);
    return true;
  }

  template <class Each> void scan(View from, size_t count, Each each) const {
    for (auto at = map.lower_bound(from); count > 0 && at != map.end(); ++at, --count) {
      each(at->first, at->second);
    }
  }

  template <class Each> void scan_back(View from, size_t count, Each each) const {
    for (auto at = std::make_reverse_iterator(map.upper_bound(from)); count > 0 && at != map.rend(); ++at, --count) {
      each(at->first, at->second);
    }
  }

private:
  std::map<typename Keys::Owned, uint64_t, std::less<>> map;
};

} // namespace

extern "C" {
extern const Functions skein_std_map_words = ordered<StdMap<Words>, Words>();
extern const Functions skein_std_map_bytes = ordered<StdMap<Bytes>, Bytes>();
}
