//! Typed keys and values: encodings of Rust types in bytes, and keyspaces of them.
//!
//! [`TypedKeyspace`] is a keyspace with typed keys and values. The bytes of keys are in the order
//! of the keys, so ranges of keys are ranges of bytes.
//!
//! ```
//! use skeindb::typed::{EncodeKey, Key};
//!
//! let early = (7_u32, -5_i64).to_key_bytes();
//! let late = (7_u32, 3_i64).to_key_bytes();
//! assert!(early < late);
//! assert_eq!(<(u32, i64)>::from_key_bytes(&early)?, (7, -5));
//! # Ok::<(), skeindb::typed::DecodeError>(())
//! ```
//!
//! # Types of keys
//!
//! | type | order | bytes |
//! | --- | --- | --- |
//! | `u8` … `u128`, `i8` … `i128` | by number | 1 to 16 |
//! | `bool`, `char`, `()` | `Ord` | 1, 4, 0 |
//! | `f32`, `f64` | [`f64::total_cmp`] | 4, 8 |
//! | `String`, `Vec<u8>` | by byte | raw at the end of a key; elsewhere one more, and one more for each byte of 0 or 1 |
//! | `[T; N]` | by item | those of the items |
//! | `Vec<T>` | by item; a beginning of another one is less | one more for each item, and one |
//! | `Option<T>` | `None` first | one more |
//! | tuples of up to 12 parts | by part | those of the parts |
//! | [`Reverse<T>`](std::cmp::Reverse) | descending | those of `T` |
//! | `Duration`, `SystemTime` | by time | 12 |
//! | `uuid::Uuid`, with the feature `uuid` | by byte | 16 |
//! | `jiff::Timestamp`, with the feature `jiff` | by time | 12 |
//! | `jiff::civil::{Date, Time, DateTime}`, with the feature `jiff` | by time | 4, 7, 11 |
//! | structs and enums with `#[derive(Key)]` | as with `#[derive(Ord)]` | those of the fields; one more for an enum |
//!
//! `usize` and `isize` are missing, as their width depends on the machine.
//!
//! `docs/format.md`, "Typed keys", has
//! every byte. The encodings of a version are those of all later versions.
//!
//! # Strings
//!
//! A string or byte string at the end of a key is raw. So other programs find a `String` key under
//! its text, and a key of an untyped keyspace is a `Vec<u8>`.
//!
//! # Derive
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use std::cmp::Reverse;
//!
//! use skeindb::Key;
//! use skeindb::typed::{EncodeKey, KeyPrefix};
//!
//! /// The newest readings of a sensor first.
//! #[derive(Key)]
//! struct Reading {
//!     sensor: u32,
//!     at: Reverse<i64>,
//! }
//!
//! let of_sensor = KeyPrefix::<Reading>::to_prefix_bytes(&(7_u32,));
//! assert!(Reading { sensor: 7, at: Reverse(-5) }.to_key_bytes().starts_with(&of_sensor));
//! # }
//! ```

// Modules:
// - key, value: the traits. reader: the parts of an encoded key, one by one.
// - integers, floats, bytes, time, uuid, jiff: keys of one part.
// - tuples, sequences, wrappers (`Option`, `Reverse`): keys of several parts.
// - postcard: values of serde.
// - keyspace, views (in a snapshot, a transaction, a batch), iter, ranges: the typed operations;
//   codec converts their rows.
// - error: `EncodeError` and `DecodeError`.
mod bytes;
mod codec;
mod error;
mod floats;
mod integers;
mod iter;
#[cfg(feature = "jiff")]
mod jiff;
mod key;
mod keyspace;
#[cfg(feature = "postcard")]
mod postcard;
mod ranges;
mod reader;
mod sequences;
mod time;
mod tuples;
#[cfg(feature = "uuid")]
mod uuid;
mod value;
mod views;
mod wrappers;

pub use error::{DecodeError, EncodeError};
pub use iter::{TypedIter, TypedKeys};
pub use key::{AsKey, EncodeKey, Key};
pub use keyspace::TypedKeyspace;
#[cfg(feature = "postcard")]
pub use postcard::{Postcard, SerdeValue, decode_postcard, encode_postcard};
pub use ranges::{KeyPrefix, KeyRange};
pub use reader::KeyReader;
#[cfg(all(feature = "derive", feature = "postcard"))]
pub use skeindb_derive::StoredValue;
#[cfg(feature = "derive")]
pub use skeindb_derive::{EncodeKey, Key};
pub use value::{AsValue, StoredValue};
pub use views::{TypedBatch, TypedSnapshot, TypedTransaction};
