//! The shape of a type: its variants, their tags and their fields.

use syn::{Data, DeriveInput, Error, Expr, ExprLit, Fields, Ident, Lit, Result, Variant};

use crate::fields::KeyField;

/// The struct or enum that a key derives from.
pub(crate) enum KeyShape<'a> {
    Struct(Vec<KeyField<'a>>),
    Enum(Vec<KeyVariant<'a>>),
}

/// A variant of an enum, and the byte before its fields.
pub(crate) struct KeyVariant<'a> {
    pub(crate) name: &'a Ident,
    pub(crate) tag: u8,
    pub(crate) fields: Vec<KeyField<'a>>,
}

impl<'a> KeyShape<'a> {
    /// Returns the shape of the type, or an error at the code that cannot be a key.
    pub(crate) fn of(input: &'a DeriveInput) -> Result<Self> {
        match &input.data {
            Data::Struct(data) => Ok(KeyShape::Struct(fields(&data.fields))),
            Data::Enum(data) if data.variants.is_empty() => Err(Error::new_spanned(
                &input.ident,
                "an enum without variants has no values, so it is no key",
            )),
            Data::Enum(data) => variants(data.variants.iter()).map(KeyShape::Enum),
            Data::Union(data) => Err(Error::new_spanned(
                data.union_token,
                "a union has no order, so it is no key; use an enum or a struct",
            )),
        }
    }
}

fn fields(fields: &Fields) -> Vec<KeyField<'_>> {
    fields.iter().enumerate().map(|(position, field)| KeyField::new(position, field)).collect()
}

/// Gives the variants their discriminants as tags: as Rust does, one more than the variant before.
fn variants<'a>(variants: impl Iterator<Item = &'a Variant>) -> Result<Vec<KeyVariant<'a>>> {
    let mut next = Some(0_u8);
    variants
        .map(|variant| {
            let tag = match &variant.discriminant {
                Some((_, discriminant)) => explicit_tag(discriminant)?,
                None => next.ok_or_else(|| {
                    let message =
                        "a key has variants with discriminants from 0 to 255, and this one would be 256";
                    Error::new_spanned(variant, message)
                })?,
            };
            next = tag.checked_add(1);
            Ok(KeyVariant { name: &variant.ident, tag, fields: fields(&variant.fields) })
        })
        .collect()
}

fn explicit_tag(discriminant: &Expr) -> Result<u8> {
    let tag = match discriminant {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Byte(byte), .. }) => Some(byte.value()),
        _ => None,
    };
    tag.ok_or_else(|| {
        let message =
            "the discriminant of a key's variant must be a literal from 0 to 255: it is the first byte";
        Error::new_spanned(discriminant, message)
    })
}
