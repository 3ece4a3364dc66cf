//! What a row of an option is, and the macro that makes the options of such rows.

use std::ops::RangeInclusive;

use skein_data::{Durability, Eviction, IndexKind};

use super::{DbBuilder, Engine};
use crate::{Error, Result};

/// The values of an option.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum OptionKind {
    /// One of these names, each with its meaning. Programs in C give the position of a name,
    /// counted from 1, so new names are appended.
    Name(fn() -> Vec<(&'static str, &'static str)>),
    /// A number of bytes.
    Bytes(RangeInclusive<usize>),
    /// Another number.
    Count(RangeInclusive<usize>),
    /// `yes` or `no`.
    Switch {
        /// The value of an option that is not given.
        default: bool,
    },
}

/// An option with which a database is opened: a row of [`DbBuilder::OPTIONS`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DbOption {
    /// Its name, which is that of the method of [`DbBuilder`].
    pub name: &'static str,
    /// Its values, with their bounds.
    pub kind: OptionKind,
    /// The engine that has it, if only one has it.
    pub engine: Option<Engine>,
    pub(super) docs: &'static str,
    pub(super) set: fn(DbBuilder, &str) -> Option<DbBuilder>,
}

impl DbOption {
    /// Returns its meaning: the first paragraph about the method.
    pub fn help(&self) -> String {
        let paragraph = self.docs.lines().map(str::trim).take_while(|line| !line.is_empty());
        paragraph.collect::<Vec<_>>().join(" ")
    }

    /// Describes the values: names, or the bounds of a number.
    pub fn values(&self) -> String {
        match &self.kind {
            OptionKind::Name(names) => {
                names().iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
            }
            OptionKind::Bytes(bounds) | OptionKind::Count(bounds) if *bounds.end() == usize::MAX => {
                format!("{} or more", bounds.start())
            }
            OptionKind::Bytes(bounds) | OptionKind::Count(bounds) => {
                format!("{} to {}", bounds.start(), bounds.end())
            }
            OptionKind::Switch { .. } => "`yes`, `no`".into(),
        }
    }

    /// Checks the bounds.
    pub(super) fn check(&self, number: usize) -> Result<()> {
        match &self.kind {
            OptionKind::Bytes(bounds) | OptionKind::Count(bounds) if !bounds.contains(&number) => {
                Err(Error::BadOption {
                    name: self.name,
                    why: format!("{number}; it can be {}", self.values()),
                })
            }
            _ => Ok(()),
        }
    }
}

impl DbBuilder {
    /// Sets an option by its name, to a value as text: a name, a number, or `yes` or `no`.
    /// [`OPTIONS`](Self::OPTIONS) lists them.
    ///
    /// ```
    /// use skeindb::Db;
    ///
    /// let builder = Db::memory_builder().set("eviction", "allkeys-lru")?;
    /// let db = builder.set("memory_limit", "67108864")?.open()?;
    /// # db.close()?;
    /// # Ok::<(), skeindb::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such option, or the text is none of its values. [`open`](Self::open) checks the
    /// bounds of numbers.
    pub fn set(self, name: &str, value: &str) -> Result<Self> {
        let Some(row) = Self::OPTIONS.iter().find(|row| row.name == name) else {
            let known = Self::OPTIONS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
            return Err(Error::BadOption {
                name: "name",
                why: format!("there is no {name:?}; use one of {known}"),
            });
        };
        (row.set)(self, value).ok_or_else(|| {
            let why = format!("there is no value {value:?}; it can be {}", row.values());
            Error::BadOption { name: row.name, why }
        })
    }
}

/// The type of an option.
pub(super) trait OptionValue: Sized {
    /// Returns the value of a text, or `None` if no value has this text.
    fn of_text(text: &str) -> Option<Self>;

    /// Returns the number that must be within the bounds.
    fn number(&self) -> Option<usize> {
        None
    }

    /// Returns whether the value means that there is no such option, which suits every engine.
    fn is_off(&self) -> bool {
        false
    }
}

impl OptionValue for Engine {
    fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.name() == text)
    }
}

impl OptionValue for Durability {
    fn of_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.name() == text)
    }
}

impl OptionValue for IndexKind {
    fn of_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl OptionValue for Eviction {
    fn of_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn is_off(&self) -> bool {
        *self == Self::None
    }
}

impl OptionValue for usize {
    fn of_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn number(&self) -> Option<usize> {
        Some(*self)
    }
}

impl OptionValue for bool {
    fn of_text(text: &str) -> Option<Self> {
        ["no", "yes"].iter().position(|word| *word == text).map(|at| at == 1)
    }
}

/// Makes the options of [`DbBuilder`] of their rows: the field, the method that sets it, and the
/// row of [`DbBuilder::OPTIONS`]. A row is `name(parameter: type): kind, engine;` under its
/// documentation.
macro_rules! db_options {
    ($($(#[doc = $doc:literal])+ $name:ident($value:ident: $type:ty): $kind:expr, $engine:expr;)+) => {
        /// The options that were given.
        #[derive(Debug, Clone, Default)]
        pub(super) struct GivenOptions {
            $(pub $name: Option<$type>,)+
        }

        impl GivenOptions {
            /// Returns the rows of the options that were given, with their numbers.
            pub fn rows(&self) -> impl Iterator<Item = (&'static DbOption, Option<usize>)> {
                let given = [$(self.$name.as_ref().filter(|value| !value.is_off()).map(OptionValue::number)),+];
                DbBuilder::OPTIONS.iter().zip(given).filter_map(|(row, number)| Some((row, number?)))
            }
        }

        impl DbBuilder {
            /// The options that [`set`](Self::set) knows: all but the folder, the storage and the
            /// progress.
            pub const OPTIONS: &'static [DbOption] = &[$(DbOption {
                name: stringify!($name),
                kind: $kind,
                engine: $engine,
                docs: concat!($($doc, "\n"),+),
                set: |builder, text| Some(builder.$name(OptionValue::of_text(text)?)),
            }),+];

            $($(#[doc = $doc])+
            pub fn $name(mut self, $value: $type) -> Self {
                self.given.$name = Some($value);
                self
            })+
        }
    };
}
pub(super) use db_options;
