//! The common part of the two indexes in hash tables: buckets that transactions change, in a table
//! that grows and shrinks by single buckets.
//!
//! ```text
//!   CuckooTransaction      MlpTransaction         plan: which entries to add, change and move
//!             └──────┬───────────┘
//!            BucketTransaction                    copies, locks, check of the size, publication
//!                    │ over a
//!               BucketTable                       one impl per table: bytes of a bucket, locks
//!             ├─ VersionLock                      version and lock in one word
//!             └─ TableSize, LinearHashSize        the number of buckets; from hashes to buckets
//! ```
//!
//! A bucket of the Cuckoo Trie has a version of its own. Many buckets of MlpIndex share one. They
//! also search differently for room in full buckets: each has a `displacement.rs`.
//!
//! Reading order: `linear_hashing.rs`, `version_lock.rs`, `transaction.rs`, then `table.rs` and
//! `transaction.rs` of an index.

mod linear_hashing;
mod transaction;
mod version_lock;

pub(crate) use linear_hashing::{LinearHashSize, TableSize, split_from};
pub(crate) use transaction::{BucketChanged, BucketCopy, BucketTable, BucketTransaction};
pub(crate) use version_lock::{LOCKED, VersionLock};
