//! `skein stats`: its numbers must match the data.

use std::path::Path;

use crate::common::{SkeinServe, run, stdout_of};

/// Returns the text behind a name.
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.unwrap_or_else(|| panic!("no {name} in: {text}")).trim()
}

fn stats(args: &[&str]) -> String {
    let said = stdout_of(run([&["stats"], args].concat()));
    String::from_utf8(said).expect("it is text")
}

/// 100 keys in a checkpoint, and 50 changed and 50 new ones of 1,000 bytes in the log. Shown by a
/// server before and after a restart, and by the folder itself.
#[test]
fn a_server_and_its_folder_show_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--durability", "sync", "--workers", "1"];
    let server = SkeinServe::start(folder.path(), &options);
    let mut client = server.client();
    for (first, last) in [(0, 100), (50, 150)] {
        for n in first..last {
            client.call(&[b"SET", format!("key {n:03}").as_bytes(), &[b'v'; 1000]]).unwrap();
        }
        if first == 0 {
            client.call(&[b"SAVE"]).unwrap();
        }
    }
    let log_bytes = |text: &str| line(text, "log_bytes_since_checkpoint").parse::<u64>().unwrap();
    let before = stats(&["--from", &server.address]);
    // A record has its key and value and some 30 bytes.
    assert!((103_000..106_000).contains(&log_bytes(&before)), "{before}");
    assert!(line(&before, "keys").parse::<u64>().is_ok_and(|keys| keys == 150), "{before}");
    server.kill();

    let server = SkeinServe::start(folder.path(), &options);
    assert_eq!(log_bytes(&stats(&["--from", &server.address])), log_bytes(&before), "after a restart");
    server.kill();

    let by_folder = stats(&["--data", Path::new(folder.path()).to_str().unwrap()]);
    assert_eq!(line(&by_folder, "keys"), "150");
    assert_eq!(line(&by_folder, "from checkpoint"), "100 rows");
    let from_logs = line(&by_folder, "from logs");
    let tenths = (log_bytes(&before) * 10 + 512) / 1024;
    let size = format!("{}.{} KiB", tenths / 10, tenths % 10);
    assert!(from_logs.starts_with(&format!("100 records, {size} in ")), "{from_logs}, not {size}");
    assert_eq!(line(&by_folder, "torn tails cut off"), "0");
}

/// Without a terminal the output is a line of names, then a line of numbers for each tick.
#[test]
fn a_watched_server_is_a_table_where_there_is_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    server.client().call(&[b"SET", b"a", b"1"]).unwrap();
    let text = stats(&["--watch", "--interval", "100ms", "--ticks", "3", "--from", &server.address]);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 4, "{text}");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
    let column = |name: &str| rows[0].iter().position(|known| *known == name).expect("a column");
    let (keys, clients, memory) = (column("keys"), column("clients"), column("memory_bytes"));
    for row in &rows[1..] {
        assert_eq!((row[keys], row[clients]), ("1", "1"), "{text}");
        assert!(row[memory].parse::<u64>().is_ok_and(|bytes| bytes > 0), "{text}");
        assert!(row.iter().all(|field| field.parse::<u64>().is_ok()), "{text}");
    }
    for (args, about) in [
        (["--watch", "--interval", "1ms"], "--interval 1ms: choose 100ms to"),
        (["--watch", "--interval", "25h"], "choose 100ms to"),
        (["--watch", "--data", "x"], "cannot be used with"),
    ] {
        let refused = run(std::iter::once("stats").chain(args));
        assert_eq!(refused.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&refused.stderr).contains(about), "{args:?}: {refused:?}");
    }
}
