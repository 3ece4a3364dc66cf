//! `skein bench` on the disk engine: some of its experiments at a tiny size (unit tests of the
//! bench run each), and Redis's own client.

use crate::bench::{assert_ran, results, tiny};
use crate::common::built_skein;

#[test]
fn the_disk_engine_is_measured_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let (dir, names) = (folder.path().join("disk"), ["bitbase-fig4", "bitbase-growth", "bitbase-rivals"]);
    let output = tiny(folder.path(), &names, &["--dir", dir.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_ran(&results(folder.path()), &names);
    assert_eq!(std::fs::read_dir(dir).expect("made").count(), 0);
}

#[test]
fn redis_own_client_asks_our_server_or_is_named_as_missing() {
    built_skein();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("servers");
    // The client counts in milliseconds, so a loop must take longer than one.
    let options = ["--only", "skein", "--set", "requests=10000", "--dir", dir.to_str().unwrap()];
    let output = tiny(folder.path(), &["bitbase-redis"], &options);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    let absent = lines[0]["absent"].as_array().expect("a list");
    if absent.iter().any(|absent| absent["name"] == "redis-benchmark") {
        return;
    }
    assert_ran(&lines, &["bitbase-redis"]);
    let rates = lines.iter().filter(|line| line["measure"] == "SET" || line["measure"] == "GET");
    assert_eq!(rates.count(), 2 * 2, "both requests at both depths");
    assert_eq!(std::fs::read_dir(dir).expect("made").count(), 0, "folders stay behind");
}
