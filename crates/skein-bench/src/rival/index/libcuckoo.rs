//! `libcuckoo`: a concurrent hash table with cuckoo hashing and one lock per few buckets. It has no
//! order.

use super::cpp_index::{ConcurrentCppClass, CppClass, CppFunctions, CppIndex};
use super::key_repr::{BoxedKeys, IntegerKeys};
use super::{IndexAbilities, RegisteredIndex};

pub static ENTRIES: [RegisteredIndex; 2] = [
    RegisteredIndex::shared::<CppIndex<Libcuckoo, IntegerKeys>>(),
    RegisteredIndex::shared::<CppIndex<Libcuckoo, BoxedKeys>>(),
];

// SAFETY: `cpp/libcuckoo.cc` defines both as constants of this layout.
unsafe extern "C" {
    safe static skein_libcuckoo_words: CppFunctions;
    safe static skein_libcuckoo_bytes: CppFunctions;
}

struct Libcuckoo;

// SAFETY: the library's documentation states that insert_or_assign, find and erase may run
// concurrently.
unsafe impl ConcurrentCppClass for Libcuckoo {}

impl CppClass for Libcuckoo {
    const NAME: &'static str = "libcuckoo";
    const ABOUT: &'static str = "libcuckoo (as installed, -O3), unordered; \
                                 cuckoohash_map<uint64_t, uint64_t> under MurmurHash3's final mix \
                                 where keys have 8 bytes, cuckoohash_map<string, uint64_t> under \
                                 std::hash otherwise, asked by string_view; starts with room for \
                                 2^18 keys, as it comes; glibc's malloc";
    const CAN: IndexAbilities = IndexAbilities { remove: true, ..IndexAbilities::NOTHING };

    fn functions(words: bool) -> &'static CppFunctions {
        if words { &skein_libcuckoo_words } else { &skein_libcuckoo_bytes }
    }
}
