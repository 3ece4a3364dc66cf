//! `#[derive(StoredValue)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DeriveInput, parse_quote};

/// Returns the implementations of `AsValue` and `StoredValue`.
pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let name = &input.ident;
    let mut generics = input.generics.clone();
    generics.make_where_clause().predicates.push(parse_quote!(Self: ::skeindb::typed::SerdeValue));
    let (parameters, arguments, conditions) = generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #parameters ::skeindb::typed::AsValue<#name #arguments> for #name #arguments #conditions {
            fn encode_value(
                &self,
                __out: &mut ::std::vec::Vec<u8>,
            ) -> ::std::result::Result<(), ::skeindb::typed::EncodeError> {
                ::skeindb::typed::encode_postcard(self, __out)
            }
        }

        #[automatically_derived]
        impl #parameters ::skeindb::typed::StoredValue for #name #arguments #conditions {
            fn decode_value(
                __bytes: &[u8],
            ) -> ::std::result::Result<Self, ::skeindb::typed::DecodeError> {
                ::skeindb::typed::decode_postcard(__bytes)
            }
        }
    }
}
