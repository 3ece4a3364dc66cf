//! The values of options, and the fields that hold them.

use std::path::PathBuf;
use std::time::Duration;

use skein_data::{Durability, Eviction, IndexKind};
use skein_disk::ReplacementPolicy;

use super::OutputLimit;
use crate::ClientMemoryLimit;

/// The value of an option, on the way from the command line to its field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldValue {
    /// A text, or a number with a unit.
    Text(String),
    /// A plain number.
    Number(u64),
    /// A time.
    Time(Duration),
    /// Whether the option is given at all.
    Switch(bool),
    /// A path.
    Path(PathBuf),
    /// Paths, of an option that may be given several times.
    Paths(Vec<PathBuf>),
    /// A memory limit of clients.
    ClientMemory(ClientMemoryLimit),
    /// The option has no value.
    Absent,
}

/// A field that an option sets.
pub trait OptionField {
    /// Returns the present value.
    fn value(&self) -> FieldValue;

    /// Sets a value of the field's type.
    ///
    /// # Errors
    /// The reason, if the field cannot hold the value.
    fn set(&mut self, value: FieldValue) -> Result<(), String>;
}

fn mismatch(value: &FieldValue) -> String {
    format!("{value:?} is a value of another type")
}

/// Implements [`OptionField`] for integers. A size that this machine cannot address counts as no
/// limit; any other number must fit.
macro_rules! integers {
    ($($type:ty: $convert:expr;)+) => { $(
        #[allow(clippy::cast_lossless, reason = "`u64` has no `From<usize>`")]
        impl OptionField for $type {
            fn value(&self) -> FieldValue {
                FieldValue::Number(*self as u64)
            }

            fn set(&mut self, value: FieldValue) -> Result<(), String> {
                let FieldValue::Number(number) = value else { return Err(mismatch(&value)) };
                let convert: fn(u64) -> Option<$type> = $convert;
                *self = convert(number).ok_or_else(|| format!("{number} is not in 0..={}", <$type>::MAX))?;
                Ok(())
            }
        }
    )+ };
}

integers! {
    u16: |number| number.try_into().ok();
    u32: |number| number.try_into().ok();
    u64: Some;
    usize: |number| Some(number.try_into().unwrap_or(usize::MAX));
}

/// Implements [`OptionField`] for types that have a variant of [`FieldValue`].
macro_rules! plain {
    ($($type:ty: $variant:ident;)+) => { $(
        impl OptionField for $type {
            fn value(&self) -> FieldValue {
                FieldValue::$variant(self.clone())
            }

            fn set(&mut self, value: FieldValue) -> Result<(), String> {
                let FieldValue::$variant(value) = value else { return Err(mismatch(&value)) };
                *self = value;
                Ok(())
            }
        }
    )+ };
}

plain! {
    bool: Switch;
    ClientMemoryLimit: ClientMemory;
    Duration: Time;
    PathBuf: Path;
    String: Text;
    Vec<PathBuf>: Paths;
}

impl<T: OptionField + Default> OptionField for Option<T> {
    fn value(&self) -> FieldValue {
        self.as_ref().map_or(FieldValue::Absent, T::value)
    }

    fn set(&mut self, value: FieldValue) -> Result<(), String> {
        let mut new = T::default();
        new.set(value)?;
        *self = Some(new);
        Ok(())
    }
}

/// Its parts are options, each with a field of its own.
impl OptionField for OutputLimit {
    fn value(&self) -> FieldValue {
        FieldValue::Absent
    }

    fn set(&mut self, value: FieldValue) -> Result<(), String> {
        Err(mismatch(&value))
    }
}

/// One of the names that an option takes.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// The name.
    pub name: &'static str,
    /// Its meaning for `--help`; may be empty.
    pub about: &'static str,
}

/// A type with named values. The names of an option follow from it.
pub trait Named: Copy + PartialEq + 'static {
    /// Returns all values, with name and meaning.
    fn all() -> Vec<(Self, Word)>;
}

impl<T: Named> OptionField for T {
    fn value(&self) -> FieldValue {
        let found = T::all().into_iter().find(|(value, _)| value == self);
        found.map_or(FieldValue::Absent, |(_, word)| FieldValue::Text(word.name.to_owned()))
    }

    fn set(&mut self, value: FieldValue) -> Result<(), String> {
        let FieldValue::Text(name) = &value else { return Err(mismatch(&value)) };
        let found = T::all().into_iter().find(|(_, word)| word.name == name);
        *self = found.ok_or_else(|| format!("there is no {name:?}"))?.0;
        Ok(())
    }
}

/// Returns the names of a type.
pub(super) fn words<T: Named>() -> Vec<Word> {
    T::all().into_iter().map(|(_, word)| word).collect()
}

/// Implements [`Named`] by a list of values, names and meanings.
macro_rules! named {
    ($type:ty { $($value:ident = $name:literal $about:literal),+ $(,)? }) => {
        impl $crate::config::value::Named for $type {
            fn all() -> Vec<(Self, $crate::config::value::Word)> {
                vec![$((Self::$value, $crate::config::value::Word { name: $name, about: $about })),+]
            }
        }
    };
}
pub(super) use named;

/// Implements [`Named`] for types that list and name their values themselves.
macro_rules! named_by_themselves {
    ($($type:ty: $about:expr;)+) => { $(
        impl Named for $type {
            fn all() -> Vec<(Self, Word)> {
                let about: fn($type) -> &'static str = $about;
                Self::ALL.iter().map(|one| (*one, Word { name: one.name(), about: about(*one) })).collect()
            }
        }
    )+ };
}

named_by_themselves! {
    Durability: Durability::about;
    Eviction: Eviction::about;
    IndexKind: IndexKind::about;
    ReplacementPolicy: |_| "";
}

/// Returns a number of bytes with the largest unit of the command line that divides it.
pub(super) fn size_text(bytes: u64) -> String {
    let units = [(40, "t"), (30, "g"), (20, "m"), (10, "k")];
    let whole = units.into_iter().find(|(bits, _)| bytes > 0 && bytes.is_multiple_of(1 << bits));
    whole.map_or_else(|| bytes.to_string(), |(bits, unit)| format!("{}{unit}", bytes >> bits))
}

/// Returns a time with the largest unit of the command line that divides it; `never` for
/// [`Duration::MAX`].
pub(super) fn time_text(time: Duration) -> String {
    let micros = time.as_micros();
    if time == Duration::MAX {
        return "never".to_owned();
    }
    let units = [(3_600_000_000, "h"), (60_000_000, "m"), (1_000_000, "s"), (1_000, "ms")];
    match units.into_iter().find(|(unit, _)| micros.is_multiple_of(*unit)) {
        _ if micros == 0 => "0".to_owned(),
        Some((unit, name)) => format!("{}{name}", micros / unit),
        None => format!("{micros}us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_units_of_the_command_line() {
        for (bytes, text) in [(0, "0"), (65535, "65535"), (1 << 10, "1k"), (64 << 20, "64m"), (3 << 40, "3t")]
        {
            assert_eq!(size_text(bytes), text);
        }
        for (micros, text) in [
            (0, "0"),
            (7, "7us"),
            (10_000, "10ms"),
            (5_000_000, "5s"),
            (300_000_000, "5m"),
            (7_200_000_000, "2h"),
        ] {
            assert_eq!(time_text(Duration::from_micros(micros)), text);
        }
        assert_eq!(time_text(Duration::MAX), "never");
    }

    #[test]
    fn a_field_rejects_values_that_it_cannot_hold() {
        let mut small = 5_u32;
        assert_eq!(
            small.set(FieldValue::Number(1 << 32)),
            Err("4294967296 is not in 0..=4294967295".to_owned())
        );
        assert!(small.set(FieldValue::Switch(true)).is_err() && small == 5);
        let mut policy = Eviction::default();
        assert!(policy.set(FieldValue::Text("lru".to_owned())).is_err());
        assert_eq!(policy.set(FieldValue::Text("allkeys-lru".to_owned())), Ok(()));
        assert_eq!(policy.value(), FieldValue::Text("allkeys-lru".to_owned()));
    }
}
