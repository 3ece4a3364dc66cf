//! Opening, on a thread of its own: the caller's shows the progress and notices Ctrl-C.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use skeindb::{Db, DbBuilder, Durability, OpenProgress, OptionKind};

use crate::core::{DbCore, durability_named};
use crate::database::Database;
use crate::failure::{Failure, Result};

/// How often the progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// Sets the options of a builder that have a value.
fn set_options(mut builder: DbBuilder, options: &Bound<'_, PyDict>) -> Result<DbBuilder> {
    for row in DbBuilder::OPTIONS {
        let Some(value) = options.get_item(row.name)?.filter(|value| !value.is_none()) else { continue };
        let text = match row.kind {
            OptionKind::Name(_) => value.extract::<String>()?,
            OptionKind::Switch { .. } => if value.extract()? { "yes" } else { "no" }.to_owned(),
            _ => value.extract::<usize>()?.to_string(),
        };
        builder = builder.set(row.name, &text)?;
    }
    Ok(builder)
}

/// Returns the durability of the database that these options open.
fn opened_durability(path: Option<&PathBuf>, options: &Bound<'_, PyDict>) -> Result<Durability> {
    match options.get_item("durability")?.filter(|name| !name.is_none()) {
        Some(name) => durability_named(&name.extract::<String>()?),
        None if path.is_none() => Ok(Durability::None),
        None => Ok(Durability::default()),
    }
}

/// Opens a database; see `skeindb.open`, which also closes it when the interpreter ends.
#[pyfunction]
pub(crate) fn open<'py>(
    py: Python<'py>,
    path: Option<PathBuf>,
    progress: Option<Bound<'py, PyAny>>,
    options: &Bound<'py, PyDict>,
) -> Result<Bound<'py, Database>> {
    let seen = Arc::new(OpenProgress::default());
    let builder = path.as_ref().map_or_else(Db::memory_builder, Db::builder).progress(seen.clone());
    let builder = set_options(builder, options)?;
    let durability = opened_durability(path.as_ref(), options)?;
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
