//! `skein range` and `skein count` over one server. Over a cluster: `tests/cluster`.

use crate::common::{SkeinServe, assert_refused, run, stdout_of};

/// Starts a server with 2,500 keys, more than two pages, and one key of each type.
fn filled(folder: &std::path::Path) -> SkeinServe {
    let server = SkeinServe::start(folder, &[]);
    let mut client = server.client();
    let sets: Vec<[Vec<u8>; 3]> =
        (0..2500).map(|key| [b"SET".to_vec(), format!("k{key:04}").into_bytes(), b"v".to_vec()]).collect();
    client.pipeline(&sets).unwrap();
    client.call(&[b"HSET", b"hash", b"f", b"1\t2"]).unwrap();
    client.call(&[b"ZADD", b"sorted", b"1.5", b"m"]).unwrap();
    client.call(&[b"SADD", b"plain", b"m", b"n"]).unwrap();
    client.call(&[b"RPUSH", b"listed", b"n", b"m", b"", b"n"]).unwrap();
    client.call(&[b"SET", b"two\nlines", b"v"]).unwrap();
    server
}

fn text<const N: usize>(args: [&str; N]) -> String {
    String::from_utf8(stdout_of(run(args))).expect("text")
}

#[test]
fn a_server_is_read_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    let server = filled(folder.path());
    let from = &*server.address;
    let keys: Vec<String> = (0..2500).map(|key| format!("k{key:04}")).collect();
    assert_eq!(text(["range", "--from", from, "--prefix", "k"]), keys.join("\n") + "\n");
    let backward = text(["range", "--from", from, "--prefix", "k", "--rev"]);
    assert_eq!(backward.lines().rev().collect::<Vec<_>>(), keys);
    let some = text(["range", "(k0007", "[k2000", "--from", from, "--limit", "1500"]);
    assert_eq!(some.lines().collect::<Vec<_>>(), keys[8..1508]);
    assert_eq!(text(["range", "--from", from, "--limit", "0"]), "");
    assert_eq!(
        text(["range", "[hash", "(t", "--values", "--from", from, "--rev", "--limit", "4"]).lines().last(),
        Some("k2499\tv")
    );
    assert_eq!(text(["range", "[h", "(i", "--values", "--from", from]), "hash\tf\t1\\t2\n");
    assert_eq!(text(["range", "[s", "(t", "--values", "--from", from]), "sorted\tm\t1.5\tzset\n");
    assert_eq!(text(["range", "[pl", "(q", "--values", "--from", from]), "plain\tm\t\tn\t\tset\n");
    assert_eq!(text(["range", "[l", "(m", "--values", "--from", from]), "listed\tn\t\tm\t\t\t\tn\t\tlist\n");
    for (args, count) in [(["-", "+"], "2505\n"), (["(k0007", "[k2000"], "1993\n"), (["[x", "(a"], "0\n")] {
        assert_eq!(text(["count", args[0], args[1], "--from", from]), count);
    }
    let partly = run(["range", "--from", from, "--prefix", "two"]);
    assert_refused(&partly, 4, &["1 key with a newline"]);
    server.stop();
}

#[test]
fn mistakes_are_named() {
    assert_refused(&run(["range", "a", "+"]), 2, &["MIN a is not a bound"]);
    assert_refused(&run(["range", "-"]), 2, &["MAX"]);
    assert_refused(&run(["range", "-", "+", "--prefix", "a"]), 2, &["--prefix"]);
    assert_refused(&run(["count", "--from", "127.0.0.1:1"]), 1, &["cannot connect to 127.0.0.1:1"]);
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let refused = run(["count", "--cluster", &server.address]);
    assert_refused(&refused, 1, &[&server.address, "is not a node of a cluster", "--from"]);
    server.stop();
}
