//! Subcommands that the program `skein-bench` runs: the places where it is found, its arguments,
//! and the error without it. Here it is a script; its own tests are in `skein-bench`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::assert_refused;

/// Runs a copy of `skein` in `folder`, where no other program is, with these programs on the path.
fn skein_in(folder: &Path, path: &Path, args: &[&str]) -> Output {
    let skein = folder.join("skein");
    if !skein.exists() {
        fs::copy(env!("CARGO_BIN_EXE_skein"), &skein).unwrap();
    }
    Command::new(skein).args(args).env("PATH", path).output().expect("skein runs")
}

/// Makes a program that prints its name and its arguments, and ends with the code 4.
fn make_program(folder: &Path, name: &str) {
    let program = folder.join("skein-bench");
    fs::write(&program, format!("#!/bin/sh\necho {name} \"$*\"\nexit 4\n")).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_program_is_found_beside_skein_and_then_on_the_path() {
    let (beside, path) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let run = |args: &[&str]| {
        let output = skein_in(beside.path(), path.path(), args);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    make_program(path.path(), "on-the-path");
    let args = ["--log-level", "info", "bench", "run", "scan-100", "--size", "small", "--help"];
    assert_eq!(run(&args), (Some(4), format!("on-the-path {}\n", args.join(" "))));
    make_program(beside.path(), "beside");
    assert_eq!(run(&["probe", "--quick"]), (Some(4), "beside probe --quick\n".to_owned()));
}

#[test]
fn without_the_program_the_error_says_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["bench", "list"][..], &["probe"]] {
        let output = skein_in(folder.path(), folder.path(), args);
        assert_refused(&output, 1, &["cargo build --release -p skein-bench", "cargo install", "PATH"]);
    }
    fs::write(folder.path().join("skein-bench"), "not for everybody").unwrap();
    let output = skein_in(folder.path(), folder.path(), &["probe"]);
    assert_refused(&output, 1, &["cannot start", "skein-bench", "ermission denied"]);
}
