//! Opening, on a thread of its own: the caller's shows the progress and notices Ctrl-C.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use skeindb::{Db, DbBuilder, Durability, Engine, Eviction, IndexKind, OpenProgress};

use crate::core::{DbCore, durability_named};
use crate::database::Database;
use crate::failure::{Failure, Result};

/// How often the progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

fn engine_named(name: &str) -> Result<Engine> {
    match name {
        "memory" => Ok(Engine::Memory),
        "disk" => Ok(Engine::Disk),
        _ => Err(Failure::Invalid(format!("there is no engine {name:?}; use 'memory' or 'disk'"))),
    }
}

/// Returns the value of a name that the library knows.
fn named<T: FromStr<Err: Into<skeindb::Error>>>(name: &str) -> Result<T> {
    name.parse().map_err(|error: T::Err| Failure::Db(error.into()))
}

/// The options of an opening, as Python gives them.
struct OpenOptions {
    engine: Option<String>,
    durability: Option<String>,
    index: Option<String>,
    cache_bytes: Option<usize>,
    memory_limit: Option<usize>,
    eviction: Option<String>,
    max_snapshots: Option<usize>,
    max_snapshot_memory: Option<usize>,
    create: bool,
}

impl OpenOptions {
    fn builder(&self, path: Option<&PathBuf>) -> Result<DbBuilder> {
        let mut builder = path.map_or_else(Db::memory_builder, Db::builder).create(self.create);
        if let Some(engine) = &self.engine {
            builder = builder.engine(engine_named(engine)?);
        }
        if let Some(durability) = &self.durability {
            builder = builder.durability(durability_named(durability)?);
        }
        if let Some(index) = &self.index {
            builder = builder.index(named::<IndexKind>(index)?);
        }
        if let Some(bytes) = self.cache_bytes {
            builder = builder.cache_bytes(bytes);
        }
        if let Some(bytes) = self.memory_limit {
            builder = builder.memory_limit(bytes);
        }
        if let Some(eviction) = &self.eviction {
            builder = builder.eviction(named::<Eviction>(eviction)?);
        }
        if let Some(count) = self.max_snapshots {
            builder = builder.max_snapshots(count);
        }
        if let Some(bytes) = self.max_snapshot_memory {
            builder = builder.max_snapshot_memory(bytes);
        }
        Ok(builder)
    }

    /// Returns the durability of the database that these options open.
    fn opened_durability(&self, path: Option<&PathBuf>) -> Result<Durability> {
        match &self.durability {
            Some(name) => durability_named(name),
            None if path.is_none() => Ok(Durability::None),
            None => Ok(Durability::default()),
        }
    }
}

/// Opens a database; see `skeindb.open`, which also closes it when the interpreter ends.
#[pyfunction]
#[pyo3(signature = (
    path, *, engine, durability, index, cache_bytes, memory_limit, eviction, max_snapshots, max_snapshot_memory,
    create, progress,
))]
#[expect(clippy::too_many_arguments, reason = "they are the keywords of a function of Python")]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: Option<PathBuf>,
    engine: Option<String>,
    durability: Option<String>,
    index: Option<String>,
    cache_bytes: Option<usize>,
    memory_limit: Option<usize>,
    eviction: Option<String>,
    max_snapshots: Option<usize>,
    max_snapshot_memory: Option<usize>,
    create: bool,
    progress: Option<Bound<'py, PyAny>>,
) -> Result<Bound<'py, Database>> {
    let options = OpenOptions {
        engine,
        durability,
        index,
        cache_bytes,
        memory_limit,
        eviction,
        max_snapshots,
        max_snapshot_memory,
        create,
    };
    let seen = Arc::new(OpenProgress::default());
    let builder = options.builder(path.as_ref())?.progress(seen.clone());
    let durability = options.opened_durability(path.as_ref())?;
    let (answer, opened) = channel();
    thread::Builder::new()
        .name("skein-open".into())
        .spawn(move || answer.send(builder.open()))
        .map_err(|error| Failure::Python(error.into()))?;
    let db = wait(py, &Mutex::new(opened), &seen, progress.as_ref())?;
    let engine = db.stats()?.engine;
    let core = DbCore { db, path, engine, durability, closed: AtomicBool::new(false) };
    Ok(Bound::new(py, Database::initializer(Arc::new(core)))?)
}

/// Waits for the thread that opens. If the callback raises, or a signal's handler does, the opening
/// is cancelled and that exception is raised.
fn wait(
    py: Python<'_>,
    opened: &Mutex<Receiver<skeindb::Result<Db>>>,
    seen: &OpenProgress,
    progress: Option<&Bound<'_, PyAny>>,
) -> Result<Db> {
    let show = |py: Python<'_>| {
        py.check_signals()?;
        let now = seen.seen();
        progress.map_or(Ok(()), |progress| progress.call1((now.bytes, now.bytes_total)).map(drop))
    };
    let mut raised = None;
    loop {
        let answer =
            py.detach(|| opened.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SHOWN_EVERY));
        match answer {
            Ok(opened) => {
                let db = match raised {
                    // An opening that was over before it was cancelled is closed again.
                    Some(raised) => return Err(Failure::Python(raised)),
                    None => opened?,
                };
                show(py)?;
                return Ok(db);
            }
            Err(RecvTimeoutError::Timeout) if raised.is_none() => {
                if let Err(error) = show(py) {
                    seen.cancel();
                    raised = Some(error);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Failure::Invalid("the thread that opens has panicked; report this".into()));
            }
        }
    }
}
