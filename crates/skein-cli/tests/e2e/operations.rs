//! Operating a server: a configuration file, a service manager, a Unix socket, a folder of its own.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};

use crate::common::{PATIENCE, SkeinServe, assert_refused, run, skein, stdout_of};
use skeindb::client::Reply;

#[test]
fn a_file_and_the_command_line_make_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data, socket) =
        (folder.path().join("skein.toml"), folder.path().join("data"), folder.path().join("s"));
    let printed = String::from_utf8(stdout_of(run(["config"]))).expect("text");
    assert!(printed.contains("\n#max-clients = 10000\n") || printed.contains("\n#max-clients = \"10000\"\n"));
    let ours =
        format!("max-clients = 3\nidle-timeout = \"90s\"\nunix-socket = {socket:?}\nunix-socket-mode = 770");
    std::fs::write(&file, format!("{printed}\n{ours}\n")).unwrap();
    let named = file.to_str().expect("text");
    let server = SkeinServe::start(&data, &["--config", named, "--max-clients", "4"]);
    let mut client = server.client();
    let mut told =
        |name: &str| client.call(&[b"CONFIG", b"GET", name.as_bytes()]).expect("a reply").into_array();
    let mut value = |name: &str| told(name).expect("a pair").swap_remove(1);
    assert_eq!(value("maxclients"), Reply::Bulk(b"4".to_vec()), "the command line wins");
    assert_eq!(value("timeout"), Reply::Bulk(b"90".to_vec()));
    assert_eq!(socket.metadata().unwrap().permissions().mode() & 0o777, 0o770);
    let mut local = UnixStream::connect(&socket).unwrap();
    local.write_all(b"PING\r\n").unwrap();
    let mut reply = [0; 7];
    local.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"+PONG\r\n");
    assert_eq!(data.metadata().unwrap().permissions().mode() & 0o777, 0o700, "nobody else's business");
    server.stop();
    assert!(!socket.exists());

    let fine = String::from_utf8(stdout_of(run(["config", "--check", named]))).expect("text");
    assert_eq!(fine, format!("{named}: fine\n"));
    std::fs::write(&file, "max-clients = 3\n\nmax-key = 0\n").unwrap();
    let refused = run(["config", "--check", named]);
    assert_refused(&refused, 2, &["--max-key", "1 to 65535", &format!("({named}:3)")]);
    let refused = run(["serve", "--data", "/nowhere", "--config", named]);
    assert_refused(&refused, 2, &["--max-key", "1 to 65535", &format!("({named}:3)")]);
}

#[test]
fn config_rewrite_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("skein.toml"), folder.path().join("data"));
    let named = file.to_str().expect("text");
    std::fs::write(&file, "# few\nmax-clients = 50\n").unwrap();
    let server = SkeinServe::start(&data, &["--config", named, "--max-reply", "2m"]);
    let mut client = server.client();
    let mut ask =
        |words: &str| client.call(&words.split(' ').map(str::as_bytes).collect::<Vec<_>>()).expect("a reply");
    let ok = Reply::Simple("OK".into());
    let set = [("maxclients", "60"), ("timeout", "90"), ("slowlog-log-slower-than", "1500")];
    for (name, value) in set {
        assert_eq!(ask(&format!("CONFIG SET {name} {value}")), ok);
    }
    assert_eq!(ask("CONFIG REWRITE"), ok);
    let expected = "# few\nmax-clients = 60\nslowlog-slower-than = \"1500us\"\nidle-timeout = \"90s\"\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected, "what nobody has set is not there");
    std::fs::remove_file(&file).unwrap();
    let refused = ask("CONFIG REWRITE");
    assert!(
        matches!(&refused, Reply::Error(text) if text.starts_with("ERR Rewriting config file: ")),
        "{refused}"
    );
    server.stop();
    std::fs::write(&file, expected).unwrap();
    let server = SkeinServe::start(&data, &["--config", named]);
    let mut client = server.client();
    for (name, value) in set {
        let told = client.call(&[b"CONFIG", b"GET", name.as_bytes()]).expect("a reply").into_array();
        assert_eq!(told.expect("a pair")[1], Reply::Bulk(value.into()), "{name}");
    }
    server.stop();
}

/// `CONFIG REWRITE` leaves one option for the cache of the disk engine, whatever its name was.
#[test]
fn a_rewritten_cache_size_survives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("skein.toml");
    std::fs::write(&file, "engine = \"disk\"\ncache = \"1m\" # small\nmax-clients = 50\n").unwrap();
    let start = || {
        let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(folder.path().join("data")).arg("--config").arg(&file);
        SkeinServe::launch(command).expect("the server starts")
    };
    let ask = |server: &SkeinServe, words: &[&[u8]]| server.client().call(words).expect("a reply");
    let size = |server: &SkeinServe| {
        let told = ask(server, &[b"CONFIG", b"GET", b"maxmemory"]).into_array().expect("a pair");
        told[1].clone()
    };
    let server = start();
    assert_eq!(size(&server), Reply::Bulk(b"1048576".to_vec()));
    assert_eq!(ask(&server, &[b"CONFIG", b"SET", b"maxmemory", b"2mb"]), Reply::Simple("OK".into()));
    assert_eq!(ask(&server, &[b"CONFIG", b"REWRITE"]), Reply::Simple("OK".into()));
    server.stop();
    let expected = "engine = \"disk\"\nmax-clients = 50\nmax-memory = 2097152\n";
    assert_eq!(std::fs::read_to_string(&file).unwrap(), expected);
    let server = start();
    assert_eq!(size(&server), Reply::Bulk(b"2097152".to_vec()));
    server.stop();
}

#[test]
fn a_service_manager_hears_when_it_begins_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("notify");
    let manager = UnixDatagram::bind(&name).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let hears = |word: &str| {
        let mut message = [0; 200];
        let count = manager.recv(&mut message).expect("a message");
        let text = String::from_utf8_lossy(&message[..count]).into_owned();
        assert!(text.lines().any(|line| line == word), "{text}");
    };
    let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--data"]);
    command.arg(folder.path().join("data")).env("NOTIFY_SOCKET", &name);
    let server = SkeinServe::launch(command).expect("the server starts");
    hears("READY=1");
    server.stop();
    hears("STOPPING=1");
}

#[test]
fn a_folder_that_everybody_can_write_to_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let refused = SkeinServe::try_start(folder.path(), &[]).expect_err("it is open to all");
    assert_refused(&refused, 1, &["every user can write to", "chmod o-w"]);
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing was made in it");
}
