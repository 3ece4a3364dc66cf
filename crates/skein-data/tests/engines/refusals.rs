//! An engine refuses a write before it changes anything, and accepts the next one (contract 2, 8
//! and 10).

use skein_data::{Engine, EngineError, EngineSession, IndexKind, RowError, RowWriter};
use skein_store::StoreLimits;

use crate::contents::{Contents, State, state_of};
use crate::engines::{EngineKind, VALUE_BYTES, all, over_each};

/// Opens an engine with a value, columns and a sorted set.
fn filled(kind: EngineKind) -> Engine {
    let engine = kind.open_fresh();
    let mut session = engine.session();
    let (filled, _) = session.keys().write(|writer| {
        writer.put(b"value", b"text")?;
        writer.put_columns(b"columns", &[(b"name", b"text")])?;
        writer.change_set::<_, EngineError>(b"set", true, |set| Ok(set.put(b"member", 1.0)?))
    });
    filled.expect("a batch").expect("writes");
    engine
}

fn contents(session: &mut EngineSession) -> State {
    state_of(&mut session.keys()).expect("the contents")
}

type Refused = fn(&mut skein_data::EngineWriter<'_, '_>) -> Result<(), EngineError>;

static LONG: [u8; VALUE_BYTES + 1] = [b'x'; VALUE_BYTES + 1];
/// The longest key that can expire.
const EXPIRES: usize = 65_527;
static LONG_NAME: [u8; 1 << 16] = [b'k'; 1 << 16];

/// Writes that must be refused over the contents of [`filled`].
const REFUSED: [(&str, Refused); 15] = [
    ("put of a long key", |writer| writer.put(&LONG_NAME, b"x")),
    ("put of a long value", |writer| writer.put(b"value", &LONG)),
    ("put_until of a long value", |writer| writer.put_until(b"value", &LONG, u64::MAX)),
    ("a time for a long key", |writer| writer.put_until(&LONG_NAME[..=EXPIRES], b"x", u64::MAX)),
    ("columns at a value", |writer| writer.put_columns(b"value", &[(b"a", b"b")]).map(drop)),
    ("columns at a set", |writer| writer.put_columns(b"set", &[(b"a", b"b")]).map(drop)),
    ("a long column", |writer| writer.put_columns(b"columns", &[(b"a", &LONG)]).map(drop)),
    ("columns at a long key", |writer| writer.put_columns(&LONG_NAME, &[(b"a", b"b")]).map(drop)),
    ("long columns", |writer| writer.replace_columns(b"set", &[(b"a", &LONG)], None)),
    ("a number at text", |writer| writer.increment(b"value", 1).map(drop)),
    ("a number at columns", |writer| writer.increment(b"columns", 1).map(drop)),
    ("a number in a column of text", |writer| writer.increment_column(b"columns", b"name", 1).map(drop)),
    ("a set at a value", |writer| put_member(writer, b"value", b"member", 1.0)),
    ("a member that is too long", |writer| put_member(writer, b"set", &LONG_NAME, 1.0)),
    ("a score that is no number", |writer| put_member(writer, b"set", b"other", f64::NAN)),
];

fn put_member(
    writer: &mut skein_data::EngineWriter<'_, '_>,
    key: &[u8],
    member: &[u8],
    score: f64,
) -> Result<(), EngineError> {
    writer.change_set::<_, EngineError>(key, true, |set| Ok(set.put(member, score)?)).map(drop)
}

#[test]
fn a_refused_write_changes_nothing() {
    over_each(|kind| {
        let engine = filled(kind);
        let mut session = engine.session();
        let before = contents(&mut session);
        for (what, refused) in REFUSED {
            let (done, _) = session.keys().write(refused);
            assert!(done.is_err() || done.is_ok_and(|done| done.is_err()), "{what}");
            assert_eq!(contents(&mut session), before, "{what}");
        }
    });
}

/// Incident: the disk engine gave times to keys that are longer than the documented limit.
/// Consequence: such keys could not be copied to the engine in memory. Fix: it has the same limit.
#[test]
fn a_key_that_is_too_long_to_expire_is_refused() {
    let short_keys = EngineKind::Memory(IndexKind::Mlp);
    for kind in all().into_iter().filter(|kind| *kind != short_keys) {
        let (longest, long) = (&LONG_NAME[..EXPIRES], &LONG_NAME[..=EXPIRES]);
        let engine = kind.open_fresh();
        let mut session = engine.session();
        let (put, _) = session.keys().write(|writer| {
            writer.put_until(longest, b"x", u64::MAX)?;
            writer.put(long, b"x")
        });
        put.expect("a batch").expect("no time for the longer key");
        let before = contents(&mut session);
        let refused: [(&str, Refused); 5] = [
            ("put", |writer| writer.put_until(&LONG_NAME[..=EXPIRES], b"y", u64::MAX)),
            ("expire", |writer| writer.expire(&LONG_NAME[..=EXPIRES], Some(u64::MAX)).map(drop)),
            ("columns", |writer| {
                writer.replace_columns(&LONG_NAME[..=EXPIRES], &[(b"a", b"b")], Some(u64::MAX))
            }),
            ("a set", |writer| {
                writer.replace_set::<_, EngineError>(&LONG_NAME[..=EXPIRES], Some(u64::MAX), |set| {
                    Ok(set.put(b"m", 1.0).map(drop)?)
                })
            }),
            ("rename", |writer| writer.rename(&LONG_NAME[..EXPIRES], &LONG_NAME[..=EXPIRES], true).map(drop)),
        ];
        for (what, write) in refused {
            let error = session.keys().write(write).0.expect("a batch").expect_err(what).to_string();
            assert!(
                error.contains("65528 bytes is longer than the limit of 65527"),
                "{kind}, {what}: {error}"
            );
            assert_eq!(contents(&mut session), before, "{kind}, {what}");
        }
    }
}

#[test]
fn a_group_goes_on_after_a_refused_write() {
    over_each(|kind| {
        for (what, refused) in REFUSED {
            let engine = filled(kind);
            let mut session = engine.session();
            let mut expected = contents(&mut session);
            let mut keys = session.begin().expect("a transaction");
            keys.write(|writer| writer.put(b"first", b"1")).0.expect("a batch").expect("a put");
            let refused = keys.write(refused).0.expect("a batch");
            assert!(refused.is_err(), "{what}");
            assert!(!keys.is_broken(), "{what}");
            keys.write(|writer| writer.put(b"last", b"2")).0.expect("a batch").expect("a put");
            keys.commit().expect("a commit");
            for (key, value) in [("first", b"1"), ("last", b"2")] {
                let contents = Contents::Value(value[..].into());
                expected.insert(key.into(), crate::contents::KeyContents { contents, expires: None });
            }
            assert_eq!(contents(&mut session), expected, "{what}");
        }
    });
}

#[test]
fn a_put_of_many_is_refused_as_a_whole() {
    over_each(|kind| {
        let engine = filled(kind);
        let mut session = engine.session();
        let before = contents(&mut session);
        for bad in [(&LONG_NAME[..], &b"x"[..]), (b"value", &LONG)] {
            session.keys().put_all(&[(b"first", b"1"), bad, (b"last", b"2")]).expect_err("too long");
            assert_eq!(contents(&mut session), before);
        }
        session.keys().put_all(&[(b"first", b"1")]).expect("a put");
    });
}

#[test]
fn a_closed_engine_refuses_writes() {
    over_each(|kind| {
        let engine = filled(kind);
        let mut session = engine.session();
        engine.close().expect("a close");
        engine.close().expect("a second close changes nothing");
        let (done, _) = session.keys().write(|writer| writer.put(b"late", b"x"));
        assert!(done.is_err() || done.is_ok_and(|done| done.is_err()));
        session.keys().put_all(&[(b"late", b"x")]).expect_err("closed");
        session.keys().remove_stored(crate::contents::EVERYTHING).expect_err("closed");
        engine.checkpoint().expect_err("closed");
    });
}

#[test]
fn live_snapshots_have_a_limit() {
    over_each(|kind| {
        let engine = filled(kind);
        let limit = StoreLimits::default().snapshots;
        let mut live: Vec<_> = (0..limit).map(|_| engine.snapshot().expect("a snapshot")).collect();
        let refused = engine.snapshot().expect_err("one too many");
        assert!(matches!(refused, EngineError::Rows(RowError::TooManySnapshots { .. })), "{refused}");
        live.pop();
        engine.snapshot().expect("a place was given back");
    });
}
