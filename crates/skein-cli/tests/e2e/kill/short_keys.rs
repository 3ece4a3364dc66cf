//! `kill -9` over the index for short keys, while puts and removals of the same keys race.
//!
//! Incident: over `mlp`, a removal that had lost such a race was answered and logged under the
//! put's version. Consequence: acknowledged puts were missing after a restart. Fix: an index calls
//! the closure once (`docs/design/compute-asks-once.md`).

use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::common::{E2eRandom, SkeinServe, assert_sound, skein};
use skeindb::client::{Client, Reply};

/// Keys of one pipeline: a worker runs it as one batch, and two workers meet in the middle of
/// theirs.
const BATCH: u64 = 64;
const ROUNDS: u64 = 4;

fn start(folder: &Path) -> SkeinServe {
    let mut command = skein(["serve", "--listen", "127.0.0.1:0", "--durability", "sync", "--workers", "2"]);
    command.args(["--index", "mlp", "--data"]).arg(folder);
    SkeinServe::launch(command).expect("the server starts")
}

/// Returns keys of eight bytes. Those of a round are in order.
fn keys(round: u64, batch: u64) -> Vec<[u8; 8]> {
    (0..BATCH).map(|key| ((round << 32) | (batch * BATCH + key)).to_be_bytes()).collect()
}

/// Sends a command for each key of a batch, batch after batch, until the server is gone. Returns
/// the replies.
fn ask(mut client: Client, round: u64, command: impl Fn(&[u8; 8]) -> Vec<Vec<u8>>) -> Vec<Reply> {
    let mut replies = Vec::new();
    for batch in 0.. {
        let commands: Vec<Vec<Vec<u8>>> = keys(round, batch).iter().map(&command).collect();
        match client.pipeline(&commands) {
            Ok(answered) => replies.extend(answered),
            Err(_) => return replies,
        }
    }
    unreachable!("the server is killed at last")
}

/// Checks keys for which both commands were acknowledged. If the removal returned the second value,
/// the key must be absent. If it returned the first, the second must be there.
fn check(client: &mut Client, round: u64, puts: &[Reply], taken: &[Reply]) -> usize {
    for (number, (put, taken)) in puts.iter().zip(taken).enumerate() {
        let key = (round << 32 | number as u64).to_be_bytes();
        assert_eq!(*put, Reply::ok(), "round {round}, key {number}");
        let expected = match taken.bytes() {
            Some(b"second") => Reply::Null,
            Some(b"first") | None => Reply::Bulk(b"second".to_vec()),
            Some(other) => panic!("round {round}, key {number}: taken {other:?}"),
        };
        let held = client.call(&[b"GET", &key]).expect("the server answers");
        assert_eq!(held, expected, "round {round}, key {number}: taken {taken:?}");
    }
    puts.len().min(taken.len())
}

#[test]
fn puts_that_race_with_removals_are_kept_over_mlp() {
    let mut random = E2eRandom::seeded();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rounds: Vec<(Vec<Reply>, Vec<Reply>)> = Vec::new();
    while rounds.len() < ROUNDS as usize {
        let (server, round) = (start(folder.path()), rounds.len() as u64);
        let mut client = server.client();
        for batch in 0..64 {
            let command = |key: &[u8; 8]| [b"SET".to_vec(), key.to_vec(), b"first".to_vec()];
            let commands: Vec<_> = keys(round, batch).iter().map(command).collect();
            client.pipeline(&commands).expect("the server answers");
        }
        let (putter, taker) = (server.client(), server.client());
        let puts = thread::spawn(move || {
            ask(putter, round, |key| vec![b"SET".to_vec(), key.to_vec(), b"second".to_vec()])
        });
        let takes = thread::spawn(move || ask(taker, round, |key| vec![b"GETDEL".to_vec(), key.to_vec()]));
        thread::sleep(Duration::from_millis(50 + random.below(300)));
        server.kill();
        rounds.push((puts.join().expect("a thread"), takes.join().expect("a thread")));
        assert_sound(folder.path());
    }
    let server = start(folder.path());
    let mut client = server.client();
    let checked: usize =
        (0..).zip(&rounds).map(|(round, (puts, takes))| check(&mut client, round, puts, takes)).sum();
    assert!(checked > 0, "both sides acknowledged no key");
}
