//! The derive macros of `skeindb`, which re-exports them.
//!
//! `shape` has the variants and fields of a type, and `fields` the code that writes and reads them.
//! From these, `key` generates the encodings of keys. `stored_value` generates the values of serde.
//! All paths in the generated code begin with `::skeindb`.

#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod fields;
mod key;
mod shape;
mod stored_value;

/// Implements `EncodeKey`, `AsKey` and `Key` for a struct or an enum, and `KeyPrefix` for the first
/// fields of a struct.
///
/// The order is that of `#[derive(Ord)]`: by the first field that differs, in the order of their
/// declaration; enums by their discriminants first. A `Reverse` field is descending.
///
/// ```
/// use std::cmp::Reverse;
///
/// use skeindb::typed::{EncodeKey, Key};
///
/// #[derive(Key, Debug, PartialEq)]
/// enum Event {
///     Started,
///     Measured { sensor: u32, at: Reverse<i64> },
///     Failed(String),
/// }
///
/// let key = Event::Measured { sensor: 7, at: Reverse(-5) };
/// let bytes = key.to_key_bytes();
/// assert!(bytes < Event::Measured { sensor: 7, at: Reverse(-6) }.to_key_bytes());
/// assert!(bytes < Event::Failed("sensor".to_owned()).to_key_bytes());
/// assert_eq!(Event::from_key_bytes(&bytes)?, key);
/// # Ok::<(), skeindb::typed::DecodeError>(())
/// ```
///
/// Type parameters must be keys:
///
/// ```
/// use skeindb::typed::{EncodeKey, Key};
///
/// #[derive(Key)]
/// struct Versioned<T>(T, u64);
///
/// assert_eq!(Versioned('a', 1).to_key_bytes().len(), 12);
/// ```
///
/// # Changes to a type
///
/// The bytes follow from the types of the fields, their order, and the discriminants of the
/// variants. So names may change, and variants may be added at the end. A variant keeps its bytes
/// wherever it is if it has an explicit discriminant, from 0 to 255:
///
/// ```
/// use skeindb::typed::{EncodeKey, Key};
///
/// #[derive(Key)]
/// enum Level {
///     Notice = 10,
///     Error = 20,
/// }
///
/// assert_eq!(Level::Error.to_key_bytes(), [20]);
/// ```
///
/// # Errors
///
/// A union has no order:
///
/// ```compile_fail
/// #[derive(skeindb::Key)]
/// union Bits {
///     float: f32,
///     bits: u32,
/// }
/// ```
///
/// A field must be a key itself. A key owns its contents, so a `&str` needs `#[derive(EncodeKey)]`:
///
/// ```compile_fail,E0277
/// #[derive(skeindb::Key)]
/// struct Visit {
///     times: std::collections::HashMap<String, u32>,
/// }
/// ```
///
/// A discriminant must be a number from 0 to 255:
///
/// ```compile_fail
/// #[derive(skeindb::Key)]
/// enum Status {
///     Ok = 200,
///     NotFound = 404,
/// }
/// ```
#[proc_macro_derive(Key)]
pub fn derive_key(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    key::derive_key(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `EncodeKey` for a struct or an enum, which may borrow. The bytes are those of
/// `#[derive(Key)]`.
///
/// With it, a type that borrows looks keys up without a copy of their parts:
///
/// ```
/// use skeindb::typed::{AsKey, EncodeKey, Key};
///
/// #[derive(Key)]
/// struct City {
///     country: String,
///     name: String,
/// }
///
/// #[derive(EncodeKey)]
/// struct CityRef<'a> {
///     country: &'a str,
///     name: &'a str,
/// }
///
/// // Its fields are those of `City`, in the same order.
/// impl AsKey<City> for CityRef<'_> {}
///
/// let owned = City { country: "it".to_owned(), name: "Roma".to_owned() };
/// assert_eq!(CityRef { country: "it", name: "Roma" }.to_key_bytes(), owned.to_key_bytes());
/// ```
#[proc_macro_derive(EncodeKey)]
pub fn derive_encode_key(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    key::derive_encode_key(&input).unwrap_or_else(|error| error.to_compile_error()).into()
}

/// Implements `StoredValue` for a type of serde, in the format of the crate `postcard`. Needs the
/// feature `postcard` of `skeindb`.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use skeindb::typed::{AsValue, StoredValue};
///
/// #[derive(Serialize, Deserialize, StoredValue, Debug, PartialEq)]
/// struct User {
///     name: String,
///     logins: Vec<u64>,
/// }
///
/// let user = User { name: "Ada".to_owned(), logins: vec![3] };
/// let mut bytes = Vec::new();
/// user.encode_value(&mut bytes)?;
/// assert_eq!(User::decode_value(&bytes)?, user);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Types with `#[derive(Key)]` are values already, so this is an error:
///
/// ```compile_fail,E0119
/// #[derive(serde::Serialize, serde::Deserialize, skeindb::Key, skeindb::StoredValue)]
/// struct Both(u32);
/// ```
#[proc_macro_derive(StoredValue)]
pub fn derive_stored_value(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    stored_value::derive(&input).into()
}
