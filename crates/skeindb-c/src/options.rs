//! The options of opening a database.

use std::ffi::c_char;
use std::fmt::Display;

use skeindb::{DbBuilder, Durability, OptionKind};

use crate::border::{Failure, Result};
use crate::memory;
use crate::status::Status;
use crate::versioned::Versioned;

/// Options for opening a database. A field that is 0 has its default, so this is enough:
///
///     skein_options options = {.size = sizeof options, .engine = SKEIN_ENGINE_DISK};
///
/// Later versions append fields. Programs that were compiled with this header keep working.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// `sizeof(skein_options)`.
    pub size: usize,
    /// Memory for pages of the disk engine in bytes; 256 MiB if 0, and 64 KiB at least.
    pub cache_bytes: u64,
    /// The most memory of the engine in memory in bytes; no limit if 0.
    pub memory_limit: u64,
    /// SKEIN_ENGINE_*. By default a folder keeps its engine, and a new one has the engine in
    /// memory.
    pub engine: u32,
    /// SKEIN_DURABILITY_*, buffered by default. It may differ between openings.
    pub durability: u32,
    /// SKEIN_INDEX_*, of the engine in memory; a Masstree by default. It may differ between
    /// openings.
    pub index: u32,
    /// SKEIN_EVICTION_*, the keys that are evicted at `memory_limit`; none by default.
    pub eviction: u32,
    /// 1 if the database must exist; 0 to create it if it is missing.
    pub must_exist: u32,
    /// The most snapshots and transactions at a time, as many as there can be if 0: 65,536.
    pub max_snapshots: u32,
    /// The most bytes that the engine in memory keeps for snapshots: rows that were replaced or
    /// removed. Over it the oldest snapshot ends. A quarter of `memory_limit` if 0.
    pub max_snapshot_memory: u64,
    /// Any options of the library as text: `name=value`, with spaces between several, such as
    /// "engine=disk cache_bytes=67108864". It is read after the other fields. NULL for none.
    pub text: *const c_char,
}

// SAFETY: unsigned integers and a pointer, an even number of the narrow ones together: no padding.
unsafe impl Versioned for Options {}

fn unknown(name: &str, number: impl Display, last: impl Display) -> Failure {
    let text = format!("the option `{name}` is {number}, but it must be from 0 to {last}");
    Failure::new(Status::SKEIN_BAD_OPTION, text)
}

/// Returns the text of the value that a number other than 0 stands for.
fn text_of(option: &str, number: u64) -> Result<String> {
    let row = DbBuilder::OPTIONS.iter().find(|row| row.name == option);
    let Some(OptionKind::Name(names)) = row.map(|row| &row.kind) else { return Ok(number.to_string()) };
    let (names, at) = (names(), usize::try_from(number - 1).unwrap_or(usize::MAX));
    names.get(at).map(|(name, _)| (*name).to_owned()).ok_or_else(|| unknown(option, number, names.len()))
}

/// Returns the durability with this number; 0 stands for the default.
pub(crate) fn durability(number: u32) -> Result<Option<Durability>> {
    let level = Durability::ALL.into_iter().zip(1..).find(|(_, known)| *known == number);
    if level.is_none() && number > 0 {
        return Err(unknown("durability", number, Durability::ALL.len()));
    }
    Ok(level.map(|(level, _)| level))
}

impl Options {
    /// Sets the options of a builder.
    ///
    /// # Safety
    /// Invariant 3, for `text`.
    pub(crate) unsafe fn apply(&self, mut builder: DbBuilder) -> Result<DbBuilder> {
        let fields = [
            ("engine", self.engine.into()),
            ("durability", self.durability.into()),
            ("index", self.index.into()),
            ("eviction", self.eviction.into()),
            ("cache_bytes", self.cache_bytes),
            ("memory_limit", self.memory_limit),
            ("max_snapshots", self.max_snapshots.into()),
            ("max_snapshot_memory", self.max_snapshot_memory),
        ];
        for (name, number) in fields.into_iter().filter(|(_, number)| *number > 0) {
            builder = builder.set(name, &text_of(name, number)?)?;
        }
        if self.must_exist > 1 {
            return Err(unknown("must_exist", self.must_exist, 1));
        }
        builder = builder.create(self.must_exist == 0);
        if self.text.is_null() {
            return Ok(builder);
        }
        // SAFETY: not NULL, and the caller's promise.
        for option in unsafe { memory::text(self.text, "options->text") }?.split_whitespace() {
            let (name, value) = option.split_once('=').ok_or_else(|| {
                let text =
                    format!("`options->text` has {option:?}; write name=value, with spaces between options");
                Failure::new(Status::SKEIN_BAD_OPTION, text)
            })?;
            builder = builder.set(name, value)?;
        }
        Ok(builder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::versioned;

    /// Padding would have no value in a program in C.
    #[test]
    fn options_have_no_padding() {
        let fields = 2 * size_of::<usize>() + 3 * size_of::<u64>() + 6 * size_of::<u32>();
        assert_eq!(size_of::<Options>(), fields);
    }

    #[test]
    fn structs_of_other_versions_are_read() {
        #[repr(C)]
        struct Longer(Options, u64);
        let size = size_of::<Longer>();
        let mut longer = Longer(Options { size, engine: 2, ..versioned::zero() }, 0);
        let read = |options: &Options| {
            // SAFETY: each begins with its size, or a smaller one.
            unsafe { versioned::read(std::ptr::from_ref(options), "options") }
                .map_err(|failure| failure.status)
        };
        // SAFETY: it begins with its size.
        let whole = || unsafe { versioned::read((&raw const longer).cast::<Options>(), "options") };
        assert_eq!(whole().expect("zeros behind it").engine, 2);
        longer.1 = 1 << 40;
        // SAFETY: as above.
        let read_longer = unsafe { versioned::read((&raw const longer).cast::<Options>(), "options") };
        assert_eq!(read_longer.map_err(|failure| failure.status).err(), Some(Status::SKEIN_BAD_OPTION));
        let shorter =
            Options { size: size_of::<usize>() + 8, cache_bytes: 7, engine: 2, ..versioned::zero() };
        let shorter = read(&shorter).expect("an older one");
        assert_eq!((shorter.cache_bytes, shorter.engine), (7, 0));
        assert_eq!(read(&versioned::zero()).err(), Some(Status::SKEIN_MISUSE));
    }
}
