//! How indexes declare their variants: types without values, one for each variant.
//!
//! ```text
//!   trait WormholeSettings: Variant     the switches and numbers of an index, as constants
//!     ├─ WormholeStandard               all as they should be
//!     └─ WormholeBase<WIDTH>            some of them different
//!
//!   WormholeVariant<S, WormholeBase>    an index of that variant
//!   Wormhole<S>                         the standard variant
//! ```
//!
//! The settings are constants, so they cost the standard variant nothing, and code that a variant
//! does not need is not compiled into it. Only this crate declares variants, because every
//! combination of settings needs its tests. All but the standard ones are behind the feature
//! `paper`.

use std::fmt::Debug;

/// A type that names a variant of an index. Its value has no meaning.
///
/// This trait seals the traits of settings: it has no public name.
pub trait Variant: Copy + Eq + Debug + Send + Sync + 'static {}

/// Declares variants: for each a type, with numbers as const parameters if it has some, and the
/// settings that are not those of the standard variant.
macro_rules! variants {
    ($settings:ident: $(
        $(#[$doc:meta])*
        $name:ident $(<$(const $number:ident: $type:ty = $default:literal),+>)? {
            $(const $setting:ident: $kind:ty = $value:expr;)*
        }
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name $(<$(const $number: $type = $default),+>)?;

        impl $(<$(const $number: $type),+>)? $crate::variant::Variant for $name $(<$($number),+>)? {}

        impl $(<$(const $number: $type),+>)? $settings for $name $(<$($number),+>)? {
            $(const $setting: $kind = $value;)*
        }
    )+};
}
pub(crate) use variants;
