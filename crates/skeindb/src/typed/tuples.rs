//! Tuples of up to twelve keys, ordered by their first parts that differ, and prefixes of them.
//!
//! A tuple is its parts, one behind the other.

use super::{AsKey, DecodeError, EncodeKey, Key, KeyPrefix, KeyReader};

/// Implements the traits for the tuple of the parts `$t`, each looked up as a `$k`, and `$last`.
macro_rules! tuple_keys {
    ($($t:ident $k:ident $value:ident)* : $last_t:ident $last_k:ident $last:ident) => {
        impl<$($t: EncodeKey,)* $last_t: EncodeKey> EncodeKey for ($($t,)* $last_t,) {
            fn encode_part(&self, out: &mut Vec<u8>) {
                let ($($value,)* $last,) = self;
                $($value.encode_part(out);)*
                $last.encode_part(out);
            }

            fn encode_last(&self, out: &mut Vec<u8>) {
                let ($($value,)* $last,) = self;
                $($value.encode_part(out);)*
                $last.encode_last(out);
            }
        }

        impl<$($k, $t: AsKey<$k>,)* $last_k, $last_t: AsKey<$last_k>> AsKey<($($k,)* $last_k,)>
            for ($($t,)* $last_t,)
        {
        }

        impl<$($t: Key,)* $last_t: Key> Key for ($($t,)* $last_t,) {
            fn decode_part(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
                Ok(($($t::decode_part(reader)?,)* $last_t::decode_part(reader)?,))
            }

            fn decode_last(reader: &mut KeyReader<'_>) -> Result<Self, DecodeError> {
                Ok(($($t::decode_part(reader)?,)* $last_t::decode_last(reader)?,))
            }
        }
    };
}

/// Implements [`KeyPrefix`] for the tuple of the first parts of a longer tuple, for every length:
/// the part before the colon is the prefix, and the parts behind it are the rest of the key.
macro_rules! tuple_prefixes {
    ($($t:ident $k:ident)* : ) => {};
    ($($t:ident $k:ident)* : $next_t:ident $next_k:ident $($rest_t:ident $rest_k:ident)*) => {
        tuple_prefixes!(@impl $($t $k)* : $next_k $($rest_k)*);
        tuple_prefixes!($($t $k)* $next_t $next_k : $($rest_t $rest_k)*);
    };
    (@impl : $($rest_k:ident)*) => {};
    (@impl $($t:ident $k:ident)* : $($rest_k:ident)*) => {
        impl<$($k, $t: AsKey<$k>,)* $($rest_k,)*> KeyPrefix<($($k,)* $($rest_k,)*)> for ($($t,)*) {
            fn encode_prefix(&self, out: &mut Vec<u8>) {
                self.encode_part(out);
            }
        }
    };
}

/// Implements the traits for the tuple of the parts before the semicolon, and for those that each
/// further part makes longer.
macro_rules! all_tuples {
    ($($t:ident $k:ident $value:ident)* ; ) => {};
    ($($t:ident $k:ident $value:ident)* ;
        $next_t:ident $next_k:ident $next:ident $($rest_t:ident $rest_k:ident $rest:ident)*) => {
        tuple_keys!($($t $k $value)* : $next_t $next_k $next);
        tuple_prefixes!( : $($t $k)* $next_t $next_k);
        all_tuples!($($t $k $value)* $next_t $next_k $next ; $($rest_t $rest_k $rest)*);
    };
}

all_tuples!(; A KA a B KB b C KC c D KD d E KE e F KF f G KG g H KH h I KI i J KJ j K KK k L KL l);
