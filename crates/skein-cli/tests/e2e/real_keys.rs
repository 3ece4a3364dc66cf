//! Real keys: file paths, loaded with `skein load`, read in order over the network, and still there
//! after `kill -9`.

use crate::common::{
    E2eRandom, SkeinServe, assert_refused, disk_trie, real_paths, run, run_with_input, stdout_of,
};
use skeindb::client::{Client, Reply};

/// Returns the keys in the order in which the server returns them over the network.
fn scan_keys(client: &mut Client) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    loop {
        let min = keys.last().map_or_else(|| b"-".to_vec(), |last| [b"(", last.as_slice()].concat());
        let page = client.call(&[b"SK.RANGE", &min, b"+", b"LIMIT", b"777", b"NOVALUES"]).unwrap();
        let page = page.into_array().expect("a list of keys");
        if page.is_empty() {
            return keys;
        }
        keys.extend(page.into_iter().map(|key| match key {
            Reply::Bulk(key) => key,
            other => panic!("{other} in place of a key"),
        }));
    }
}

fn scan_keys_backward(client: &mut Client) -> Vec<Vec<u8>> {
    let mut keys = Vec::new();
    let mut reply = client.call(&[b"SK.LAST"]).unwrap();
    while let Some(Reply::Bulk(key)) = first_of(reply) {
        reply = client.call(&[b"SK.PREV", &key]).unwrap();
        keys.push(key);
    }
    keys.reverse();
    keys
}

/// SK.LAST and SK.PREV answer a key and its value, or nothing.
fn first_of(reply: Reply) -> Option<Reply> {
    reply.into_array().and_then(|items| items.into_iter().next())
}

#[test]
fn real_paths_load_scan_and_survive() {
    let (_, sorted) = real_paths();
    let mut shuffled = sorted.clone();
    E2eRandom::seeded().shuffle(&mut shuffled);
    let text = [shuffled.join(&b'\n'), b"\n".to_vec()].concat();

    let folder = tempfile::tempdir().unwrap();
    let options = ["--durability", "sync"];
    let server = SkeinServe::start(folder.path(), &options);
    let said = stdout_of(run_with_input(["load", "-", "--to", &server.address], &text));
    let said = String::from_utf8(said).unwrap();
    assert!(said.starts_with("25000 records read, 25000 loaded, 0 refused"), "{said}");

    // The sample is sorted by `LC_ALL=C sort`.
    assert!(scan_keys(&mut server.client()) == sorted, "not in the order of LC_ALL=C sort");
    assert!(scan_keys_backward(&mut server.client()) == sorted, "the way back differs");
    server.kill();

    let server = SkeinServe::start(folder.path(), &options);
    let mut client = server.client();
    assert!(scan_keys(&mut client) == sorted, "kill -9 changed the keys");
    assert_eq!(client.call(&[b"DBSIZE"]).unwrap(), Reply::Integer(25_000));
    for (line, key) in shuffled.iter().enumerate().step_by(97) {
        let value = (line + 1).to_string().into_bytes();
        assert_eq!(client.call(&[b"GET", key]).unwrap(), Reply::Bulk(value));
    }
    server.stop();
}

#[test]
fn real_paths_straight_into_a_folder() {
    let (file, sorted) = real_paths();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    let said = stdout_of(run(["load", file.to_str().unwrap(), "--data", data]));
    assert!(said.starts_with(b"25000 records read, 25000 loaded, 0 refused"));

    let dumped = stdout_of(run(["dump", "--data", data, "--format", "lines"]));
    assert!(dumped == std::fs::read(&file).unwrap(), "the dump is not the file");
    let some =
        stdout_of(run(["dump", "--data", data, "--format", "lines", "--prefix", "bin/", "--limit", "3"]));
    let expected: Vec<_> = sorted.iter().filter(|key| key.starts_with(b"bin/")).take(3).cloned().collect();
    assert_eq!(some, [expected.join(&b'\n'), b"\n".to_vec()].concat());

    if disk_trie().is_some() {
        // The folder must be of the memory engine.
        return;
    }
    let server = SkeinServe::start(data.as_ref(), &[]);
    assert!(scan_keys(&mut server.client()) == sorted, "the server sees other keys");
    // The server now holds the folder's lock.
    assert_refused(&run(["dump", "--data", data]), 1, &["in use"]);
    server.stop();
}
