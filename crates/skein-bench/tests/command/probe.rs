//! `skein probe`: the smallest probe, and its output.

use std::fs;

use serde_json::Value;

use crate::common::{assert_refused, run};

const SMALL: [&str; 4] = ["probe", "--quick", "--footprint", "32m"];

#[test]
fn json_on_standard_output_stands_alone() {
    let output = run(SMALL.into_iter().chain(["--json", "-"]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(report["schema"], 1);
    let [huge, small] = report["pages"].as_array().expect("two kinds").as_slice() else {
        panic!("two kinds of pages: {report}")
    };
    assert_eq!((&huge["pages"], &small["pages"]), (&Value::from("huge"), &Value::from("small")));
    for on in [huge, small] {
        assert_eq!(on["bytes"], 32 << 20);
        let groups = &on["groups"][0];
        assert_eq!((&groups["bytes"], &groups["group_ns"][0][0]), (&on["bytes"], &Value::from(1)));
        assert!(groups["fit"]["c"].is_f64() && on["read_ns"][0][1].as_f64() > Some(0.0), "{on}");
    }
    assert_eq!(small["huge_bytes"], 0);
    assert!(report["advice"].as_array().is_some_and(|advice| !advice.is_empty()), "{report}");
}

#[test]
fn a_file_takes_the_json_and_the_text_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("probe.json");
    let output = run(SMALL.into_iter().chain(["--json", path.to_str().expect("temporary paths are text")]));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("Reads at once, K / T, in 32 MiB") && text.contains("huge pages:"), "{text}");
    let report: Value = serde_json::from_slice(&fs::read(&path).unwrap()).expect("one JSON object");
    assert_eq!(report["pages"][0]["bytes"], 32 << 20);
}

#[test]
fn a_file_that_cannot_be_written_is_refused_at_once() {
    let output = run(SMALL.into_iter().chain(["--json", "/nowhere/probe.json"]));
    assert_refused(&output, 1, &["cannot write /nowhere/probe.json"]);
}
