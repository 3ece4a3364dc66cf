//! Counts the rows and writes that searches visit, for tests that bound their cost by steps and not
//! by time.

use std::cell::Cell;

thread_local! { static STEPS: Cell<usize> = const { Cell::new(0) } }

/// Counts one visited row or write.
pub(super) fn step() {
    STEPS.set(STEPS.get() + 1);
}

/// Returns the steps of `act`, and its value.
fn steps_of<R>(act: impl FnOnce() -> R) -> (usize, R) {
    let before = STEPS.get();
    let answer = act();
    (STEPS.get() - before, answer)
}

use crate::{Db, Keyspace, Result, Transaction};

/// Writes of the transaction.
const WRITES: u32 = 2_000;
/// The nodes that one search may visit, however many writes there are.
const SEARCH: usize = 40;

/// Checks the steps of each search that should find the row `first`, or `last`.
fn check(tx: &Transaction, rows: &Keyspace, first: u32, last: u32) -> Result<()> {
    let (first, last) = (first.to_be_bytes(), last.to_be_bytes());
    let (steps, found) = steps_of(|| tx.first(rows));
    assert_eq!(found?.expect("a row").0, first);
    assert!(steps <= SEARCH, "first: {steps} steps");
    let (steps, found) = steps_of(|| tx.last(rows));
    assert_eq!(found?.expect("a row").0, last);
    assert!(steps <= SEARCH, "last: {steps} steps");
    let (steps, found) = steps_of(|| tx.range(rows, first..).next());
    assert_eq!(found.expect("a row")?.0, first);
    assert!(steps <= SEARCH, "range: {steps} steps");
    let (steps, found) = steps_of(|| tx.keys(rows).next_back());
    assert_eq!(found.expect("a row")?, last);
    assert!(steps <= SEARCH, "keys: {steps} steps");
    Ok(())
}

/// Incident: `first`, `last` and `range(..).next()` merged all of a transaction's writes into each
/// chunk, 200 ms at 50,000 writes. Consequence: loops of them took the square of the writes. Fix:
/// the merge is lazy, and runs of removed rows are stepped over.
#[test]
fn a_search_visits_a_few_rows_whatever_the_number_of_writes() -> Result<()> {
    let db = Db::in_memory()?;
    for rows in [db.keyspace("rows")?, db.default_keyspace()] {
        let other = db.keyspace("others")?;
        rows.insert((WRITES / 2).to_be_bytes(), "of the snapshot")?;
        let mut tx = db.begin()?;
        for number in 0..WRITES {
            tx.insert(&rows, number.to_be_bytes(), "own")?;
            tx.insert(&other, number.to_be_bytes(), "of another keyspace")?;
        }
        check(&tx, &rows, 0, WRITES - 1)?;
        tx.commit()?;
        check(&db.begin()?, &rows, 0, WRITES - 1)?;
        // A queue: each search steps over the rows that were removed before.
        let mut tx = db.begin()?;
        let (steps, done) = steps_of(|| -> Result<()> {
            for number in 0..WRITES / 2 {
                assert_eq!(tx.first(&rows)?.expect("a row").0, number.to_be_bytes());
                tx.remove(&rows, number.to_be_bytes())?;
                let last = WRITES - 1 - number;
                if last > WRITES / 2 {
                    assert_eq!(tx.last(&rows)?.expect("a row").0, last.to_be_bytes());
                    tx.remove(&rows, last.to_be_bytes())?;
                }
            }
            Ok(())
        });
        done?;
        assert!(steps <= WRITES as usize * SEARCH, "{steps} steps for {WRITES} removals");
        check(&tx, &rows, WRITES / 2, WRITES / 2)?;
        // Rows that were inserted and removed again leave nothing to step over, either.
        let mut tx = db.begin()?;
        for number in WRITES..2 * WRITES {
            tx.insert(&rows, number.to_be_bytes(), "own")?;
        }
        for number in WRITES..2 * WRITES {
            tx.remove(&rows, number.to_be_bytes())?;
        }
        assert_eq!(tx.last(&rows)?.expect("a row").0, (WRITES - 1).to_be_bytes());
        check(&tx, &rows, 0, WRITES - 1)?;
    }
    Ok(())
}

/// Incident: going back to a savepoint looked at all savepoints before it, and forgot which rows
/// the transaction's removals hide. Consequence: loops of savepoints took the square of the writes.
/// Fix: the savepoint is found by its number, and only the undone writes show their rows again.
#[test]
fn a_rollback_costs_what_it_undoes() -> Result<()> {
    let db = Db::in_memory()?;
    let rows = db.keyspace("rows")?;
    for number in 0..=WRITES {
        rows.insert(number.to_be_bytes(), "row")?;
    }
    let mut tx = db.begin()?;
    for number in 1..WRITES {
        tx.remove(&rows, number.to_be_bytes())?;
    }
    assert_eq!(tx.first(&rows)?.expect("a row").0, 0_u32.to_be_bytes());
    let (steps, done) = steps_of(|| -> Result<()> {
        for _ in 0..WRITES {
            let savepoint = tx.savepoint();
            tx.remove(&rows, 0_u32.to_be_bytes())?;
            assert_eq!(tx.first(&rows)?.expect("a row").0, WRITES.to_be_bytes());
            tx.rollback_to(savepoint)?;
            assert_eq!(tx.first(&rows)?.expect("a row").0, 0_u32.to_be_bytes());
        }
        Ok(())
    });
    done?;
    assert!(steps <= WRITES as usize * SEARCH, "{steps} steps for {WRITES} rollbacks");
    // A removal that is undone shows its row again, between rows that stay hidden.
    let savepoint = tx.savepoint();
    tx.remove(&rows, 0_u32.to_be_bytes())?;
    tx.insert(&rows, 7_u32.to_be_bytes(), "again")?;
    tx.remove(&rows, 7_u32.to_be_bytes())?;
    assert_eq!(tx.first(&rows)?.expect("a row").0, WRITES.to_be_bytes());
    tx.rollback_to(savepoint)?;
    let left: Vec<_> = tx.keys(&rows).collect::<Result<_>>()?;
    assert_eq!(left, [0, WRITES].map(u32::to_be_bytes));
    Ok(())
}

/// Many writes to one key behind a savepoint are undone by one step, not by one for each write.
#[test]
fn writes_to_one_key_behind_a_savepoint_leave_one_undo() -> Result<()> {
    let db = Db::in_memory()?;
    let rows = db.keyspace("rows")?;
    let mut tx = db.begin()?;
    tx.insert(&rows, "goose", "0")?;
    let outer = tx.savepoint();
    for _ in 0..WRITES {
        tx.increment(&rows, "goose", 1)?;
    }
    let inner = tx.savepoint();
    for _ in 0..WRITES {
        tx.increment(&rows, "goose", 1)?;
    }
    for (savepoint, value) in [(inner, WRITES), (inner, WRITES), (outer, 0)] {
        let (steps, undone) = steps_of(|| tx.rollback_to(savepoint));
        undone?;
        assert!(steps <= 2, "{steps} steps");
        assert_eq!(tx.get(&rows, "goose")?, Some(value.to_string().into_bytes()));
        tx.increment(&rows, "goose", 5)?;
        tx.increment(&rows, "goose", 5)?;
    }
    tx.rollback_to(outer)?;
    assert_eq!(tx.get(&rows, "goose")?, Some(b"0".to_vec()));
    Ok(())
}
