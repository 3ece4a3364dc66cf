//! Starts a real `redis-server` for a test.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::free_port::free_port;
use super::common::{TestClient, encode};

/// If set to `none`, these tests are skipped.
pub const VARIABLE: &str = "SKEIN_TEST_REDIS";
const MISSING: &str = "these tests need a redis-server 7.0 in the PATH: install one (`apt-get install redis-server`), or skip \
    them with SKEIN_TEST_REDIS=none";

/// A running `redis-server`. Stops it on drop.
pub struct ReferenceRedis {
    process: Child,
    pub address: String,
    _folder: tempfile::TempDir,
}

impl ReferenceRedis {
    /// Starts a server on a free port, without persistence. Returns `None` if the tests are
    /// skipped.
    pub fn start() -> Option<Self> {
        if std::env::var(VARIABLE).is_ok_and(|value| value == "none") {
            eprintln!("skipped: {VARIABLE}=none");
            return None;
        }
        // Another program may take the port first.
        let started = (0..10).find_map(|_| Self::try_start());
        Some(started.expect("a redis-server that serves"))
    }

    fn try_start() -> Option<Self> {
        let port = free_port();
        let folder = tempfile::tempdir().expect("a folder");
        let process = Command::new("redis-server")
            .args(["--bind", "127.0.0.1", "--save", "", "--port", &port.to_string(), "--dir"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .spawn();
        let process = process.unwrap_or_else(|error| panic!("{error}; {MISSING}"));
        let mut redis = Self { process, address: format!("127.0.0.1:{port}"), _folder: folder };
        redis.serves().then_some(redis)
    }

    /// Waits until the server accepts connections or has exited. Returns whether it accepts them.
    fn serves(&mut self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline && self.process.try_wait().is_ok_and(|ended| ended.is_none()) {
            if let Ok(stream) = std::net::TcpStream::connect(&self.address) {
                let mut client = TestClient::new(stream);
                client.send(&encode(&[b"INFO", b"server"]));
                // Another process may have got the port meanwhile.
                let Some(info) = client.try_reply() else { return false };
                let info = String::from_utf8_lossy(&info).into_owned();
                if !info.contains(&format!("process_id:{}\r", self.process.id())) {
                    return false;
                }
                assert!(info.contains("redis_version:7.0."), "{MISSING}; this one is another: {info}");
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }
}

impl Drop for ReferenceRedis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
