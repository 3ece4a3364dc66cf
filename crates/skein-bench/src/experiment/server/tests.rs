use std::collections::BTreeMap;

use super::super::{bench, named};
use super::cuckoo_fig13;
use super::expected_table::{ExpectedTable, KeyOrder, ValueShape};
use crate::experiment::{BenchPlan, BenchSettings};
use crate::keyset;
use crate::result::ResultLine;
use crate::rival::server::{COLUMNS, DialectRequest, NOOP, RowColumns};
use crate::workload::requests::{MYCSB, RequestOp, ScriptRequest, uniform_of};
use crate::workload::{RankedKeySet, ThreadShare};

/// A model of a correct server. It records a request if the expected reply differs from its own.
#[derive(Default)]
struct ServerModel {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
    rows: BTreeMap<Vec<u8>, RowColumns>,
    rows_read: usize,
}

impl ServerModel {
    fn ask(&mut self, request: DialectRequest<'_>) {
        match request {
            DialectRequest::Ping => {}
            DialectRequest::Add(key, value) => {
                assert_eq!(self.values.insert(key.to_owned(), value.to_owned()), None);
            }
            DialectRequest::Set(key, value) => {
                self.values.insert(key.to_owned(), value.to_owned()).expect("it was there");
            }
            DialectRequest::Get(key, value) => assert_eq!(self.values[key], value),
            DialectRequest::AddRow(key, columns) => {
                assert_eq!(self.rows.insert(key.to_owned(), *columns), None);
            }
            DialectRequest::GetRow(key, columns) => assert_eq!(self.rows[key], *columns),
            DialectRequest::SetColumn(key, column, value) => {
                self.rows.get_mut(key).expect("loaded")[column] = *value;
            }
            DialectRequest::Range(range) => {
                let here = self.rows.range(range.from.to_owned()..).take(range.count);
                let here = here.map(|(key, columns)| (&key[..], columns[range.column]));
                let expected: Vec<_> = range.rows.collect();
                assert_eq!(expected.len(), range.found);
                assert!(here.eq(expected.iter().copied()), "from {:?}", range.from);
                self.rows_read += expected.len();
            }
            DialectRequest::GetMany(pairs) => {
                for (key, value) in pairs {
                    assert_eq!(&self.values[*key], value);
                }
            }
            DialectRequest::SetMany(pairs) => {
                for (key, value) in pairs {
                    self.values.insert((*key).to_owned(), value.clone()).expect("it was there");
                }
            }
            DialectRequest::Keys(range) => {
                let here = self.values.range(range.from.to_owned()..).take(range.count);
                let expected: Vec<_> = range.keys.collect();
                assert_eq!(expected.len(), range.found);
                assert!(here.map(|(key, _)| &key[..]).eq(expected), "from {:?}", range.from);
                self.rows_read += range.found;
            }
        }
    }
}

#[test]
fn expected_rows_match_a_correct_server() {
    let set = keyset::make("ycsb", 300, 0, 7).expect("a good name");
    let order = KeyOrder::new(set.order());
    let mut table = ExpectedTable::new(&set.keys, ValueShape::Columns).ordered(&order);
    let mut model = ServerModel::default();
    (0..300).for_each(|number| table.add(number, |request| model.ask(request)));
    let loaded = model.rows.clone();
    for mycsb in MYCSB {
        for asking in mycsb.requests(300, COLUMNS, 3000, 7) {
            table.request(asking, |request| model.ask(request));
        }
    }
    let changed = loaded.iter().filter(|(key, columns)| model.rows[*key] != **columns).count();
    assert!(changed > 100, "puts give new values: {changed} rows have some");
    assert!(model.rows_read > 3000 * 30, "ranges are long: {}", model.rows_read);
}

#[test]
fn ranges_include_added_keys() {
    let set = keyset::make("az1", 400, 400, 7).expect("a good name");
    let all = cuckoo_fig13::joined(&set);
    let order = KeyOrder::new(all.order());
    let mut table = ExpectedTable::new(&all.keys, ValueShape::Values(8)).ordered(&order).loading(400);
    let mut model = ServerModel::default();
    (0..table.loaded()).for_each(|number| table.add(number, |request| model.ask(request)));
    let asked = RankedKeySet::new(&set);
    for (which, letter) in [3, 4, 0, 5].into_iter().enumerate() {
        for asking in cuckoo_fig13::script(&asked, letter, 1000, ThreadShare { thread: which, of: 4 }, 7) {
            table.request(asking, |request| model.ask(request));
        }
    }
    assert!(model.values.len() > 460, "{} keys", model.values.len());
    assert!(model.rows_read > 900 * 40, "ranges are long: {}", model.rows_read);
}

#[test]
fn expected_values_match_a_correct_server() {
    let set = keyset::make("decimal", 100, 0, 7).expect("a good name");
    let mut table = ExpectedTable::new(&set.keys, ValueShape::Values(8)).on_connections(5);
    let mut model = ServerModel::default();
    (0..100).for_each(|number| table.add(number, |request| model.ask(request)));
    let loaded = model.values.clone();
    for ask in [
        RequestOp::Get,
        RequestOp::Put,
        RequestOp::Get,
        RequestOp::Ping,
        RequestOp::PutMany,
        RequestOp::GetMany,
    ] {
        for asking in uniform_of(ask, 10, 100, 1000, 7) {
            table.request(asking, |request| model.ask(request));
        }
    }
    assert!(
        loaded.values().zip(model.values.values()).filter(|(before, after)| before != after).count() > 90
    );
    let again = ScriptRequest { ask: RequestOp::PutAgain, count: 0, column: 0, number: 5 };
    let before = model.values.clone();
    table.request(again, |request| model.ask(request));
    assert_eq!(before, model.values, "what is put again does not change");
}

/// Runs `server` with these contenders; returns the lines that it wrote, and its result.
fn tiny(only: &str) -> (Vec<ResultLine>, crate::Result<()>) {
    let plan = BenchPlan {
        count: Some(50),
        only: vec![only.to_owned()],
        settings: BenchSettings::parse(&["connections=7".to_owned()], &["server"]).expect("a good setting"),
        ..BenchPlan::of_a_test()
    };
    let (lines, done) = bench::run_in_test(named("server").expect("registered"), plan);
    (lines, done.map(drop))
}

#[test]
fn the_bound_is_measured_without_any_server() {
    let (lines, done) = tiny(NOOP);
    done.expect("it runs");
    let cells: Vec<_> = lines.iter().filter_map(ResultLine::cell).collect();
    assert_eq!(
        cells.len(),
        (3 * 3 + 2) * 3,
        "three kinds at three depths, two at one; rate, CPU time and p99"
    );
    for cell in cells {
        assert_eq!((&*cell.contender, cell.rounds.len()), (NOOP, 2));
        assert!(cell.rounds.iter().all(|&figure| figure > 0.0), "{}", cell.measure);
    }
}

#[test]
fn a_run_without_servers_is_an_error() {
    let (_, done) = tiny("btreemap");
    let error = done.expect_err("nobody is left").to_string();
    assert!(error.contains("no server is left") && error.contains("redis"), "{error}");
}
