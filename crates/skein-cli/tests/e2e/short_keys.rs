//! `skein serve --index mlp`: keys of up to eight bytes, and clear errors for longer ones.

use std::path::Path;

use crate::common::{SkeinServe, assert_refused, skein};
use skeindb::client::{Client, Reply};

/// Starts a server on an index, whatever the index of the other tests is.
fn start(folder: &Path, index: &str) -> Result<SkeinServe, std::process::Output> {
    let mut command =
        skein(["serve", "--listen", "127.0.0.1:0", "--durability", "sync", "--index", index, "--data"]);
    command.arg(folder);
    SkeinServe::launch(command)
}

fn ask(client: &mut Client, request: &str) -> Reply {
    let words: Vec<&[u8]> = request.split(' ').map(str::as_bytes).collect();
    client.call(&words).expect("the server answers")
}

#[test]
fn counters_survive_a_kill_and_long_keys_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "mlp").unwrap();
    let mut client = server.client();
    for turn in 1..=3 {
        for key in ["b", "a", "goose", "12345678"] {
            assert_eq!(ask(&mut client, &format!("INCR {key}")), Reply::Integer(turn));
        }
    }
    assert_eq!(ask(&mut client, "DEL b"), Reply::Integer(1));
    for request in ["SET 123456789 x", "INCR 123456789", "HSET 123456789 f v", "MSET a 1 123456789 2"] {
        let reply = ask(&mut client, request);
        let Reply::Error(error) = &reply else { panic!("{request}: {reply}") };
        assert!(error.contains("9 bytes") && error.contains("limit of 8 bytes"), "{error}");
    }
    // No such key can exist, so reads and removals do not find it.
    assert_eq!(ask(&mut client, "GET 123456789"), Reply::Null);
    assert_eq!(ask(&mut client, "DEL 123456789"), Reply::Integer(0));
    assert_eq!(ask(&mut client, "GET a"), Reply::Bulk(b"3".to_vec()));
    server.kill();

    let server = start(folder.path(), "mlp").unwrap();
    let mut client = server.client();
    assert_eq!(ask(&mut client, "DBSIZE"), Reply::Integer(3));
    let Reply::Array(keys) = ask(&mut client, "SK.RANGE - + NOVALUES") else { panic!("no array") };
    let keys: Vec<_> = keys.iter().map(ToString::to_string).collect();
    assert_eq!(keys, ["\"12345678\"", "\"a\"", "\"goose\""]);
    server.stop();
}

#[test]
fn a_folder_with_long_keys_is_not_opened_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let server = start(folder.path(), "masstree").unwrap();
    assert_eq!(ask(&mut server.client(), "SET a-key-of-twenty-byte x"), Reply::Simple("OK".into()));
    server.stop();
    let refused = start(folder.path(), "mlp").unwrap_err();
    let code = refused.status.code().unwrap();
    assert!(code == 1 || code == 3, "{refused:?}");
    assert_refused(
        &refused,
        code,
        &["20 bytes", "the index mlp takes keys of up to 8", "open it with another index"],
    );
    let server = start(folder.path(), "masstree").unwrap();
    assert_eq!(ask(&mut server.client(), "DBSIZE"), Reply::Integer(1));
    server.stop();
}
