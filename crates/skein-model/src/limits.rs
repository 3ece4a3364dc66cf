//! The hard limits: no option can raise them.

use skein_index::index::MAX_KEY_LEN;

/// The longest key that an option can allow, in bytes: the limit of the index.
pub const KEY_BYTES_MAX: usize = MAX_KEY_LEN;

/// The longest key that can expire: with its time, of 8 bytes, it must fit an index.
pub const EXPIRING_KEY_BYTES_MAX: usize = KEY_BYTES_MAX - size_of::<u64>();

/// The longest value that an option can allow: 512 MiB less one byte.
pub const VALUE_BYTES_MAX: usize = (512 << 20) - 1;

/// The largest number of snapshots that an option can allow. Nothing is reserved for them: each costs
/// its entry in the registry, and the rows that are kept for it.
pub const SNAPSHOTS_MAX: usize = 1 << 16;

/// Bytes of the id of a collection, which its members have before their names.
pub const COLLECTION_ID: usize = size_of::<u64>();

/// The longest member of a set and the longest name of a spread column, in bytes. With the id of
/// the collection it must fit an index.
pub const MEMBER_BYTES_MAX: usize = KEY_BYTES_MAX - COLLECTION_ID;
