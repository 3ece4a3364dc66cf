//! Transactions under kills: an acknowledged transaction must survive whole, and no other may
//! survive in part.

use std::io;

use skeindb::client::{Client, Reply};

use super::oracle::{DurabilityPromise, OracleRows, check_bounds, numbers_under, under};
use super::writers::{MAX_STEPS, WriterProgress, assert_done};

/// Threads that run transactions.
pub const MOVERS: usize = 2;
/// Accounts shared by all threads.
const ACCOUNTS: u64 = 4;

/// Returns the commands of transaction number `n` of a thread. It sets the thread's own keys to
/// that number, and keeps the sum of the accounts.
fn commands(name: &str, thread: usize, n: u64) -> Vec<Vec<String>> {
    let own = format!("{name}/mover{thread}");
    let account = |number: u64| format!("{name}/account/{}", number % ACCOUNTS);
    let (amount, number) = (format!("{}", n % 7 + 1), n.to_string());
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    vec![
        words(&["MULTI"]),
        words(&["DECRBY", &account(n), &amount]),
        words(&["INCR", &format!("{own}/count")]),
        words(&["SET", &format!("{own}/at/{:010}", n - 1), &number]),
        words(&["RENAME", &format!("{own}/at/{:010}", n - 1), &format!("{own}/at/{n:010}")]),
        words(&["MSET", &format!("{own}/a"), &number, &format!("{own}/b"), &number]),
        words(&["INCRBY", &account(n + 1 + n / ACCOUNTS % 3), &amount]),
        words(&["EXEC"]),
    ]
}

/// Runs one transaction after the other.
pub fn run(client: Client, name: &str, thread: usize) -> WriterProgress {
    let (mut sender, mut receiver) = client.split();
    let mut progress = WriterProgress::default();
    let mut once = |progress: &mut WriterProgress| -> io::Result<()> {
        progress.sent += 1;
        let commands = commands(name, thread, progress.sent);
        for command in &commands {
            sender.push(command);
        }
        sender.flush()?;
        for _ in 1..commands.len() {
            assert_done(&receiver.read()?);
        }
        match receiver.read()? {
            Reply::Array(replies) => replies.iter().for_each(assert_done),
            other => panic!("EXEC answers {other}"),
        }
        progress.acknowledged += 1;
        Ok(())
    };
    while progress.sent < MAX_STEPS && once(&mut progress).is_ok() {}
    progress
}

/// Checks that no part of a transaction is ever visible: the sum of the accounts is always 0.
pub fn read(mut client: Client, name: &str) {
    let mut command = vec!["MGET".to_owned()];
    command.extend((0..ACCOUNTS).map(|number| format!("{name}/account/{number}")));
    let command: Vec<&[u8]> = command.iter().map(String::as_bytes).collect();
    while let Ok(reply) = client.call(&command) {
        let values = reply.into_array().expect("MGET answers a list");
        let number = |value: &Reply| value.bytes().map_or(0, |text| number(&String::from_utf8_lossy(text)));
        assert_eq!(
            values.iter().map(number).sum::<i64>(),
            0,
            "a part of a transaction is visible: {values:?}"
        );
    }
}

fn number(text: &str) -> i64 {
    text.parse().expect("we wrote numbers")
}

/// Checks the data of a round's transactions.
pub fn check(rows: &OracleRows, name: &str, moves: &[WriterProgress], promise: DurabilityPromise) {
    let sum: i64 = under(rows, &format!("{name}/account/")).map(|(_, value)| number(value)).sum();
    assert_eq!(sum, 0, "{name}: a part of a transaction survived");
    for (thread, &progress) in moves.iter().enumerate() {
        let own = format!("{name}/mover{thread}");
        let of = |key: &str| rows.get(&format!("{own}/{key}")).map_or(0, |value| number(value));
        let at = numbers_under(rows, &format!("{own}/at/"));
        let left = of("count").unsigned_abs();
        assert_eq!(at, if left > 0 { vec![left] } else { vec![] }, "{own}: a part of a transaction survived");
        assert_eq!((of("a"), of("b")), (of("count"), of("count")), "{own}: a part of a transaction survived");
        check_bounds(&format!("transactions of {own}"), left, progress, promise);
    }
}
