//! Google's `dense_hash_map`: a hash table with quadratic probing, for one thread. It has no order;
//! the papers use it as the upper bound of lookups.

use super::cpp_index::{CppClass, CppFunctions, CppIndex};
use super::key_repr::{BoxedKeys, IntegerKeys};
use super::{IndexAbilities, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 2] = [
    RegisteredIndex::alone::<CppIndex<DenseHashMap, IntegerKeys>>(),
    RegisteredIndex::alone::<CppIndex<DenseHashMap, BoxedKeys>>(),
];

// SAFETY: `cpp/dense_hash_map.cc` defines both as constants of this layout.
unsafe extern "C" {
    safe static skein_dense_hash_map_words: CppFunctions;
    safe static skein_dense_hash_map_bytes: CppFunctions;
}

struct DenseHashMap;

impl CppClass for DenseHashMap {
    const NAME: &'static str = "dense-hash-map";
    const ABOUT: &'static str = "Google's dense_hash_map (sparsehash as installed, -O3), \
                                 unordered, one thread; numbers under MurmurHash3's final mix \
                                 where keys have 8 bytes, the two numbers that it reserves kept \
                                 beside it; otherwise string_views of bytes allocated key by key, \
                                 under std::hash; its own load factor of 0.5; glibc's malloc";
    const CAN: IndexAbilities = IndexAbilities { remove: true, ..IndexAbilities::NOTHING };

    fn functions(words: bool) -> &'static CppFunctions {
        if words { &skein_dense_hash_map_words } else { &skein_dense_hash_map_bytes }
    }
}
