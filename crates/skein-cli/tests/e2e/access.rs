//! Access to a server: TLS, certificates, users, Unix sockets; and the messages if access fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};

use crate::common::{SkeinServe, assert_refused, disk_trie, run, skein, stdout_of};
use crate::free_port::free_port;

/// A folder of certificates: of an authority, of a stranger, and those that the authority signed.
pub struct CertificateFiles(tempfile::TempDir);

impl CertificateFiles {
    pub fn new() -> Self {
        let files = Self(tempfile::tempdir().expect("a folder"));
        let authority = files.authority("ca");
        files.sign("server", &authority, 4000);
        files.sign("client", &authority, 4000);
        files.sign("old", &authority, 2001);
        files.sign("strange", &files.authority("stranger"), 4000);
        for name in ["pw", "ann", "wrong"] {
            files.write(name, &format!("{name}-password\n"));
        }
        files.write("users", "user ann on >ann-password ~ann:* +@read +@write\n");
        files
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().expect("text").to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn authority(&self, name: &str) -> Issuer<'static, KeyPair> {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        self.write(name, &params.self_signed(&key).expect("a certificate").pem());
        Issuer::new(params, key)
    }

    /// Creates a certificate for `localhost` that is valid up to this year, and its key.
    fn sign(&self, name: &str, authority: &Issuer<'static, KeyPair>, until: i32) {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().expect("a key");
        self.write(name, &params.signed_by(&key, authority).expect("a certificate").pem());
        self.write(&format!("{name}.key"), &key.serialize_pem());
    }
}

/// A server with a password, the user `ann`, a Unix socket, and a port for TLS.
struct GuardedServer {
    files: CertificateFiles,
    server: SkeinServe,
    /// `localhost` and the TLS port.
    tls: String,
}

impl GuardedServer {
    /// Starts a server that shows `cert`. With `ca`, clients must show a certificate of that
    /// authority.
    fn start(cert: &str, ca: Option<&str>) -> Self {
        let files = CertificateFiles::new();
        // The server would not report the TLS port that 0 selects.
        let port = free_port();
        let tls = format!("localhost:{port}");
        let (listen, key) = (format!("127.0.0.1:{port}"), format!("{cert}.key"));
        let mut options = vec!["--tls-listen".to_owned(), listen];
        let mut files_of = |names: &[(&str, &str)]| {
            options.extend(names.iter().flat_map(|(option, name)| [(*option).to_owned(), files.path(name)]));
        };
        files_of(&[
            ("--tls-cert", cert),
            ("--tls-key", &key),
            ("--password-file", "pw"),
            ("--unix-socket", "s"),
        ]);
        files_of(&[("--acl-file", "users")]);
        if let Some(ca) = ca {
            files_of(&[("--tls-ca", ca)]);
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let server = SkeinServe::start(&PathBuf::from(files.path("data")), &options);
        Self { files, server, tls }
    }

    /// Builds a command. Words that begin with `@` are files of this folder; `TLS` and `PLAIN` are
    /// the server's addresses.
    fn command(&self, line: &str) -> Command {
        let word = |word: &str| match word {
            "TLS" => self.tls.clone(),
            "PLAIN" => self.server.address.clone(),
            word => word.strip_prefix('@').map_or_else(|| word.to_owned(), |name| self.files.path(name)),
        };
        let mut command = skein(line.split_whitespace().map(word));
        for name in ["SKEIN_PASSWORD", "REDISCLI_AUTH"] {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, line: &str) -> Output {
        self.command(line).output().expect("skein runs")
    }

    fn says(&self, line: &str) -> String {
        String::from_utf8(stdout_of(self.run(line))).expect("text")
    }

    fn refuses(&self, line: &str, words: &[&str]) {
        assert_refused(&self.run(line), 1, words);
    }
}

const TLS: &str = "--tls --tls-ca @ca --tls-cert @client --tls-key @client.key";

#[test]
fn a_user_with_a_certificate_works_by_tls_with_its_keys_alone() {
    let server = GuardedServer::start("server", Some("ca"));
    let many = (0..3000).fold(String::new(), |text, n| format!("{text}ann:{n:04}\t{}\n", "v".repeat(100)));
    server.files.write("many", &many);
    server.files.write("mixed", "ann:x\t1\nbob:x\t2\n");
    let ann = format!("{TLS} --user ann --password-file @ann");
    let said = server.says(&format!("load @many --format tsv --to TLS {ann}"));
    assert!(said.starts_with("3000 records read, 3000 loaded"), "{said}");
    let partly = server.run(&format!("load @mixed --format tsv --to TLS {ann}"));
    let named = String::from_utf8_lossy(&partly.stderr).into_owned();
    assert_eq!(partly.status.code(), Some(4), "{named}");
    assert!(named.contains("line 2: NOPERM"), "{named}");
    if disk_trie().as_deref() != Some("hash") {
        assert_eq!(server.says(&format!("dump --from TLS {ann} --prefix ann:0 ")).lines().count(), 1000);
        server.refuses(&format!("dump --from TLS {ann}"), &["NOPERM", "ACL SETUSER", "--user", "--prefix"]);
    }
    server.refuses(&format!("stats --from TLS {ann}"), &["NOPERM", "ACL SETUSER"]);

    // The default user may read everything, also by a URL.
    let all = TLS.replacen("--tls ", "--password-file @pw ", 1);
    let said = server.says(&format!("stats --from rediss://{} {all}", server.tls));
    assert!(said.contains("\nconnected_clients:1\n"), "{said}");
    let watched = server.says(&format!("stats --watch --interval 100ms --ticks 2 --from TLS --tls {all}"));
    assert_eq!(watched.lines().count(), 3);

    // One command writes through TLS, and the other reads in plain text.
    let other = tempfile::tempdir().unwrap();
    let copy = SkeinServe::start(other.path(), &[]);
    let from = all.replace("--", "--from-");
    let said = server.says(&format!("copy --from TLS --from-tls {from} --to {}", copy.address));
    assert!(said.starts_with("3001 keys copied"), "{said}");
}

#[test]
fn a_unix_socket_and_the_environment_will_do() {
    let server = GuardedServer::start("server", None);
    let stats = format!("stats --from unix:{}", server.files.path("s"));
    server.refuses(&stats, &["requires a password", "--password-file", "SKEIN_PASSWORD"]);
    for name in ["SKEIN_PASSWORD", "REDISCLI_AUTH"] {
        let said = stdout_of(server.command(&stats).env(name, "pw-password").output().unwrap());
        assert!(String::from_utf8(said).unwrap().contains("\nconnected_clients:1\n"));
    }
    let wrong = server.command(&stats).env("SKEIN_PASSWORD", "guess").output().unwrap();
    assert_refused(
        &wrong,
        1,
        &["refused the password in the environment variable SKEIN_PASSWORD", "WRONGPASS"],
    );
    assert!(!String::from_utf8_lossy(&wrong.stderr).contains("guess"), "a secret is said");
    server.refuses(
        "stats --from PLAIN --user ann --password-file @wrong",
        &["refused the user \"ann\" with the password in", "WRONGPASS"],
    );
}

#[test]
fn a_server_that_cannot_be_believed_is_not_told_anything() {
    let server = GuardedServer::start("server", None);
    let password = "--password-file @pw";
    let by_number = server.tls.replace("localhost", "127.0.0.1");
    let stats = format!("stats --from TLS --tls {password}");
    server.refuses(&format!("{stats} --tls-ca @stranger"), &["no authority", "stranger", "--tls-ca"]);
    server.refuses(&stats, &["no authorit", "this machine knows", "--tls-ca"]);
    let named = format!("stats --from {by_number} --tls --tls-ca @ca {password}");
    server.refuses(&named, &["localhost", "127.0.0.1", "--tls-server-name"]);
    assert!(server.run(&format!("{named} --tls-server-name localhost")).status.success());
    let blind = server.run(&format!("{stats} --insecure"));
    assert!(String::from_utf8_lossy(&blind.stderr).contains("warning: --insecure"), "{blind:?}");
    stdout_of(blind);
    server.refuses(
        &format!("stats --from PLAIN --tls --tls-ca @ca {password}"),
        &["does not speak TLS", "leave out --tls"],
    );
    server.refuses(&format!("stats --from TLS {password}"), &["speaks TLS", "--tls"]);

    let old = GuardedServer::start("old", None);
    old.refuses(&format!("stats --from TLS --tls --tls-ca @ca {password}"), &["has expired"]);
}

#[test]
fn a_certificate_that_the_server_does_not_take_is_named() {
    let server = GuardedServer::start("server", Some("ca"));
    let stats = "stats --from TLS --tls --tls-ca @ca --password-file @pw";
    server.refuses(stats, &["asks for a certificate", "--tls-cert"]);
    for name in ["old", "strange"] {
        let shown = format!("{stats} --tls-cert @{name} --tls-key @{name}.key");
        server.refuses(&shown, &["the certificate in", name, "valid now"]);
    }
    server.refuses(
        &format!("{stats} --tls-cert @client --tls-key @old.key"),
        &["cannot show", "client", "old.key"],
    );
    server.refuses(
        &format!("{stats} --tls-cert @client --tls-key @none"),
        &["none for TLS", "name a PEM file"],
    );
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    for (line, words) in [
        ("stats --tls-ca ca", ["--tls-ca works only with TLS", "rediss://"]),
        ("stats --insecure", ["--insecure works only with TLS", "--tls"]),
        ("stats --tls --from unix:/s", ["--tls", "leave the option out"]),
        ("stats --from redis://ann@geese:1 --user bob", ["--user bob", "ann"]),
        ("copy --from redis://ann@geese:1", ["the user \"ann\" needs a password", "--from-password-file"]),
        ("stats --data d --user ann", ["cannot be used with", "--user"]),
        ("dump --from rediss://ann:secret@geese:1", ["a password in an address", "--password-file"]),
        ("load - --to http://geese", ["unknown scheme", "rediss://"]),
        ("dump --tls --tls-cert c", ["required", "--tls-key"]),
    ] {
        let refused = run(line.split_whitespace());
        assert_refused(&refused, 2, &words);
        assert!(!String::from_utf8_lossy(&refused.stderr).contains("secret"));
    }
    assert!(!Path::new("d").exists());
}
