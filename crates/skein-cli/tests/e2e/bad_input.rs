//! Rejected command lines: each gives one clear line and a non-zero exit code, and loses nothing.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::common::{SkeinServe, assert_refused, full_disk, run, run_with_input, skein};
use crate::free_port::free_port;
use skeindb::client::Reply;

fn text(path: &Path) -> &str {
    path.to_str().expect("temporary paths are text")
}

#[test]
fn wrong_command_lines() {
    for (args, words) in [
        (vec!["serve", "--nonsense"], vec!["--nonsense"]),
        (vec!["serve", "--durability", "maybe"], vec!["maybe", "buffered"]),
        (vec!["serve", "--index", "btree"], vec!["btree", "masstree"]),
        (vec!["serve", "--workers", "0"], vec!["--workers", "0"]),
        (vec!["serve", "--workers", "many"], vec!["--workers", "many"]),
        (vec!["serve", "--log-segment-size", "3 apples"], vec!["--log-segment-size", "64m"]),
        (vec!["load"], vec!["<FILE>"]),
        (vec!["load", "x", "--format", "json"], vec!["json", "tsv"]),
        (vec!["load", "x", "--to", "h:1", "--data", "d"], vec!["--to", "--data"]),
        (vec!["probe", "--footprint", "3 apples"], vec!["--footprint", "64m"]),
        (vec!["probe", "--footprint", "1k"], vec!["1024 bytes", "32 MiB"]),
        (vec!["probe", "--footprint", "9000t"], vec!["9437184000 MiB", "free", "greatest footprint"]),
        (vec!["load", "x", "--from", "h:1"], vec!["--from"]),
        (vec!["dump", "--from", "h:1", "--data", "d"], vec!["--from", "--data"]),
        (vec!["dump", "--to", "h:1"], vec!["--to"]),
        (vec!["stats", "--password-file", "f", "--data", "d"], vec!["--password-file", "--data"]),
        (vec!["stats", "--log-dir", "d"], vec!["--data"]),
        (vec!["fly"], vec!["fly"]),
        (vec![], vec!["serve", "load", "dump", "check", "stats", "probe"]),
    ] {
        assert_refused(&run(&args), 2, &words);
    }
}

#[test]
fn help_has_examples_and_exit_codes() {
    for command in ["", "serve", "load", "dump", "check", "stats"] {
        let args: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let output = run(&args);
        assert_eq!(output.status.code(), Some(0));
        let help = String::from_utf8_lossy(&output.stdout);
        assert!(help.contains("Examples:"), "{args:?}: {help}");
    }
    let help = run(["--help"]).stdout;
    assert!(String::from_utf8_lossy(&help).contains("Exit codes:"));
}

#[test]
fn a_data_folder_that_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, b"precious").unwrap();
    let server = SkeinServe::try_start(&file, &[]).expect_err("a file is no folder");
    assert_refused(&server, 1, &[text(&file), "is a file"]);
    for command in ["check", "stats --data", "dump --data"] {
        let args = command.split(' ').chain([text(&file)]);
        assert_refused(&run(args), 1, &[text(&file)]);
    }
    assert_refused(&run_with_input(["load", "-", "--data", text(&file)], b"k\n"), 1, &["is a file"]);
    assert_eq!(fs::read(&file).unwrap(), b"precious");
}

/// Incident: `serve --data ~` made a data folder among a user's files, and removed others' access.
/// Consequence: the files of both were mixed, and others could not reach theirs. Fix: a folder that
/// has files and is not a data folder is rejected before anything is created or changed.
#[test]
fn a_folder_of_somebody_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("letter.txt"), b"precious").unwrap();
    let named = text(folder.path());
    for engine in ["memory", "disk"] {
        let output = run(["serve", "--listen", "127.0.0.1:0", "--engine", engine, "--data", named]);
        assert_refused(
            &output,
            2,
            &[named, "letter.txt", "neither a data folder nor empty", "name an empty folder"],
        );
    }
    assert_refused(&run_with_input(["load", "-", "--data", named], b"k\n"), 2, &[named, "letter.txt"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing was made");
    assert_eq!(
        fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777,
        0o755,
        "nothing was changed"
    );

    fs::remove_file(folder.path().join("letter.txt")).unwrap();
    // As on a fresh file system.
    fs::create_dir(folder.path().join("lost+found")).unwrap();
    for _ in 0..2 {
        SkeinServe::start(folder.path(), &[]).stop();
    }
}

#[test]
fn a_data_folder_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    for command in ["check", "stats --data", "dump --data"] {
        let args = command.split(' ').chain([text(&missing)]);
        assert_refused(&run(args), 1, &[text(&missing), "does not exist"]);
    }
    assert!(!missing.exists(), "asking made it");
}

/// Root lacks no permission, so for root another user runs the command.
#[test]
fn a_data_folder_without_permission() {
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    fs::create_dir(&closed).unwrap();
    let mut permissions = fs::metadata(&closed).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&closed, permissions).unwrap();
    let data = closed.join("data");
    let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data", text(&data)]);
    let root = fs::write(closed.join("probe"), b"").is_ok();
    if root {
        const NOBODY: u32 = 65_534;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        command.uid(NOBODY).gid(NOBODY);
    }
    match command.output() {
        Ok(output) => assert_refused(&output, 1, &["cannot", text(&data), "Permission denied"]),
        Err(error) if root => {
            eprintln!("not tried: root runs the tests, and nobody else may run {command:?}: {error}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_port_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(["serve", "--listen", &address, "--data", text(folder.path())]);
    assert_refused(&output, 1, &[&address, "in use", "--listen"]);
}

/// Incident: `--listen 7223` and `256.0.0.1:7223` ended with exit code 1. Consequence: the unit
/// file, which does not restart after code 2, started the server again and again. Fix: a text that
/// can never be an address is a usage error, wherever it is given. A name that does not resolve may
/// do so later.
#[test]
fn an_address_that_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("skein.toml"));
    for (address, code) in
        [("7223", 2), ("256.0.0.1:7223", 2), ("127.0.0.1:99999", 2), ("no.such.host.invalid:1", 1)]
    {
        let output = run(["serve", "--listen", address, "--data", text(&data)]);
        assert_refused(&output, code, &[address]);
        fs::write(&file, format!("listen = {address:?}\n")).unwrap();
        assert_refused(&run(["config", "--check", text(&file)]), 2, &[address, "skein.toml"]);
    }
    assert_refused(&run(["serve", "--port", "65536", "--data", text(&data)]), 2, &["--port", "65535"]);
    let both = run(["serve", "--port", "1", "--listen", "127.0.0.1:1", "--data", text(&data)]);
    assert_refused(&both, 2, &["--port", "--listen"]);
    assert!(!data.exists());
}

#[test]
fn a_name_and_a_port_alone_are_addresses() {
    let folder = tempfile::tempdir().unwrap();
    for (n, listen) in [["--listen", "localhost:0"], ["--port", "0"]].into_iter().enumerate() {
        let mut command = skein(["serve", "--data"]);
        command.arg(folder.path().join(n.to_string())).args(listen);
        let server = SkeinServe::launch(command).expect("the server starts");
        assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
        server.stop();
    }
}

#[test]
fn an_open_address_needs_a_password() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(["serve", "--listen", "0.0.0.0:0", "--data", text(folder.path())]);
    assert_refused(&output, 2, &["0.0.0.0:0", "--password-file"]);
}

/// Incident: a missing file of `--config` ended with exit code 2, but a missing file of any other
/// option with 1. Consequence: a service manager that does not restart after 2 tried a wrong option
/// again and again. Fix: a named file that cannot be used is a usage error.
#[test]
fn files_that_options_name_are_options() {
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("skein.toml"));
    let tls = "--tls-listen 127.0.0.1:0 --tls-cert /nowhere --tls-key /nowhere";
    for options in ["--config /nowhere", "--password-file /nowhere", "--acl-file /nowhere", tls] {
        let output =
            run(["serve", "--port", "0", "--data", text(&data)].into_iter().chain(options.split(' ')));
        assert_refused(&output, 2, &["/nowhere"]);
        assert!(!data.exists(), "{options} made a folder");
    }
    fs::write(&file, "password-file = \"/nowhere\"\n").unwrap();
    assert_refused(&run(["config", "--check", text(&file)]), 2, &["/nowhere"]);
}

#[test]
fn passwords() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        text(&path).to_owned()
    };
    let (right, wrong, empty) = (file("right", b"secret\n"), file("wrong", b"guess\n"), file("empty", b"\n"));
    let data = folder.path().join("data");
    assert_refused(
        &run(["serve", "--listen", "127.0.0.1:0", "--data", text(&data), "--password-file", &empty]),
        2,
        &[&empty, "empty"],
    );
    let server = SkeinServe::start(&data, &["--password-file", &right]);
    let address = server.address.as_str();
    assert_refused(&run(["dump", "--from", address]), 1, &["password", "--password-file"]);
    assert_refused(
        &run(["stats", "--from", address, "--password-file", &wrong]),
        1,
        &["refused the password"],
    );
    let load = ["load", "-", "--to", address, "--password-file", &wrong];
    assert_refused(&run_with_input(load, b"k\n"), 1, &["refused the password"]);
    let load = ["load", "-", "--to", address, "--password-file", &right];
    assert_eq!(run_with_input(load, b"k\n").status.code(), Some(0));
    assert_refused(&run(["stats", "--from", address, "--password-file", "/nowhere"]), 1, &["/nowhere"]);
    let refused = server.client().call(&[b"GET", b"k"]).unwrap();
    assert!(refused.to_string().contains("NOAUTH"), "{refused}");
    server.stop();
}

#[test]
fn no_server_there() {
    let free = format!("127.0.0.1:{}", free_port());
    for command in ["dump --from", "stats --from"] {
        let args = command.split(' ').chain([free.as_str()]);
        assert_refused(&run(args), 1, &[&free, "skein serve"]);
    }
    assert_refused(&run_with_input(["load", "-", "--to", &free], b"k\n"), 1, &[&free, "skein serve"]);
}

#[test]
fn files_that_cannot_be_read_or_written() {
    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(&folder.path().join("data"), &[]);
    let to = ["--to", server.address.as_str()];
    assert_refused(&run(["load", "/nowhere/file"].into_iter().chain(to)), 1, &["/nowhere/file"]);
    assert_refused(&run(["load", text(folder.path())].into_iter().chain(to)), 1, &["is a folder"]);
    let output = run(["dump", "--from", &server.address, "-o", "/nowhere/file"]);
    assert_refused(&output, 1, &["/nowhere/file"]);
    server.stop();
}

/// The server dies during a load. The command must report that, and its progress.
#[test]
fn a_server_that_goes_away() {
    use std::io::Write;
    use std::process::Stdio;

    let folder = tempfile::tempdir().unwrap();
    let server = SkeinServe::start(folder.path(), &[]);
    let mut load = crate::common::skein(["load", "-", "--to", &server.address])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = load.stdin.take().unwrap();
    let mut client = server.client();
    input.write_all("key\n".repeat(10_000).as_bytes()).unwrap();
    while client.call(&[b"GET", b"key"]).unwrap() == Reply::Null {}
    server.kill();
    // The command may notice at any of these writes.
    while input.write_all("key\n".repeat(10_000).as_bytes()).is_ok() {}
    drop(input);
    let output = load.wait_with_output().unwrap();
    assert_refused(&output, 1, &["lost the connection", "records read", "loaded before"]);
}

/// Incident: when answers and messages went to a full disk, the command panicked, with a
/// meaningless exit code. Fix: it reports the error where it can, and its exit code is one of the
/// table.
#[test]
fn output_to_a_full_disk() {
    let folder = tempfile::tempdir().unwrap();
    let (keys, data) = (folder.path().join("keys"), folder.path().join("data"));
    fs::write(&keys, "a\nb\n").unwrap();
    for args in [
        vec!["load", text(&keys), "--data", text(&data)],
        vec!["dump", "--data", text(&data)],
        vec!["stats", "--data", text(&data)],
        vec!["check", text(&data)],
    ] {
        let output = skein(&args).stdout(full_disk()).output().unwrap();
        assert_refused(&output, 1, &["cannot write the output", "No space left"]);
    }
    let output = skein(["check", "/nowhere"]).stderr(full_disk()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
}
