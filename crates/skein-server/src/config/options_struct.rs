//! The macro that makes a struct of options, its defaults, and the rows of its fields from one
//! list.

use super::parameter::{FieldAccess, Parameter, Section};

/// The rows of one field.
pub(super) struct FieldRows {
    pub section: Section,
    /// The field's name and its documentation, which is the help of its option.
    pub field: &'static str,
    pub help: &'static str,
    pub access: FieldAccess,
    pub rows: &'static [Parameter],
}

impl FieldRows {
    /// Returns the rows, completed with the values that follow from their field.
    pub(super) fn parameters(&self) -> impl Iterator<Item = Parameter> {
        let own = |row: &Parameter| Parameter {
            field: if row.field.is_empty() { self.field } else { row.field },
            help: if row.help.is_empty() { self.help } else { row.help },
            access: if matches!(row.access, FieldAccess::Nowhere) { self.access } else { row.access },
            ..*row
        };
        self.rows.iter().map(move |row| Parameter {
            section: self.section,
            ..if row.is_global { *row } else { own(row) }
        })
    }
}

/// Makes a struct of options. Each field stands in a section, has a default, and the rows of the
/// options that set it. The first of the rows has the field's documentation as its help.
///
/// ```text
///   pub struct ServerOptions, SERVER_ROWS, Server {
///       Limits {
///           /// The most arguments of a request.
///           args_max: usize = 1 << 20 => [number("max-arguments", 16, 1 << 24)];
///       }
///   }
/// ```
macro_rules! options_struct {
    (
        $(#[$about:meta])*
        pub struct $name:ident, $rows:ident, $access:ident {
            $(
                $section:ident {
                    $(
                        $(#[doc = $doc:literal])+
                        $field:ident: $type:ty = $default:expr $(=> [$($row:expr),+ $(,)?])?;
                    )+
                }
            )+
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone)]
        pub struct $name {
            $($(
                $(#[doc = $doc])+
                ///
                #[doc = concat!("Default: `", stringify!($default), "`.")]
                pub $field: $type,
            )+)+
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($($field: $default,)+)+ }
            }
        }

        /// The rows of the fields.
        pub(super) static $rows: &[$crate::config::options_struct::FieldRows] = &[
            $($(
                $crate::config::options_struct::field_rows!(
                    $section $access $field [$($doc),+] [$($($row),+)?]
                ),
            )+)+
        ];

        $crate::config::options_struct::live_options! { $access $name { $($($field: $type,)+)+ } }
    };
}
pub(super) use options_struct;

/// Makes the rows of one field.
macro_rules! field_rows {
    ($section:ident $access:ident $field:ident [$($doc:literal),+] []) => {
        $crate::config::options_struct::FieldRows {
            section: $crate::config::Section::$section,
            field: stringify!($field),
            help: "",
            access: $crate::config::parameter::FieldAccess::Nowhere,
            rows: &[],
        }
    };
    ($section:ident $access:ident $field:ident [$($doc:literal),+] [$($row:expr),+]) => {
        $crate::config::options_struct::FieldRows {
            section: $crate::config::Section::$section,
            field: stringify!($field),
            help: concat!($($doc),+),
            access: $crate::config::parameter::FieldAccess::$access(|options| &mut options.$field),
            rows: &[$($row),+],
        }
    };
}
pub(super) use field_rows;

/// Makes the live values of the server's options. The other options do not change.
macro_rules! live_options {
    (Serve $($rest:tt)*) => {};
    (Server $name:ident { $($field:ident: $type:ty,)+ }) => {
        /// The values of options that can change while the server runs.
        #[derive(Debug)]
        #[expect(dead_code, reason = "nobody reads those that do not change")]
        pub(crate) struct LiveOptions {
            $(pub $field: <$type as $crate::config::settings::Live>::Cell,)+
        }

        impl LiveOptions {
            pub(crate) fn new(options: &$name) -> Self {
                Self { $($field: $crate::config::settings::Live::cell(&options.$field),)+ }
            }
        }
    };
}
pub(super) use live_options;
