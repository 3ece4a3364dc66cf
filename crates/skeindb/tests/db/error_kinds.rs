//! The kinds of errors.

use skein_disk::DiskError;
use skein_log::LogError;
use skeindb::{Db, Engine, Error, ErrorKind};

#[test]
fn errors_of_both_engines_have_the_same_kinds() {
    let folder = tempfile::tempdir().expect("a folder");
    for engine in [Engine::Memory, Engine::Disk] {
        let path = folder.path().join(format!("{engine:?}"));
        let db = Db::builder(&path).engine(engine).open().expect("a database");
        let geese = db.keyspace("geese").expect("a keyspace");
        let long = geese.insert(vec![0; 65_536], "").expect_err("a long key");
        assert_eq!(long.kind(), ErrorKind::Limit, "{long}");
        geese.insert("grey", "goose").expect("an insert");
        let word = geese.increment("grey", 1).expect_err("no integer");
        assert_eq!(word.kind(), ErrorKind::Invalid, "{word}");
        geese.insert("grey", i64::MAX.to_string()).expect("an insert");
        let sum = geese.increment("grey", 1).expect_err("an overflow");
        assert_eq!(sum.kind(), ErrorKind::Limit, "{sum}");
        assert!(db.drop_keyspace("geese").expect("a drop"));
        let dropped = geese.insert("grey", "").expect_err("it was dropped");
        assert_eq!(dropped.kind(), ErrorKind::Keyspace, "{dropped}");
        let backup = db.backup(folder.path()).expect_err("a folder with contents");
        assert_eq!(backup.kind(), ErrorKind::Io, "{backup}");
        db.close().expect("the close");
        let closed = geese.get("grey").expect_err("it is closed");
        assert_eq!(closed.kind(), ErrorKind::Closed, "{closed}");
    }
}

#[test]
fn an_error_of_the_log_has_a_kind_of_its_own() {
    let path = || "folder".into();
    let of = |error| Error::from(DiskError::from(error)).kind();
    assert_eq!(of(LogError::NotAFolder { path: path() }), ErrorKind::Invalid);
    assert_eq!(of(LogError::Damaged { path: path(), offset: 7, what: "cut".into() }), ErrorKind::Damaged);
    assert_eq!(of(LogError::NoRoom { cause: "full".into() }), ErrorKind::Io);
    assert_eq!(of(LogError::Closed), ErrorKind::Closed);
    assert_eq!(of(LogError::Cancelled), ErrorKind::Cancelled);
}
