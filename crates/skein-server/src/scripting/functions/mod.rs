//! The libraries of functions that FUNCTION LOAD has added, and the row that keeps them.
//!
//! ```text
//!   source ─► LibraryHead ─► the code runs in an engine (`loading`) ─► FunctionLibrary
//!                                                                        │
//!   FunctionRegistry ◄── FunctionLibraries ◄─────────────────────────────┘
//!                            └─► payload of FUNCTION DUMP ─► one row of the engine
//! ```
//!
//! All libraries are one row, so a change of several is whole (FUNCTION RESTORE, FUNCTION FLUSH). A
//! change writes the row first, and its reply waits for it as that of SET does. The row's key is
//! `skein_data::FUNCTIONS_KEY`, which no client can name.
//!
//! Each worker runs the code of a library when it first calls one of its functions. Every change
//! has a new generation. When a worker sees it, it forgets the removed libraries.
//!
//! # Invariants
//! 1. `changing` is held from the copy of the libraries until the changed copy replaces them, so
//!    the row and the libraries change in the same order.
//!
//! Read in this order: this file, `loading`, `head`, `payload`.

mod head;
mod loading;
mod payload;

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use skein_data::{Engine, EngineKeys, FUNCTIONS_KEY, Ticket};
use skein_script::{RegisteredFunction, ScriptEngine};
use skein_sync::locks::lock;

use crate::StartError;
use crate::request::command_error::CommandError;
pub(crate) use head::LibraryHead;
pub(crate) use loading::{ensure_loaded, load_library, load_payload, load_row, log_line};
pub(crate) use payload::DAMAGED;

/// A library.
#[derive(Debug)]
pub(crate) struct FunctionLibrary {
    /// Names the library in the engines of the workers. Every load has a number of its own.
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) source: Box<[u8]>,
    code_at: usize,
    pub(crate) functions: Vec<RegisteredFunction>,
    /// The reason why the library has no functions: its code failed at the start of the server.
    pub(crate) fault: Option<String>,
}

impl FunctionLibrary {
    /// Returns the source without its first line.
    fn code(&self) -> &[u8] {
        &self.source[self.code_at..]
    }

    fn bytes(&self) -> usize {
        let functions = self
            .functions
            .iter()
            .map(|function| function.name.len() * 2 + function.description.as_ref().map_or(0, Vec::len));
        size_of::<Self>() + self.source.len() + functions.sum::<usize>()
    }
}

/// A function with its library.
#[derive(Debug, Clone)]
pub(crate) struct LibraryFunction {
    pub(crate) library: Arc<FunctionLibrary>,
    at: usize,
}

impl LibraryFunction {
    pub(crate) fn about(&self) -> &RegisteredFunction {
        &self.library.functions[self.at]
    }
}

/// Libraries and their functions. No two libraries have a function of one name.
#[derive(Debug, Clone, Default)]
pub(crate) struct FunctionLibraries {
    by_name: BTreeMap<String, Arc<FunctionLibrary>>,
    /// As in Redis, functions are found in any case: the names are in lower case.
    functions: HashMap<String, LibraryFunction>,
}

impl FunctionLibraries {
    /// Returns the function of this name.
    pub(crate) fn function(&self, name: &[u8]) -> Option<&LibraryFunction> {
        self.functions.get(&str::from_utf8(name).ok()?.to_ascii_lowercase())
    }

    /// Returns the libraries in the order of their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<FunctionLibrary>> {
        self.by_name.values()
    }

    /// Returns the number of libraries, and the number of functions.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.by_name.len(), self.iter().map(|library| library.functions.len()).sum())
    }

    /// Returns the number of libraries with code that failed at the start.
    pub(crate) fn failed(&self) -> usize {
        self.iter().filter(|library| library.fault.is_some()).count()
    }

    /// Errors if there is a library of this name.
    pub(crate) fn check_absent(&self, name: &str) -> Result<(), CommandError> {
        if !self.by_name.contains_key(name) {
            return Ok(());
        }
        Err(CommandError::owned(format!("ERR Library '{name}' already exists")))
    }

    /// Adds a library.
    ///
    /// # Errors
    /// There is a library of this name, unless the new one `replaces` it, or another library has a
    /// function of the same name. The libraries must not be used then.
    pub(crate) fn insert(&mut self, library: FunctionLibrary, replaces: bool) -> Result<(), CommandError> {
        if replaces {
            self.remove(library.name.as_bytes());
        }
        self.check_absent(&library.name)?;
        self.link(&Arc::new(library))
    }

    fn link(&mut self, library: &Arc<FunctionLibrary>) -> Result<(), CommandError> {
        for (at, function) in library.functions.iter().enumerate() {
            match self.functions.entry(function.name.to_ascii_lowercase()) {
                Entry::Vacant(free) => _ = free.insert(LibraryFunction { library: Arc::clone(library), at }),
                // Redis lets a library have two names that differ by case, and finds the first.
                Entry::Occupied(taken) if taken.get().library.id == library.id => {}
                Entry::Occupied(_) => {
                    let name = &function.name;
                    return Err(CommandError::owned(format!("ERR Function {name} already exists")));
                }
            }
        }
        self.by_name.insert(library.name.clone(), Arc::clone(library));
        Ok(())
    }

    /// Removes a library. Returns `false` if no library has this name.
    pub(crate) fn remove(&mut self, name: &[u8]) -> bool {
        let removed = str::from_utf8(name).ok().and_then(|name| self.by_name.remove(name));
        for function in removed.iter().flat_map(|library| &library.functions) {
            self.functions.remove(&function.name.to_ascii_lowercase());
        }
        removed.is_some()
    }

    /// Adds other libraries, which may replace those of the same names if `replaces`.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub(crate) fn join(&mut self, others: &Self, replaces: bool) -> Result<(), CommandError> {
        for library in others.iter() {
            if self.by_name.contains_key(&library.name) && !replaces {
                return Err(CommandError::owned(format!("ERR Library {} already exists", library.name)));
            }
            self.remove(library.name.as_bytes());
        }
        others.iter().try_for_each(|library| self.link(library))
    }

    /// Returns the payload of FUNCTION DUMP.
    pub(crate) fn dump(&self) -> Vec<u8> {
        payload::write(self.iter().map(|library| &*library.source))
    }
}

/// The libraries of a server.
#[derive(Debug, Default)]
pub(crate) struct FunctionRegistry {
    current: Mutex<Arc<FunctionLibraries>>,
    /// Invariant 1.
    changing: Mutex<()>,
    /// A part of the memory that counts towards the limit.
    bytes: AtomicUsize,
    generation: AtomicU64,
    last_id: AtomicU64,
}

impl FunctionRegistry {
    /// Reads the libraries that an engine keeps. One that fails is kept, and logged.
    ///
    /// # Errors
    /// If the row cannot be read.
    pub(crate) fn open(engine: &Engine, script_memory: usize) -> Result<Self, StartError> {
        let registry = Self::default();
        let failed = |why: String| StartError::Functions { why };
        let Some(row) = engine.get(FUNCTIONS_KEY).map_err(|error| failed(error.to_string()))? else {
            return Ok(registry);
        };
        let mut lua = ScriptEngine::new(script_memory).map_err(|error| failed(error.to_string()))?;
        let libraries = load_row(&row, &registry, &mut lua)
            .map_err(|error| failed(String::from_utf8_lossy(error.bytes()).into_owned()))?;
        let (count, functions) = libraries.counts();
        tracing::info!(libraries = count, functions, "loaded the functions");
        registry.set(libraries);
        Ok(registry)
    }

    /// Returns the present libraries.
    pub(crate) fn libraries(&self) -> Arc<FunctionLibraries> {
        Arc::clone(&lock(&self.current))
    }

    /// Returns the number of changes so far.
    pub(crate) fn generation(&self) -> u64 {
        // Relaxed: a worker that sees a change late keeps a library that no request names.
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns the bytes of all libraries.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns a number for a library.
    pub(crate) fn next_id(&self) -> u64 {
        self.last_id.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn set(&self, libraries: FunctionLibraries) {
        let bytes = libraries.iter().map(|library| library.bytes()).sum();
        *lock(&self.current) = Arc::new(libraries);
        // Relaxed: a statistic, and a number that says only that something changed.
        self.bytes.store(bytes, Ordering::Relaxed);
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Changes the libraries and their row. Returns the ticket of the row. If `change` or the write
    /// fails, nothing is changed.
    pub(crate) fn change(
        &self,
        keys: &mut EngineKeys,
        change: impl FnOnce(&mut FunctionLibraries) -> Result<(), CommandError>,
    ) -> Result<Ticket, CommandError> {
        let _changing = lock(&self.changing);
        let mut changed = (*self.libraries()).clone();
        change(&mut changed)?;
        let ticket = store(keys, &changed)?;
        self.set(changed);
        Ok(ticket)
    }

    /// Reads the libraries again, after the engine has undone a transaction that changed them.
    pub(crate) fn reload(&self, engine: &Engine, lua: &mut ScriptEngine) -> Result<(), CommandError> {
        let _changing = lock(&self.changing);
        let libraries = match engine.get(FUNCTIONS_KEY)? {
            Some(row) => load_row(&row, self, lua)?,
            None => FunctionLibraries::default(),
        };
        self.set(libraries);
        Ok(())
    }

    /// Returns the numbers of the present libraries.
    pub(crate) fn ids(&self) -> HashSet<u64> {
        self.libraries().iter().map(|library| library.id).collect()
    }
}

/// Writes the row.
fn store(keys: &mut EngineKeys, libraries: &FunctionLibraries) -> Result<Ticket, CommandError> {
    let (written, ticket) = keys.write(|writer| match libraries.counts().0 {
        0 => writer.remove(FUNCTIONS_KEY).map(drop),
        _ => writer.put(FUNCTIONS_KEY, &libraries.dump()),
    });
    written??;
    Ok(ticket)
}

#[cfg(test)]
mod tests {
    use skein_script::FunctionFlags;

    use super::*;

    static NUMBER: AtomicU64 = AtomicU64::new(0);

    fn library(name: &str, functions: &[&str]) -> FunctionLibrary {
        let about = |name: &&str| RegisteredFunction {
            name: (*name).to_owned(),
            description: None,
            flags: FunctionFlags::default(),
        };
        FunctionLibrary {
            id: NUMBER.fetch_add(1, Ordering::Relaxed),
            name: name.to_owned(),
            source: format!("#!lua name={name}\n").into_bytes().into(),
            code_at: 0,
            functions: functions.iter().map(about).collect(),
            fault: None,
        }
    }

    fn libraries(all: &[(&str, &[&str])]) -> FunctionLibraries {
        let mut libraries = FunctionLibraries::default();
        for (name, functions) in all {
            libraries.insert(library(name, functions), false).unwrap();
        }
        libraries
    }

    #[test]
    fn names_are_used_once() {
        let mut all = libraries(&[("a", &["f", "g"]), ("b", &["h"])]);
        let texts = |error: CommandError| String::from_utf8_lossy(error.bytes()).into_owned();
        let mut copy = all.clone();
        assert_eq!(
            texts(copy.insert(library("a", &["x"]), false).unwrap_err()),
            "ERR Library 'a' already exists"
        );
        assert_eq!(
            texts(copy.insert(library("c", &["h"]), false).unwrap_err()),
            "ERR Function h already exists"
        );
        all.insert(library("a", &["g", "i", "I"]), true).unwrap();
        assert!(all.function(b"f").is_none());
        assert_eq!(all.function(b"I").unwrap().about().name, "i");
        assert_eq!(all.counts(), (2, 4));
        assert!(all.remove(b"a") && !all.remove(b"a"));
        assert_eq!(all.counts(), (1, 1));
    }

    #[test]
    fn libraries_are_joined_as_in_redis() {
        let all = libraries(&[("a", &["f"]), ("b", &["g"])]);
        let other = libraries(&[("b", &["f"])]);
        assert!(all.clone().join(&other, false).is_err(), "b exists");
        assert!(all.clone().join(&other, true).is_err(), "f exists");
        let mut joined = all;
        joined.join(&libraries(&[("a", &["g"]), ("b", &["f"]), ("c", &["h"])]), true).unwrap();
        assert_eq!(joined.function(b"g").unwrap().library.name, "a");
        assert_eq!(joined.counts(), (3, 3));
    }
}
