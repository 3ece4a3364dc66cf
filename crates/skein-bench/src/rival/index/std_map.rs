//! C++'s `std::map`, a red-black tree for one thread.
//!
//! Some papers compare with `std::set`, which holds keys only. It is the same tree. The bench
//! checks every answer by the key's value, so it needs the map.

use super::cpp_index::{CppClass, CppFunctions, CppIndex};
use super::key_repr::{BoxedKeys, IntegerKeys};
use super::{IndexAbilities, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 2] = [
    RegisteredIndex::alone::<CppIndex<StdMap, IntegerKeys>>(),
    RegisteredIndex::alone::<CppIndex<StdMap, BoxedKeys>>(),
];

// SAFETY: `cpp/std_map.cc` defines both as constants of this layout.
unsafe extern "C" {
    safe static skein_std_map_words: CppFunctions;
    safe static skein_std_map_bytes: CppFunctions;
}

struct StdMap;

impl CppClass for StdMap {
    const NAME: &'static str = "std-map";
    const ABOUT: &'static str = "C++'s std::map (libstdc++, -O3), one thread; map<uint64_t, \
                                 uint64_t> where keys have 8 bytes, map<string, uint64_t, less<>> \
                                 otherwise, asked by string_view; glibc's malloc";
    const CAN: IndexAbilities = IndexAbilities::ORDERED;

    fn functions(words: bool) -> &'static CppFunctions {
        if words { &skein_std_map_words } else { &skein_std_map_bytes }
    }
}
