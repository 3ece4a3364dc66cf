//! The files of TLS: reloaded, rejected, rewritten.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{TestAuthority, TestCertificate, TlsTestClient, files};
use crate::common::{encode, options, start_with};
use rcgen::KeyPair;
use skein_server::{OptionValue, OptionsFile, ServerOptions, Tls, TlsClients};
use skein_store::Durability;

/// Renewing a certificate needs no restart.
#[test]
fn setting_certificates_reloads_them() {
    let (authority, other) = (TestAuthority::new(), TestAuthority::new());
    let folder = tempfile::tempdir().expect("a folder");
    let tls = files(folder.path(), &authority, TlsClients::Optional);
    let (cert, key, ca) = (tls.cert.clone(), tls.key.clone(), tls.ca.clone().expect("a file"));
    let server = start_with(ServerOptions { tls: Some(tls), ..options() }, Durability::Buffered);
    let knows = |authority: &TestAuthority, shown: Option<&TestCertificate>| {
        TlsTestClient::new(&server, authority, shown).try_ask("PING").is_ok_and(|answer| answer == "+PONG|")
    };
    let (mut admin, mut before) = (server.connect(), TlsTestClient::new(&server, &authority, None));
    assert_eq!(before.ask("PING"), "+PONG|");
    let set = |names: &[(&str, &Path)]| -> String {
        let words = names.iter().map(|(name, path)| format!(" {name} {}", path.display()));
        words.collect::<Vec<_>>().concat()
    };
    let refusal = |name: &str| {
        format!(
            "-ERR CONFIG SET failed (possibly related to argument '{name}') - Unable to update TLS configuration. Check server logs.|"
        )
    };
    // Another pair under other names: one half of it is rejected, together with everything else in
    // the request.
    let shown = other.good();
    let (cert2, key2) = (folder.path().join("cert2.pem"), folder.path().join("key2.pem"));
    fs::write(&cert2, shown.cert.pem()).expect("a file");
    fs::write(&key2, shown.key.serialize_pem()).expect("a file");
    let half = format!("CONFIG SET timeout 77{}", set(&[("tls-cert-file", &cert2)]));
    assert_eq!(admin.ask(&half), refusal("tls-cert-file"));
    let half = format!("CONFIG SET{}", set(&[("tls-key-file", &key2), ("tls-ca-cert-file", &ca)]));
    assert_eq!(admin.ask(&half), refusal("tls-key-file"));
    let absent = folder.path().join("absent.pem");
    assert_eq!(
        admin.ask(&format!("CONFIG SET{}", set(&[("tls-ca-cert-file", &absent)]))),
        refusal("tls-ca-cert-file")
    );
    assert_eq!(admin.ask("CONFIG GET timeout"), "*2|$7|timeout|$1|0|");
    assert!(knows(&authority, None) && !knows(&other, None));
    // Together the two are accepted. Existing connections stay.
    let both = format!("CONFIG SET{}", set(&[("tls-key-file", &key2), ("tls-cert-file", &cert2)]));
    assert_eq!(admin.ask(&both), "+OK|");
    assert!(!knows(&authority, None) && knows(&other, None));
    assert_eq!(before.ask("PING"), "+PONG|");
    assert!(admin.ask("CONFIG GET tls-cert-file").ends_with(&format!("|{}|", cert2.display())));
    // Back to the first names; then the files change, but not their names.
    assert_eq!(
        admin.ask(&format!("CONFIG SET{}", set(&[("tls-key-file", &key), ("tls-cert-file", &cert)]))),
        "+OK|"
    );
    fs::write(&cert, shown.cert.pem()).expect("a file");
    fs::write(&key, shown.key.serialize_pem()).expect("a file");
    assert!(knows(&authority, None), "the server has not reloaded the files yet");
    assert_eq!(admin.ask(&format!("CONFIG SET{}", set(&[("tls-cert-file", &cert)]))), "+OK|");
    assert!(knows(&other, None));
    // The trusted authority changes, too.
    let shown = (authority.good(), other.good());
    assert!(knows(&other, Some(&shown.0)) && !knows(&other, Some(&shown.1)));
    fs::write(&ca, other.cert.pem()).expect("a file");
    assert_eq!(admin.ask(&format!("CONFIG SET{}", set(&[("tls-ca-cert-file", &ca)]))), "+OK|");
    assert!(!knows(&other, Some(&shown.0)) && knows(&other, Some(&shown.1)));
    // Without a CA file, client certificates could not be requested.
    admin.send(&encode(&[b"CONFIG", b"SET", b"tls-ca-cert-file", b""]));
    assert_eq!(crate::common::show(&admin.reply()), refusal("tls-ca-cert-file"));
    server.stop();
    // Without a TLS port there is nothing to change.
    let server = crate::common::start();
    assert_eq!(
        server.connect().ask(&format!("CONFIG SET{}", set(&[("tls-cert-file", &cert)]))),
        "-ERR CONFIG SET failed (possibly related to argument 'tls-cert-file') - can't set immutable config|"
    );
}

/// A change to the TLS files of a server.
type TlsFileChange<'c> = &'c dyn Fn(&mut Tls);

#[test]
fn unusable_files_are_named() {
    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let good = files(folder.path(), &authority, TlsClients::Required);
    let refusal = |change: TlsFileChange<'_>| {
        let mut tls = good.clone();
        change(&mut tls);
        let failed = ServerOptions { tls: Some(tls), ..options() }.check();
        failed.expect_err("it cannot be used").to_string()
    };
    let secret = "not a key but a secret";
    let strange = folder.path().join("strange.pem");
    fs::write(&strange, secret).expect("a file");
    let broken = folder.path().join("broken.pem");
    fs::write(&broken, format!("-----BEGIN PRIVATE KEY-----\n{secret}\n")).expect("a file");
    let other = folder.path().join("other.pem");
    fs::write(&other, KeyPair::generate().expect("a key").serialize_pem()).expect("a file");
    let absent = folder.path().join("absent.pem");
    let cases: [(TlsFileChange<'_>, &Path, &str); 7] = [
        (&|tls| tls.cert.clone_from(&absent), &absent, "No such file"),
        (&|tls| tls.cert.clone_from(&strange), &strange, "it contains no certificate"),
        (&|tls| tls.key.clone_from(&strange), &strange, "it contains no private key"),
        (&|tls| tls.key.clone_from(&broken), &broken, "it is not PEM"),
        (&|tls| tls.key.clone_from(&other), &good.cert, "KeyMismatch"),
        (&|tls| tls.ca = Some(strange.clone()), &strange, "it contains no certificate"),
        (&|tls| tls.ca = Some(absent.clone()), &absent, "No such file"),
    ];
    for (change, file, why) in cases {
        let message = refusal(change);
        assert!(message.starts_with(&format!("cannot use {} for TLS: ", file.display())), "{message}");
        assert!(message.contains(why) && !message.contains(secret), "{message}");
    }
    let message = refusal(&|tls| tls.ca = None);
    assert!(message.starts_with("option tls.clients needs the certificates"), "{message}");
    let open: std::net::SocketAddr = ([0, 0, 0, 0], 0).into();
    let message = refusal(&|tls| (tls.listen, tls.clients) = (open, TlsClients::Optional));
    assert!(message.contains("there is no password"), "{message}");
    let required = Tls { listen: open, ..good.clone() };
    ServerOptions { tls: Some(required), ..options() }
        .check()
        .expect("a required certificate replaces a password");
}

/// Incident: with `TlsClients::No` the CA file for clients' certificates was not read. Consequence:
/// a wrong file was found only when client certificates were first requested, at a restart, maybe
/// years later. Fix: each named file is read.
#[test]
fn ca_file_must_be_valid_even_without_client_certificates() {
    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let tls = files(folder.path(), &authority, TlsClients::No);
    let ca = tls.ca.clone().expect("a file");
    let server = start_with(ServerOptions { tls: Some(tls.clone()), ..options() }, Durability::Buffered);
    fs::write(&ca, "no certificate").expect("a file");
    let refused = server.connect().ask(&format!("CONFIG SET tls-ca-cert-file {}", ca.display()));
    assert!(refused.contains("Unable to update TLS configuration"), "{refused}");
    let refused = ServerOptions { tls: Some(tls), ..options() }.check().expect_err("no certificate");
    assert!(refused.to_string().starts_with(&format!("cannot use {} for TLS: it contains no", ca.display())));
    server.stop();
}

/// Incident: the server waited for a FIFO in place of a file, and read a device without end.
/// Consequence: CONFIG SET blocked a worker for ever, or filled the memory. Fix: these files must
/// be regular, with at most 1 MiB.
#[test]
fn tls_files_must_be_regular_and_short() {
    const LIMIT: usize = 1 << 20;

    let authority = TestAuthority::new();
    let folder = tempfile::tempdir().expect("a folder");
    let good = files(folder.path(), &authority, TlsClients::Required);
    let fifo = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("it runs").success());
    let long = folder.path().join("long.pem");
    let mut text = authority.cert.pem().into_bytes();
    text.resize(LIMIT, b'\n');
    fs::write(&long, &text).expect("a file");
    let check = move |change: TlsFileChange<'_>| {
        let mut tls = good.clone();
        change(&mut tls);
        ServerOptions { tls: Some(tls), ..options() }.check()
    };
    check(&|tls| tls.ca = Some(long.clone())).expect("a file of the maximum length");
    fs::write(&long, [&text[..], b"\n"].concat()).expect("a file");
    let (says, said) = channel();
    let named = [fifo.clone(), folder.path().to_owned(), "/dev/zero".into(), long.clone()];
    std::thread::spawn(move || {
        for file in named {
            let (cert, key, ca) = (file.clone(), file.clone(), Some(file));
            let changes: [TlsFileChange<'_>; 3] =
                [&|tls| tls.cert.clone_from(&cert), &|tls| tls.key.clone_from(&key), &|tls| {
                    tls.ca.clone_from(&ca);
                }];
            let refused = changes.map(|change| check(change).expect_err("it cannot be used").to_string());
            says.send((cert, refused)).expect("the test hears");
        }
    });
    for _ in 0..4 {
        let (file, refused) = said.recv_timeout(Duration::from_secs(60)).expect("no file blocks the check");
        let why = if file == long {
            "it has 1048577 bytes; the limit is 1048576"
        } else {
            "it is not a regular file"
        };
        for message in refused {
            let file = file.display();
            assert!(
                message.starts_with(&format!("cannot use {file} for TLS: {why}; name a PEM file")),
                "{message}"
            );
        }
    }
}

/// An options file in memory.
#[derive(Debug, Default)]
struct MemoryOptionsFile(Mutex<Vec<(&'static str, OptionValue)>>);

impl OptionsFile for MemoryOptionsFile {
    fn rewrite(&self, options: &[(&'static str, OptionValue)]) -> Result<(), String> {
        *self.0.lock().expect("nobody panicked") = options.to_vec();
        Ok(())
    }
}

/// Incident: CONFIG REWRITE wrote the name of the CA file, but not whether clients must present a
/// certificate. Consequence: without that option a CA file alone requires a certificate of all
/// clients, so after a restart another rule applied. Fix: the current rule is written with the
/// file.
#[test]
fn rewrite_keeps_client_certificate_mode_with_the_ca_file() {
    let authority = TestAuthority::new();
    for (clients, rule, ca) in [
        (TlsClients::No, "no", "ca.pem"),
        (TlsClients::Optional, "optional", "ca.pem"),
        (TlsClients::Required, "yes", "ca.pem"),
        // Cleared, as in Redis.
        (TlsClients::No, "no", ""),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let tls = Some(files(folder.path(), &authority, clients));
        let kept = Arc::new(MemoryOptionsFile::default());
        let options_file: Option<Arc<dyn OptionsFile>> = Some(kept.clone());
        let server = start_with(ServerOptions { tls, options_file, ..options() }, Durability::Buffered);
        let mut client = server.connect();
        let ca = if ca.is_empty() {
            String::new()
        } else {
            folder.path().join(ca).to_str().expect("text").to_owned()
        };
        assert_eq!(client.call(&[b"CONFIG", b"SET", b"tls-ca-cert-file", ca.as_bytes()]), b"+OK\r\n");
        assert_eq!(
            client.ask("CONFIG GET tls-ca-cert-file"),
            format!("*2|$16|tls-ca-cert-file|${}|{ca}|", ca.len())
        );
        assert_eq!(client.ask("CONFIG REWRITE"), "+OK|");
        let text = |text: &str| OptionValue::Text(text.to_owned());
        let written = kept.0.lock().expect("nobody panicked").clone();
        assert_eq!(written, [("tls-auth-clients", text(rule)), ("tls-ca", text(&ca))]);
        server.stop();
    }
}
