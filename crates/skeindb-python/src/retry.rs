//! Transactions that are repeated on a conflict.

use pyo3::prelude::*;
use skeindb::{Db, Error};

use crate::failure::Result;
use crate::transaction::Transaction;

/// Runs `function` with a transaction, and again after a conflict; with an exclusive one, only
/// once.
///
/// The library's loop owns the transaction and lends it. Python has no loans, so the loop gets an
/// empty one for as long as Python has the other.
pub(crate) fn run<'py>(
    py: Python<'py>,
    db: &Db,
    function: &Bound<'py, PyAny>,
    exclusive: bool,
) -> Result<Bound<'py, PyAny>> {
    let function = function.clone().unbind();
    let mut raised = None;
    let answer = py.detach(|| {
        let body = |lent: &mut skeindb::Transaction| {
            let transaction = Transaction::new(std::mem::replace(lent, db.begin()?));
            let called = Python::attach(|py| {
                py.check_signals()?;
                let transaction = Bound::new(py, transaction)?;
                let answer = function.call1(py, (&transaction,));
                // Taken back after an exception, too: its traceback may keep the object. One that
                // the function has ended itself has nothing left to commit.
                if let Some(back) = transaction.get().end(py) {
                    *lent = back;
                }
                answer
            });
            called.map_err(|error| {
                raised = Some(error);
                Error::abort("an exception left the function")
            })
        };
        if exclusive { db.transaction_exclusive(body) } else { db.transaction(body) }
    });
    match raised {
        Some(raised) => Err(raised.into()),
        None => Ok(answer?.into_bound(py)),
    }
}
