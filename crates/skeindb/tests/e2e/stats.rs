//! `skein stats`: the numbers that it shows are those of the data.

use std::path::Path;

use crate::common::{Server, run, stdout_of};

/// What stands behind a name.
fn line<'a>(text: &'a str, name: &str) -> &'a str {
    let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    found.unwrap_or_else(|| panic!("no {name} in: {text}")).trim()
}

fn stats(args: &[&str]) -> String {
    let said = stdout_of(run([&["stats"], args].concat()));
    String::from_utf8(said).expect("it is text")
}

/// 100 keys in a checkpoint, 50 changed and 50 new ones of 1,000 bytes in the log: by a server before and after a restart, and by the
/// folder itself.
#[test]
fn a_server_and_its_folder_show_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--durability", "sync", "--workers", "1"];
    let server = Server::start(folder.path(), &options);
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
    // A record is its key and value and some 30 bytes.
    assert!((103_000..106_000).contains(&log_bytes(&before)), "{before}");
    assert!(line(&before, "keys").parse::<u64>().is_ok_and(|keys| keys == 150), "{before}");
    server.kill();

    let server = Server::start(folder.path(), &options);
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
