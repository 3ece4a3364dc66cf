//! `skein bench`: a tiny run, its results, its report, and the command lines that it rejects.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use skein_store::IndexKind;

use crate::common::{PROGRAM, assert_refused, built_skein, run, skein, stdout_of};

/// Runs experiments with a thousand keys. Results are written to `folder`.
pub fn tiny(folder: &Path, names: &[&str], options: &[&str]) -> Output {
    let out = folder.join("results.jsonl");
    let out = out.to_str().expect("temporary paths are text");
    let fixed = ["--count", "1000", "--rounds", "2", "--no-probe", "--out", out];
    run(["bench", "run"].iter().chain(names).chain(&fixed).chain(options))
}

pub fn results(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("results.jsonl")).expect("a run has written them");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object per line")).collect()
}

/// Returns the verdicts among results.
pub fn verdicts(lines: &[Value]) -> Vec<&Value> {
    lines.iter().filter(|line| line["kind"] == "verdict").collect()
}

/// Returns our indexes that accept keys of this length, by their names in reports.
pub fn own_indexes(key_bytes: usize) -> Vec<String> {
    let takes = |kind: &IndexKind| kind.key_bytes_max() >= key_bytes;
    IndexKind::ALL.into_iter().filter(takes).map(|kind| format!("skein-{kind}")).collect()
}

/// Asserts that each of these experiments has a run with figures and verdicts.
pub fn assert_ran(lines: &[Value], names: &[&str]) {
    let of_kind = |kind: &'static str| lines.iter().filter(move |line| line["kind"] == kind);
    assert_eq!(of_kind("run").count(), names.len());
    for name in names {
        let run = of_kind("run").find(|run| run["experiment"] == *name).expect("each has a run");
        for kind in ["cell", "verdict"] {
            let count = of_kind(kind).filter(|line| line["run"] == run["run"]).count();
            assert!(count > 0, "{name} has no {kind}");
        }
    }
    for cell in of_kind("cell") {
        let rounds = cell["rounds"].as_array().expect("a list");
        assert!(
            !rounds.is_empty() && rounds.iter().all(|figure| figure.as_f64().is_some_and(f64::is_finite)),
            "{cell}"
        );
    }
}

/// Runs all experiments with this prefix, except one on servers, which needs a folder. Returns
/// their number.
pub fn run_all_of(folder: &Path, begin: &str, server: &str) -> usize {
    let names = String::from_utf8(stdout_of(run(["bench", "list", "--names"]))).expect("text");
    let names: Vec<&str> = names.lines().filter(|name| name.starts_with(begin) && *name != server).collect();
    let output = tiny(folder, &names, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_ran(&results(folder), &names);
    names.len()
}

/// Incident: the file of `skein` was replaced by a new build while a bench ran. Consequence: the
/// bench could not start its servers, and ended with an error. Fix: it opens the programs that it
/// needs when it starts, and runs these, whatever files have their names now.
#[test]
fn a_bench_continues_when_its_programs_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let [bench, skein] = ["skein-bench", "skein"].map(|name| folder.path().join(name));
    let results = folder.path().join("results.jsonl");
    fs::copy(PROGRAM, &bench).unwrap();
    fs::copy(built_skein(), &skein).unwrap();
    let running = Command::new(&bench)
        .args(["bench", "run", "memory", "masstree-fig13", "--only", "skein,skein-masstree"])
        .args(["--count", "1000", "--rounds", "1", "--no-probe", "--out"])
        .arg(&results)
        .env("PATH", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let since = Instant::now();
    while !results.exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "the bench does not begin");
        thread::sleep(Duration::from_millis(1));
    }
    fs::remove_file(&bench).unwrap();
    fs::remove_file(&skein).unwrap();
    let output = running.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&results).unwrap();
    assert!(text.contains("\"contender\":\"skein\""), "no server was measured: {text}");
}

#[test]
fn index_experiments_run_and_have_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let names = [
        "lookup",
        "scan-100",
        "ycsb",
        "mix",
        "growth",
        "memory",
        "masstree-fig8",
        "masstree-fig9",
        "masstree-fig10",
        "masstree-fig11",
        "masstree-sec6.4",
        "self-test",
    ];
    let output = tiny(folder.path(), &names, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_ran(&results(folder.path()), &names);
    for name in names {
        assert!(table.contains(name), "{name} is not in the table");
    }
}

/// Returns the median of a contender in a measure, at a point if the measure has points.
fn median(lines: &[Value], measure: &str, contender: &str, label: Option<&str>) -> f64 {
    let cell = lines.iter().find(|cell| {
        cell["measure"] == measure && cell["contender"] == contender && cell["at"]["label"].as_str() == label
    });
    let cell = cell.unwrap_or_else(|| panic!("no {measure} of {contender} at {label:?}"));
    cell["rounds"][0].as_f64().expect("a figure")
}

#[test]
fn memory_agrees_with_allocators_and_the_system() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--keys", "rand-8", "--count", "200000", "--rounds", "1", "--no-probe", "--out"];
    let out = folder.path().join("results.jsonl");
    let output = run(["bench", "run", "memory"]
        .into_iter()
        .chain(options)
        .chain([out.to_str().expect("temporary paths are text")]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    let contenders: Vec<_> = own_indexes(8).into_iter().chain(["btreemap".to_owned()]).collect();
    for contender in &contenders {
        let live = median(&lines, "memory in all", contender, Some("rand-8"));
        let beside = median(&lines, "memory beside keys and values", contender, Some("rand-8"));
        let resident = median(&lines, "resident size", contender, Some("rand-8"));
        let peak = median(&lines, "resident size, at its peak", contender, Some("rand-8"));
        assert!((live - beside - 16.0).abs() < 1e-6, "{contender}: keys and values have 16 bytes");
        // Pages have 4 KiB, and both numbers cover most of each page.
        assert!(resident > live && resident < 1.5 * live + 10.0, "{contender}: {resident} beside {live}");
        assert!(peak >= resident, "{contender}: {peak} beside {resident}");
        let grown =
            median(&lines, "memory beside keys and values, as keys are added", contender, Some("200000"));
        assert!((grown / beside - 1.0).abs() < 0.02, "{contender}: {grown} in pieces, {beside} at once");
        let least = median(&lines, "memory in all, over one doubling", contender, Some("least"));
        let most = median(&lines, "memory in all, over one doubling", contender, Some("most"));
        // If chance affects a table's size, it differs a little each time.
        assert!(
            0.0 < least && least <= 1.02 * live && live <= 1.02 * most,
            "{contender}: {live}, {least} to {most}"
        );
    }
    for contender in &own_indexes(8) {
        let parts = lines
            .iter()
            .filter(|cell| cell["measure"] == "memory by part" && cell["contender"] == *contender);
        let sum: f64 = parts.map(|cell| cell["rounds"][0].as_f64().expect("a figure")).sum();
        let live = median(&lines, "memory in all", contender, Some("rand-8"));
        assert!((sum - live).abs() < 1e-6, "{contender}: the parts have {sum}, all has {live}");
    }
}

#[test]
fn bench_weigh_accepts_only_keys() {
    let mut command = skein(["bench", "weigh", "btreemap"]);
    let output = command.stdin(std::process::Stdio::null()).output().expect("it starts");
    assert_refused(&output, 2, &["cannot read the keys to measure"]);
}

#[test]
fn skipped_contenders_are_noted_and_threads_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let output = tiny(folder.path(), &["lookup", "masstree-fig10"], &["--keys", "decimal"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = results(folder.path());
    let left_out = |line: &Value| {
        let text = line["text"].as_str().unwrap_or_default();
        text.starts_with("left out of 'get_many(32)'") && text.contains("btreemap")
    };
    assert!(lines.iter().any(|line| line["kind"] == "note" && left_out(line)), "{lines:?}");
    if std::thread::available_parallelism().map_or(1, usize::from) == 1 {
        return;
    }
    for (measure, index) in
        ["insert", "get"].into_iter().flat_map(|it| own_indexes(10).into_iter().map(move |index| (it, index)))
    {
        let of = |contender: &str| {
            let cell = lines.iter().find(|line| {
                line["measure"] == measure && line["contender"] == contender && line["at"]["label"] == "2"
            });
            cell.unwrap_or_else(|| panic!("{contender} has no {measure} of two"))["unit"].clone()
        };
        assert_eq!(of(&format!("{index}, processes")), of(&index));
    }
}

/// Like `tiny`, but with our store and our server alone. Also returns the folders that they used.
fn tiny_systems(folder: &Path, names: &[&str], only: &str) -> Output {
    built_skein();
    let dir = folder.join("disk");
    let dir = dir.to_str().expect("temporary paths are text");
    tiny(folder, names, &["--only", only, "--dir", dir])
}

#[test]
fn store_and_server_experiments_run_and_leave_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["store", "store-levels", "masstree-sec5", "server", "server-neighbour", "masstree-fig13"];
    let output = tiny_systems(folder.path(), &names, "skein,no-op");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(folder.path().join("disk")).expect("made").count(), 0);
    let lines = results(folder.path());
    for name in names {
        let run = lines.iter().find(|line| line["kind"] == "run" && line["experiment"] == name);
        let run = run.unwrap_or_else(|| panic!("{name} has no run"));
        let ours = |line: &&Value| line["run"] == run["run"] && line["contender"] == "skein";
        let cells: Vec<_> = lines.iter().filter(|line| line["kind"] == "cell").filter(ours).collect();
        assert!(!cells.is_empty(), "{name} has no figures of ours");
        for cell in cells {
            let rounds = cell["rounds"].as_array().expect("a list");
            // Memory is measured once, after the load.
            let wanted = if cell["measure"] == "memory" { 1 } else { 2 };
            assert!(
                rounds.len() == wanted && rounds.iter().all(|it| it.as_f64().is_some_and(|it| it > 0.0)),
                "{cell}"
            );
        }
    }
    let workloads: Vec<_> = lines
        .iter()
        .filter(|line| line["kind"] == "cell" && line["measure"] == "requests")
        .map(|line| line["at"]["label"].as_str().expect("text"))
        .collect();
    assert_eq!(workloads, ["get", "put", "MYCSB-A", "MYCSB-B", "MYCSB-C", "MYCSB-E"]);
}

#[test]
fn missing_servers_are_named_and_failing_ones_end_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let (out, dir) = (folder.path().join("results.jsonl"), folder.path().join("disk"));
    let with_path = |path: &Path| {
        let fixed = ["bench", "run", "server", "--count", "100", "--rounds", "1", "--no-probe", "--out"];
        let mut command = skein(fixed);
        command.arg(&out).arg("--dir").arg(&dir).env("PATH", path);
        command.output().expect("it starts")
    };
    assert_eq!(with_path(folder.path()).status.code(), Some(0));
    let run = results(folder.path()).remove(0);
    for (name, package) in [("redis", "redis-server"), ("memcached", "memcached")] {
        let absent = run["absent"].as_array().expect("a list").iter().find(|absent| absent["name"] == name);
        let why = absent.unwrap_or_else(|| panic!("{name} is not named"))["why"].as_str().expect("text");
        assert!(why.contains(&format!("package {package}")), "{why}");
    }

    let broken = folder.path().join("redis-server");
    fs::write(&broken, "#!/bin/sh\necho no memory for geese\nexit 3\n").unwrap();
    fs::set_permissions(&broken, fs::Permissions::from_mode(0o755)).unwrap();
    assert_refused(&with_path(folder.path()), 1, &["redis ended at its start", "no memory for geese"]);
    assert_eq!(fs::read_dir(&dir).expect("made").count(), 0);
}

#[test]
fn results_become_a_page_and_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        tiny(folder.path(), &["scan-100"], &["--keys", "decimal"]);
    }
    let path = |name: &str| folder.path().join(name).to_str().expect("temporary paths are text").to_owned();
    let shown = stdout_of(run(["bench", "report", &path("results.jsonl"), "--html", &path("page.html")]));
    assert!(String::from_utf8_lossy(&shown).contains("scan of 100"));
    let page = fs::read_to_string(path("page.html")).expect("written");
    assert!(page.contains("<svg") && page.contains("scan of 100") && !page.contains("http://"), "{page}");
    let same = run(["bench", "compare", &path("results.jsonl"), &path("results.jsonl"), "--fail-if-worse"]);
    assert_eq!(same.status.code(), Some(0), "a file does not differ from itself");
}

#[test]
fn a_users_own_keys_are_a_key_set() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.txt");
    let lines: Vec<String> = (0..2_000).map(|n| format!("user/{}/mail", n * 7)).collect();
    fs::write(&keys, lines.join("\n")).unwrap();
    let set = format!("file:{}", keys.display());
    let output = tiny(folder.path(), &["lookup"], &["--keys", &set, "--only", "skein-masstree"]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let measured = results(folder.path());
    assert!(measured.iter().any(|line| line["kind"] == "cell" && line["at"]["label"] == *set));
}

#[test]
fn lists_name_experiments_and_key_sets() {
    let list = String::from_utf8(stdout_of(run(["bench", "list"]))).expect("text");
    assert!(list.contains("masstree-fig8") && list.contains("claim:"), "{list}");
    let names = String::from_utf8(stdout_of(run(["bench", "list", "--names"]))).expect("text");
    assert!(names.lines().any(|name| name == "scan-100"));
    let sets = String::from_utf8(stdout_of(run(["bench", "keysets"]))).expect("text");
    assert!(sets.contains("az1") && sets.contains("file"), "{sets}");
    let one =
        String::from_utf8(stdout_of(run(["bench", "keysets", "decimal", "--count", "5000"]))).expect("text");
    assert!(one.contains("decimal"), "{one}");
}

#[test]
fn senseless_options_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.jsonl");
    let missing = missing.to_str().expect("temporary paths are text");
    assert_refused(
        &tiny(folder.path(), &["masstree-fig99"], &[]),
        2,
        &["masstree-fig99", "skein bench list", "the most similar names are masstree-fig9, "],
    );
    assert_refused(
        &tiny(folder.path(), &["lookup"], &["--only", "nobody"]),
        2,
        &["nobody", "skein-masstree"],
    );
    assert_refused(
        &tiny(folder.path(), &["lookup"], &["--only", "skein-mastree"]),
        2,
        &["did you mean 'skein-masstree'?"],
    );
    assert_refused(
        &tiny(folder.path(), &["server"], &["--set", "geese=7"]),
        2,
        &["geese", "connections (connections of the client)"],
    );
    assert_refused(&tiny(folder.path(), &["lookup"], &["--set", "batch=7"]), 2, &["a setting of store"]);
    assert_refused(
        &tiny(folder.path(), &["lookup"], &["--keys", "rand-9"]),
        1,
        &["rand-9", "did you mean 'rand-8'"],
    );
    assert_refused(
        &tiny(folder.path(), &["lookup"], &["--keys", "file:/nowhere/keys"]),
        1,
        &["/nowhere/keys"],
    );
    let huge = ["bench", "run", "lookup", "--count", "40000000000", "--no-probe", "--out", missing];
    assert_refused(&run(huge), 1, &["lookup", "GiB", "would fit"]);
    let large = ["bench", "run", "lookup", "--count", "2000000000", "--no-probe", "--out", missing];
    assert_refused(&run(large), 1, &["GiB", "would fit"]);
    assert_refused(&run(["bench", "report", "/nowhere/results.jsonl"]), 1, &["/nowhere/results.jsonl"]);
    assert_refused(&run(["bench", "compare", "/nowhere/a", "/nowhere/b"]), 1, &["/nowhere/a"]);
}

#[test]
fn help_has_examples_under_the_name_that_users_type() {
    for command in ["probe", "bench"] {
        let help = String::from_utf8(stdout_of(run([command, "--help"]))).expect("text");
        assert!(help.contains("Examples:") && help.contains(&format!("Usage: skein {command}")), "{help}");
    }
}
