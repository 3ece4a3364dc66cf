//! `skein bench` on lists, sets, streams, scripts and messages, and on the memory of items, beside
//! Redis if it is installed.

use serde_json::Value;

use crate::bench::{assert_ran, results, tiny, verdicts};
use crate::common::built_skein;

#[test]
fn families_are_measured_beside_redis_or_it_is_named_as_missing() {
    built_skein();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("servers");
    let options = ["--only", "skein,redis", "--set", "requests=200", "--dir", dir.to_str().unwrap()];
    let output = tiny(folder.path(), &["server-families"], &options);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(dir).expect("made").count(), 0, "folders stay behind");
    let lines = results(folder.path());
    assert_ran(&lines, &["server-families"]);
    let cells = |measure: &str, contender: &str, rounds: usize| {
        let of = |line: &&Value| line["measure"] == measure && line["contender"] == contender;
        let figures = lines.iter().filter(of).map(|cell| cell["rounds"].as_array().expect("a list"));
        figures.inspect(|figures| assert_eq!(figures.len(), rounds, "{measure} of {contender}")).count()
    };
    let absent = lines[0]["absent"].as_array().expect("a list").iter();
    let redis = !absent.clone().any(|absent| absent["name"] == "redis");
    for contender in ["skein", "redis"].into_iter().take(1 + usize::from(redis)) {
        assert_eq!(cells("memory", contender, 1), 5, "a list, a set, a stream, a hash, a sorted set");
        for measure in
            ["requests", "CPU"].iter().flat_map(|it| [16, 1].map(|at| format!("{it}, pipeline {at}")))
        {
            assert_eq!(cells(&measure, contender, 2), 10, "{measure} of {contender}");
        }
    }
    let ratios = [16, 1].map(|at| cells(&format!("CPU, Redis / ours, pipeline {at}"), "skein", 2));
    assert_eq!(ratios, [10 * usize::from(redis); 2]);
    let untested = |line: &&&Value| line["answer"] == "cannot_be_tested";
    assert_eq!(verdicts(&lines).len(), 4);
    assert_eq!(verdicts(&lines).iter().filter(untested).count(), if redis { 0 } else { 4 });
}

#[test]
fn the_memory_of_each_kind_is_measured() {
    built_skein();
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("servers");
    let output = tiny(folder.path(), &["server-memory"], &["--dir", dir.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(std::fs::read_dir(dir).expect("made").count(), 0, "folders stay behind");
    let lines = results(folder.path());
    assert_ran(&lines, &["server-memory"]);
    let absent = lines[0]["absent"].as_array().expect("a list").iter();
    let missing: Vec<_> = absent.filter_map(|absent| absent["name"].as_str()).collect();
    for contender in ["skein", "redis", "valkey"].into_iter().filter(|name| !missing.contains(name)) {
        for measure in ["used_memory", "resident"] {
            let of = |line: &&Value| line["measure"] == measure && line["contender"] == contender;
            assert_eq!(lines.iter().filter(of).count(), 13, "kinds of {contender}, by {measure}");
        }
    }
    assert_eq!(verdicts(&lines).len(), 4, "by two measures, beside two servers");
}
