//! The fields of a struct or of a variant, and the code that writes and reads them.

use proc_macro2::{Literal, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{Field, Ident, Type};

/// A field, in its position.
pub(crate) struct KeyField<'a> {
    /// The name of the field, or its number in a tuple struct.
    member: TokenStream,
    /// The variable that a pattern binds to the field.
    binding: Ident,
    pub(crate) ty: &'a Type,
}

impl<'a> KeyField<'a> {
    pub(crate) fn new(position: usize, field: &'a Field) -> Self {
        let member = match &field.ident {
            Some(name) => name.to_token_stream(),
            None => Literal::usize_unsuffixed(position).to_token_stream(),
        };
        KeyField { member, binding: format_ident!("__field_{position}"), ty: &field.ty }
    }
}

/// Selects the encoding: that of a part, or that of the end of a key.
#[derive(Clone, Copy)]
pub(crate) enum Encoding {
    Part,
    Last,
}

impl Encoding {
    /// Both encodings.
    pub(crate) const ALL: [Encoding; 2] = [Encoding::Part, Encoding::Last];

    /// Returns the name of the method that writes it.
    pub(crate) fn encode(self) -> Ident {
        match self {
            Encoding::Part => format_ident!("encode_part"),
            Encoding::Last => format_ident!("encode_last"),
        }
    }

    /// Returns the name of the method that reads it.
    pub(crate) fn decode(self) -> Ident {
        match self {
            Encoding::Part => format_ident!("decode_part"),
            Encoding::Last => format_ident!("decode_last"),
        }
    }
}

/// Yields the fields with their encodings: only the last one may end the key.
fn encodings<'a>(
    fields: &'a [KeyField<'a>],
    last: Encoding,
) -> impl Iterator<Item = (&'a KeyField<'a>, Encoding)> {
    let end = fields.len();
    (1..=end).zip(fields).map(move |(count, field)| (field, if count == end { last } else { Encoding::Part }))
}

/// Returns the pattern in braces that binds the fields. It fits tuple structs, too.
pub(crate) fn pattern(fields: &[KeyField<'_>]) -> TokenStream {
    let bindings = fields.iter().map(|KeyField { member, binding, .. }| quote!(#member: #binding));
    quote!({ #(#bindings),* })
}

/// Returns the statements that append the fields of a [`pattern`] to `__out`.
pub(crate) fn encode(fields: &[KeyField<'_>], last: Encoding) -> TokenStream {
    encodings(fields, last)
        .map(|(KeyField { binding, .. }, encoding)| {
            let method = encoding.encode();
            quote!(::skeindb::typed::EncodeKey::#method(#binding, __out);)
        })
        .collect()
}

/// Returns the fields in braces, each read from `__reader`.
pub(crate) fn decode(fields: &[KeyField<'_>], last: Encoding) -> TokenStream {
    let read = encodings(fields, last).map(|(KeyField { member, ty, .. }, encoding)| {
        let method = encoding.decode();
        quote!(#member: <#ty as ::skeindb::typed::Key>::#method(__reader)?)
    });
    quote!({ #(#read),* })
}
