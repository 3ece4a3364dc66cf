//! Disk stores of rows, as servers create them, and of plain bytes, as programs create them: every
//! command must recognize which one it has.

use std::collections::BTreeMap;
use std::path::Path;

use skein_disk::{DiskOptions, DiskStore};
use skeindb::client::{Client, Reply};

use crate::common::{SkeinServe, assert_refused, run, run_with_input, skein, stdout_of};

const MEMORY: &[&str] = &[];
const DISK: &[&str] = &["--engine", "disk", "--cache", "1m"];

/// Starts a server with only these options, whatever the environment says.
fn start(folder: &Path, options: &[&str]) -> SkeinServe {
    let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(folder).args(options);
    SkeinServe::launch(command).expect("the server starts")
}

fn ask(client: &mut Client, command: &[&[u8]]) -> Reply {
    client.call(command).expect("the server answers")
}

/// Writes values and rows of columns of all lengths. Some of them are replaced, merged or removed.
fn write(client: &mut Client) {
    for number in 0..600_usize {
        let key = format!("goose {}", number * 7 % 500).into_bytes();
        let (value, name) = (vec![b'v'; number * 13 % 3_000], format!("name {}", number % 40).into_bytes());
        match number % 5 {
            0 => _ = ask(client, &[b"HSET", &[&key, &b" flock"[..]].concat(), &name, &value]),
            1 => _ = ask(client, &[b"HSET", b"large flock", &name, &value]),
            2 => _ = ask(client, &[b"DEL", &key, b"goose 14", b"goose 35 flock"]),
            _ => assert_eq!(ask(client, &[b"SET", &key, &value]), Reply::ok()),
        }
    }
    for command in
        [&[&b"SET"[..], b"", b"\x01\x02\t\n"][..], &[b"SET", b"empty", b""], &[b"INCRBY", b"n", b"-7"]]
    {
        assert!(!matches!(ask(client, command), Reply::Error(_)));
    }
    for id in 1..=300_u32 {
        ask(client, &[b"XADD", b"stream", format!("{id}-1").as_bytes(), b"field", &vec![b'v'; id as usize]]);
    }
    for command in [
        &[&b"XGROUP"[..], b"CREATE", b"stream", b"group", b"77-1", b"ENTRIESREAD", b"77"][..],
        &[b"XDEL", b"stream", b"5-1", b"300-1"],
    ] {
        assert!(!matches!(ask(client, command), Reply::Error(_)));
    }
    assert_eq!(ask(client, &[b"HDEL", b"large flock", b"name 1"]), Reply::Integer(1));
}

fn dump(folder: &Path, more: &[&str]) -> Vec<u8> {
    let arguments = ["dump", "--data", folder.to_str().unwrap()];
    stdout_of(run(arguments.iter().chain(more)))
}

fn load(folder: &Path, text: &[u8]) -> std::process::Output {
    run_with_input(["load", "-", "--quiet", "--format", "tsv", "--data", folder.to_str().unwrap()], text)
}

/// Returns a server's whole data, by its replies.
fn dump_of(server: &SkeinServe) -> Vec<u8> {
    stdout_of(run(["dump", "--from", &server.address]))
}

/// Incident: `skein dump` and `skein load` took the contents of a disk store for plain values.
/// Consequence: in the dump of a server's folder, each value had the row's own byte in front, and
/// columns were missing. To loaded rows the server answered errors or wrong values. Fix: the file
/// names the kind of its values.
#[test]
fn disk_and_memory_servers_dump_and_load_alike() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut dumps = BTreeMap::new();
    for (name, options) in [("memory", MEMORY), ("disk", DISK)] {
        let server = start(&path(name), options);
        write(&mut server.client());
        let served = dump_of(&server);
        server.stop();
        let dumped = dump(&path(name), &[]);
        assert!(served == dumped, "{name}: server and folder differ");
        assert_eq!(dump(&path(name), &["--prefix", "n", "--limit", "1"]), b"n\t-7\n");
        dumps.insert(name, dumped);
    }
    let all = &dumps["memory"];
    assert!(*all == dumps["disk"], "the engines differ");
    let with_columns = |line: &&[u8]| line.split(|byte| *byte == b'\t').count() > 2;
    assert!(all.split(|byte| *byte == b'\n').filter(with_columns).count() > 50);

    start(&path("fresh"), DISK).stop();
    stdout_of(load(&path("fresh"), all));
    let server = start(&path("fresh"), DISK);
    assert!(dump_of(&server) == *all, "what was loaded is served otherwise");
    let mut client = server.client();
    assert_eq!(ask(&mut client, &[b"GET", b"n"]), Reply::Bulk(b"-7".to_vec()));
    assert_eq!(ask(&mut client, &[b"HLEN", b"large flock"]), Reply::Integer(7));
    server.stop();
}

/// A rejected record must not affect others. Columns are merged, and of two records of a key the
/// last wins, as in memory.
#[test]
fn loading_into_rows_on_disk_refuses_single_records() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, disk) = (folder.path().join("memory"), folder.path().join("disk"));
    start(&memory, MEMORY).stop();
    start(&disk, DISK).stop();
    let long = "k".repeat(65_536);
    let text =
        format!("a\t1\na\tname\tvalue\nb\tx\t1\ty\t2\nb\tx\t3\n{long}\t1\nb\t4\nz\tend\nb\tz\t5\na\t2\n");
    for data in [&memory, &disk] {
        let output = load(data, text.as_bytes());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(4), "{said}");
        assert!(
            said.contains("line 2: ") && said.contains("line 5: ") && said.contains("line 8: "),
            "{said}"
        );
        assert_eq!(dump(data, &[]), b"a\t2\nb\t4\nz\tend\n", "{}", data.display());
    }
}

#[test]
fn each_folder_is_opened_only_as_its_own_kind() {
    let folder = tempfile::tempdir().unwrap();
    let (bytes, rows) = (folder.path().join("bytes"), folder.path().join("rows"));
    let store = DiskStore::open(&bytes, DiskOptions::default()).unwrap();
    store.set(b"goose", b"\x01honks").unwrap();
    store.close().unwrap();
    let server = start(&rows, DISK);
    assert_eq!(ask(&mut server.client(), &[b"SET", b"goose", b"\x01honks"]), Reply::ok());
    server.stop();
    for (data, values) in [(&bytes, "plain bytes"), (&rows, "rows of a server")] {
        assert_eq!(dump(data, &[]), b"goose\t\x01honks\n");
        let check = String::from_utf8(stdout_of(run([Path::new("check"), data]))).unwrap();
        assert!(check.contains(&format!("its values are {values}\n")), "{check}");
        let stats = run(["stats", "--data", data.to_str().unwrap()]);
        let stats = String::from_utf8(stdout_of(stats)).unwrap();
        assert!(stats.contains(&format!("1, whose values are {values}\n")), "{stats}");
        stdout_of(run([Path::new("compact"), data]));
    }
    let file = bytes.join("data.skein");
    let before = std::fs::read(&file).unwrap();
    let mut serve = vec!["serve", "--listen", "127.0.0.1:0", "--data", bytes.to_str().unwrap()];
    serve.extend(DISK);
    let words = ["the values of the trie `main` are plain bytes", "opened as rows of a server", "skein load"];
    assert_refused(&run(&serve), 1, &words);
    assert!(std::fs::read(&file).unwrap() == before, "a refusal changed the file");
    let error = DiskStore::open(&rows, DiskOptions::default()).unwrap_err().to_string();
    assert!(error.contains("are rows of a server, but were opened as plain bytes"), "{error}");
}

/// Returns the names and contents of a folder's files.
fn contents(folder: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = files.filter(|file| file.file_type().unwrap().is_file());
    files.map(|file| (file.file_name(), std::fs::read(file.path()).unwrap())).collect()
}

#[test]
fn a_folder_of_the_other_engine_is_refused_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, disk) = (folder.path().join("memory"), folder.path().join("disk"));
    start(&memory, MEMORY).stop();
    start(&disk, DISK).stop();
    let before = (contents(&memory), contents(&disk));
    let serve = |data: &Path, options: &[&str]| {
        let serve = ["serve", "--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        run(serve.iter().chain(options))
    };
    assert_refused(&serve(&memory, DISK), 1, &["is a data folder of the engine in memory", "identity"]);
    assert_refused(&serve(&disk, MEMORY), 1, &["is a data folder of the disk engine", "--engine disk"]);
    let error = DiskStore::open(&memory, DiskOptions::default()).unwrap_err();
    assert!(error.to_string().contains("is a data folder of the engine in memory"), "{error}");
    let error = skein_store::Store::open(&disk, skein_store::StoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("is a data folder of the disk engine"), "{error}");
    assert!(before == (contents(&memory), contents(&disk)), "a refusal changed a file");
}
