//! `#[derive(Key)]` and `#[derive(EncodeKey)]`.

use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{DeriveInput, GenericParam, Generics, Path, Result, parse_quote};

use crate::fields::{self, Encoding, KeyField};
use crate::shape::{KeyShape, KeyVariant};

/// The longest tuple that is a key, and so a prefix.
const TUPLE_MAX: usize = 12;

/// Returns the implementations of `EncodeKey`, `AsKey`, `Key` and `KeyPrefix`.
pub(crate) fn derive_key(input: &DeriveInput) -> Result<TokenStream> {
    let shape = KeyShape::of(input)?;
    let generics = bounded(&input.generics, &parse_quote!(::skeindb::typed::Key));
    let encode = encode_impl(input, &generics, &shape);
    let decode = decode_impl(input, &generics, &shape);
    let prefixes = match &shape {
        KeyShape::Struct(fields) => prefix_impls(input, &generics, fields),
        KeyShape::Enum(_) => TokenStream::new(),
    };
    Ok(quote!(#encode #decode #prefixes))
}

/// Returns the implementation of `EncodeKey`.
pub(crate) fn derive_encode_key(input: &DeriveInput) -> Result<TokenStream> {
    let shape = KeyShape::of(input)?;
    let generics = bounded(&input.generics, &parse_quote!(::skeindb::typed::EncodeKey));
    Ok(encode_impl(input, &generics, &shape))
}

/// Returns the generics with this bound on every type parameter.
fn bounded(generics: &Generics, bound: &Path) -> Generics {
    let mut generics = generics.clone();
    for parameter in generics.type_params_mut() {
        parameter.bounds.push(parse_quote!(#bound));
    }
    generics
}

fn encode_impl(input: &DeriveInput, generics: &Generics, shape: &KeyShape<'_>) -> TokenStream {
    let name = &input.ident;
    let (parameters, arguments, conditions) = generics.split_for_impl();
    let methods = Encoding::ALL.map(|last| {
        let method = last.encode();
        let body = encode_body(shape, last);
        quote! {
            fn #method(&self, __out: &mut ::std::vec::Vec<u8>) {
                #body
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters ::skeindb::typed::EncodeKey for #name #arguments #conditions {
            #(#methods)*
        }
    }
}

fn encode_body(shape: &KeyShape<'_>, last: Encoding) -> TokenStream {
    match shape {
        KeyShape::Struct(fields) => {
            let pattern = fields::pattern(fields);
            let encode = fields::encode(fields, last);
            quote!(let Self #pattern = self; #encode)
        }
        KeyShape::Enum(variants) => {
            let arms = variants.iter().map(|KeyVariant { name, tag, fields }| {
                let tag = Literal::u8_suffixed(*tag);
                let pattern = fields::pattern(fields);
                let encode = fields::encode(fields, last);
                quote!(Self::#name #pattern => { __out.push(#tag); #encode })
            });
            quote!(match self { #(#arms)* })
        }
    }
}

fn decode_impl(input: &DeriveInput, generics: &Generics, shape: &KeyShape<'_>) -> TokenStream {
    let name = &input.ident;
    let (parameters, arguments, conditions) = generics.split_for_impl();
    let methods = Encoding::ALL.map(|last| {
        let method = last.decode();
        let body = decode_body(shape, last);
        quote! {
            fn #method(
                __reader: &mut ::skeindb::typed::KeyReader<'_>,
            ) -> ::std::result::Result<Self, ::skeindb::typed::DecodeError> {
                #body
            }
        }
    });
    quote! {
        #[automatically_derived]
        impl #parameters ::skeindb::typed::AsKey<#name #arguments> for #name #arguments #conditions {}

        #[automatically_derived]
        impl #parameters ::skeindb::typed::Key for #name #arguments #conditions {
            #(#methods)*
        }
    }
}

fn decode_body(shape: &KeyShape<'_>, last: Encoding) -> TokenStream {
    match shape {
        KeyShape::Struct(fields) => {
            let read = fields::decode(fields, last);
            quote!(::std::result::Result::Ok(Self #read))
        }
        KeyShape::Enum(variants) => {
            let arms = variants.iter().map(|KeyVariant { name, tag, fields }| {
                let tag = Literal::u8_suffixed(*tag);
                let read = fields::decode(fields, last);
                quote!([#tag] => ::std::result::Result::Ok(Self::#name #read),)
            });
            quote! {
                let __position = __reader.position();
                match __reader.take::<Self, 1>()? {
                    #(#arms)*
                    #[allow(unreachable_patterns)]
                    [__tag] => ::std::result::Result::Err(::skeindb::typed::DecodeError::in_key::<Self>(
                        __position,
                        ::std::format!("the tag 0x{__tag:02x}, which no variant has"),
                    )),
                }
            }
        }
    }
}

/// Returns the implementations of `KeyPrefix` for the tuples of the first fields of a struct.
fn prefix_impls(input: &DeriveInput, generics: &Generics, fields: &[KeyField<'_>]) -> TokenStream {
    let name = &input.ident;
    let (_, arguments, conditions) = generics.split_for_impl();
    let longest = fields.len().saturating_sub(1).min(TUPLE_MAX);
    (1..=longest)
        .map(|len| {
            let parts: Vec<_> = (0..len).map(|part| format_ident!("__Part{part}")).collect();
            let mut generics = generics.clone();
            generics.params.extend(parts.iter().zip(fields).map(
                |(part, KeyField { ty, .. })| -> GenericParam {
                    parse_quote!(#part: ::skeindb::typed::AsKey<#ty>)
                },
            ));
            let (parameters, _, _) = generics.split_for_impl();
            quote! {
                #[automatically_derived]
                impl #parameters ::skeindb::typed::KeyPrefix<#name #arguments> for (#(#parts,)*) #conditions {
                    fn encode_prefix(&self, __out: &mut ::std::vec::Vec<u8>) {
                        ::skeindb::typed::EncodeKey::encode_part(self, __out);
                    }
                }
            }
        })
        .collect()
}
