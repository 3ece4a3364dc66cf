//! Typed keyspaces over both engines: against a sorted map, with snapshots, transactions, and rows
//! of other types.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::collection::vec;
use proptest::prelude::*;
use skeindb::typed::{AsValue, DecodeError, EncodeError, StoredValue};
use skeindb::{Db, Engine, Error, Result, TypedKeyspace};

use crate::derived::{Event, Reading};
use crate::laws::{Samples, text};

/// Runs a test on a database of each engine.
fn on_both_engines(test: impl Fn(&Db) -> Result<()>) {
    test(&Db::in_memory().unwrap()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    test(&Db::builder(folder.path().join("geese")).engine(Engine::Disk).open().unwrap()).unwrap();
}

type SensorKey = (String, Option<i64>);

#[derive(Debug, Clone)]
enum Step {
    Insert(SensorKey, Event),
    Remove(SensorKey),
    Range(Bound<SensorKey>, Bound<SensorKey>),
    Prefix(String),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || (text(), prop::option::of(-2..3_i64));
    let bound = move || {
        prop_oneof![key().prop_map(Bound::Included), key().prop_map(Bound::Excluded), Just(Bound::Unbounded)]
    };
    let step = prop_oneof![
        4 => (key(), Event::samples()).prop_map(|(key, event)| Step::Insert(key, event)),
        1 => key().prop_map(Step::Remove),
        1 => (bound(), bound()).prop_map(|(start, end)| Step::Range(start, end)),
        1 => text().prop_map(Step::Prefix),
    ];
    vec(step, 1..60)
}

/// Applies the steps to a keyspace and to a sorted map, and compares their results.
fn check_steps(events: &TypedKeyspace<SensorKey, Event>, steps: Vec<Step>) -> Result<()> {
    let mut model = BTreeMap::new();
    events.clear()?;
    for step in steps {
        match step {
            Step::Insert((sensor, at), event) => {
                events.insert(&(sensor.as_str(), at), &event)?;
                model.insert((sensor, at), event);
            }
            Step::Remove(key) => assert_eq!(events.remove(&key)?, model.remove(&key).is_some()),
            Step::Range(start, end) => {
                let found = events.range((start.as_ref(), end.as_ref())).collect::<Result<Vec<_>>>()?;
                let inside =
                    |key: &SensorKey| std::ops::RangeBounds::contains(&(start.as_ref(), end.as_ref()), key);
                let expected = model.iter().filter(|(key, _)| inside(key));
                assert_eq!(
                    found,
                    expected.map(|(key, event)| (key.clone(), event.clone())).collect::<Vec<_>>()
                );
            }
            Step::Prefix(sensor) => {
                let found = events.prefix(&(sensor.as_str(),)).rev().collect::<Result<Vec<_>>>()?;
                let expected = model.iter().rev().filter(|((name, _), _)| *name == sensor);
                assert_eq!(
                    found,
                    expected.map(|(key, event)| (key.clone(), event.clone())).collect::<Vec<_>>()
                );
            }
        }
    }
    let all = events.iter().collect::<Result<BTreeMap<_, _>>>()?;
    assert_eq!(all, model);
    assert_eq!(events.first()?, model.pop_first());
    Ok(())
}

#[test]
fn random_steps_have_the_results_of_a_sorted_map() {
    on_both_engines(|db| {
        let events = db.typed("events")?;
        let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(48));
        runner.run(&steps(), |steps| Ok(check_steps(&events, steps)?)).unwrap();
        Ok(())
    });
}

#[test]
fn writes_return_typed_values() {
    on_both_engines(|db| {
        let counts: TypedKeyspace<String, u32> = db.typed("counts")?;
        assert!(counts.insert_if_absent("a", &1)?);
        assert!(!counts.insert_if_absent("a", &2)?);
        assert_eq!(counts.update("a", |old| old.map(|old| old + 1))?, Some(2));
        assert_eq!(counts.update("b", |old| old)?, None);
        assert_eq!(counts.compare_and_swap("a", Some(&7), None)?, Err(Some(2)));
        assert_eq!(counts.compare_and_swap("b", None, Some(&9))?, Ok(()));
        assert_eq!(counts.get_many(["b", "x", "a"])?, [Some(9), None, Some(2)]);
        assert_eq!(counts.next_after("a")?, Some(("b".to_owned(), 9)));
        assert_eq!(counts.next_before("b")?, Some(("a".to_owned(), 2)));
        assert_eq!(counts.take("b")?, Some(9));
        assert_eq!((counts.pop_last()?, counts.pop_first()?), (Some(("a".to_owned(), 2)), None));
        assert!(counts.is_empty()?);
        Ok(())
    });
}

#[test]
fn iterators_seek_typed_keys() {
    let db = Db::in_memory().unwrap();
    let squares: TypedKeyspace<i16, u32> = db.typed("squares").unwrap();
    for number in -5..5_i16 {
        squares.insert(&number, &u32::from(number.unsigned_abs()).pow(2)).unwrap();
    }
    let mut iter = squares.iter();
    iter.seek(&-2);
    iter.seek_back(&0);
    let found: Vec<_> = iter.map(Result::unwrap).collect();
    assert_eq!(found, [(-2, 4), (-1, 1), (0, 0)]);
    assert_eq!(squares.keys().next_back().map(Result::unwrap), Some(4));
    assert_eq!((squares.count(..0).unwrap(), squares.len().unwrap()), (5, 10));
    assert_eq!(squares.remove_range(..=0).unwrap(), 6);
}

#[test]
fn snapshots_and_transactions_are_typed() {
    on_both_engines(|db| {
        let readings: TypedKeyspace<Reading, f64> = db.typed("readings")?;
        let at = |at| Reading { sensor: 7, at: std::cmp::Reverse(at) };
        readings.insert(&at(1), &21.5)?;
        let before = db.snapshot()?;
        let failed = db.transaction(|tx| {
            let mut within = readings.in_transaction(tx);
            within.insert(&at(2), &22.0)?;
            assert_eq!(within.update(&at(1), |old| old.map(|old| old + 1.0))?, Some(22.5));
            assert_eq!(within.update(&at(9), |old| old)?, None);
            // The newest first.
            assert_eq!(within.first()?, Some((at(2), 22.0)));
            let found = within.prefix(&(7,)).collect::<Result<Vec<_>>>()?;
            assert_eq!(found, [(at(2), 22.0), (at(1), 22.5)]);
            assert_eq!(readings.in_transaction(tx).range(at(1)..).count(), 1);
            Err::<(), _>(Error::abort("only looked"))
        });
        assert!(failed.is_err());
        db.transaction(|tx| readings.in_transaction(tx).remove(&at(1)))?;
        assert!(readings.is_empty()?);
        assert_eq!(readings.in_snapshot(&before).get(&at(1))?, Some(21.5));
        assert_eq!(readings.in_snapshot(&before).last()?, Some((at(1), 21.5)));
        Ok(())
    });
}

#[test]
fn batches_are_typed() {
    on_both_engines(|db| {
        let readings: TypedKeyspace<Reading, f64> = db.typed("readings")?;
        let names: TypedKeyspace<u32, String> = db.typed("names")?;
        let at = |at| Reading { sensor: 7, at: std::cmp::Reverse(at) };
        readings.insert(&at(1), &21.5)?;
        let mut batch = skeindb::Batch::new();
        let past = std::time::SystemTime::UNIX_EPOCH;
        let future = std::time::SystemTime::now() + std::time::Duration::from_secs(3600);
        // The last write to a key counts.
        readings.in_batch(&mut batch).remove(&at(1)).insert(&at(2), &1.0).insert(&at(2), &22.0);
        names
            .in_batch(&mut batch)
            .insert(&7, "cellar")
            .insert_until(&8, "gone", past)
            .insert_until(&9, "here", future);
        batch.insert(&db.keyspace("untyped")?, "k", "v");
        assert_eq!((batch.len(), readings.len()?, names.len()?), (7, 1, 0));
        db.apply(&batch)?;
        assert_eq!(readings.iter().collect::<Result<Vec<_>>>()?, [(at(2), 22.0)]);
        assert_eq!(names.keys().collect::<Result<Vec<_>>>()?, [7, 9]);
        assert_eq!(names.get(&7)?.as_deref(), Some("cellar"));
        assert!(db.keyspace("untyped")?.contains_key("k")?);

        // One key that cannot be written refuses all of the batch.
        let long: TypedKeyspace<Vec<u8>, ()> = db.typed("long")?;
        long.in_batch(&mut batch).insert(&vec![0_u8; 65_536], &());
        names.in_batch(&mut batch).insert(&10, "never");
        let refused = db.apply(&batch).expect_err("the key is too long").to_string();
        assert!(refused.contains("the key has 65536 bytes"), "{refused}");
        assert!(!names.contains_key(&10)?);
        Ok(())
    });
}

/// A value that its format cannot express.
struct Inexpressible;

impl AsValue<Inexpressible> for Inexpressible {
    fn encode_value(&self, _: &mut Vec<u8>) -> Result<(), EncodeError> {
        Err(EncodeError::new::<Self>("it has no bytes"))
    }
}

impl StoredValue for Inexpressible {
    fn decode_value(_: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self)
    }
}

/// A value that cannot be written refuses the whole batch, and the error is that of the value.
#[test]
fn a_batch_with_a_value_that_cannot_be_written_writes_nothing() {
    on_both_engines(|db| {
        let names: TypedKeyspace<u32, String> = db.typed("names")?;
        let odd: TypedKeyspace<u32, Inexpressible> = db.typed("odd")?;
        for expires in [None, Some(std::time::SystemTime::now())] {
            let mut batch = skeindb::Batch::new();
            names.in_batch(&mut batch).insert(&1, "grey");
            match expires {
                Some(expires) => _ = odd.in_batch(&mut batch).insert_until(&1, &Inexpressible, expires),
                None => _ = odd.in_batch(&mut batch).insert(&1, &Inexpressible),
            }
            let refused = db.apply(batch).expect_err("a value has no bytes");
            assert!(matches!(&refused, Error::Encode(_)), "{refused}");
            assert!(refused.to_string().contains("it has no bytes"), "{refused}");
        }
        assert!(names.is_empty()? && odd.untyped().is_empty()?);
        Ok(())
    });
}

#[test]
fn rows_of_other_types_are_errors() {
    let db = Db::in_memory().unwrap();
    let texts: TypedKeyspace<String, String> = db.typed("texts").unwrap();
    texts.insert("goose", "wild").unwrap();
    texts.insert("swan", "tame").unwrap();
    let numbers: TypedKeyspace<String, u64> = TypedKeyspace::new(texts.untyped().clone());
    let error = numbers.get("goose").unwrap_err();
    assert!(matches!(error, Error::Decode(_)), "{error}");
    assert!(error.to_string().contains("cannot decode a value as `u64`"), "{error}");
    assert_eq!(numbers.iter().filter(Result::is_err).count(), 2, "an iterator proceeds behind an error");
    // A change of a value that cannot be decoded changes nothing.
    assert!(numbers.update("goose", |_| Some(1)).is_err());
    assert_eq!(texts.get("goose").unwrap().as_deref(), Some("wild"));
}

/// A key that is longer than the limit is refused as an untyped one is.
#[test]
fn long_keys_are_errors() {
    let db = Db::in_memory().unwrap();
    let keyspace: TypedKeyspace<Vec<u8>, ()> = db.typed("long").unwrap();
    let error = keyspace.insert(&vec![0_u8; 65_536], &()).unwrap_err();
    assert!(error.to_string().contains("the key has 65536 bytes"), "{error}");
}
