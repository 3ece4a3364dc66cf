//! Random commands of all types: after them the order must agree with the keys.

use crate::servers::{RespConnection, over_each};

/// A small generator. Its numbers differ enough, and the same seed returns the same numbers again.
pub struct ModuleRandom(pub u64);

impl ModuleRandom {
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }

    /// Returns a name. Most names belong to keys of one type; they have any bytes, and some are
    /// long.
    fn name(&mut self, of: &str) -> Vec<u8> {
        let number = self.below(40);
        let tail = match number % 5 {
            0 => vec![number as u8; number],
            1 => vec![255, 0, number as u8],
            2 => b"common-prefix-of-many-names-".repeat(number / 10),
            3 if self.below(50) == 0 => vec![b'x'; 70_000],
            _ => Vec::new(),
        };
        [format!("{of}{number}").as_bytes(), &tail].concat()
    }
}

/// Returns the words of a random command.
fn command(random: &mut ModuleRandom) -> Vec<Vec<u8>> {
    const FORMS: &[&str] = &[
        "SET %s v",
        "SET %s v",
        "SET %s v PX 3",
        "SET %s v EX 100",
        "SETNX %s v",
        "GETDEL %s",
        "APPEND %s v",
        "DEL %s %h %z",
        "UNLINK %s %l",
        "RENAME %s %s",
        "RENAMENX %s %s",
        "COPY %s %s REPLACE",
        "COPY %h %h",
        "MOVE %s 1",
        "EXPIRE %s -1",
        "PEXPIRE %h 2",
        "PERSIST %s",
        "EXPIREAT %z 1",
        "LPUSH %l a b",
        "LPOP %l",
        "RPOPLPUSH %l %l",
        "LTRIM %l 1 0",
        "SADD %t a b",
        "SPOP %t",
        "SMOVE %t %t a",
        "SINTERSTORE %t %t %t",
        "SUNIONSTORE %t %t %t",
        "ZADD %z 1 a",
        "ZREM %z a",
        "ZPOPMIN %z",
        "ZUNIONSTORE %z 1 %z",
        "ZRANGESTORE %z %z 0 -1",
        "HSET %h f v",
        "HDEL %h f",
        "HINCRBY %h n 1",
        "XADD %x * f v",
        "BITOP NOT %s %s",
        "PFADD %p a",
        "GEOADD %z 13 38 a",
        "SORT %l ALPHA STORE %l",
        "EVAL redis.call('SET',KEYS[1],'v');redis.call('DEL',KEYS[2]) 2 %s %s",
        "MSET %s a %s b",
        "GETEX %s PX 1",
        "SETRANGE %s 0 x",
        "SK.DELRANGE [s1 [s12",
        "SWAPDB 0 1",
        "SK.RANGE - + LIMIT 3",
    ];
    let form = FORMS[random.below(FORMS.len())];
    let mut word = |word: &str| match word.strip_prefix('%') {
        Some(of) => random.name(of),
        None => word.as_bytes().to_vec(),
    };
    form.split(' ').map(&mut word).collect()
}

fn run(client: &mut RespConnection, seed: u64, rounds: usize) {
    let mut random = ModuleRandom(seed);
    for round in 0..rounds {
        let in_transaction = random.below(10) == 0;
        if in_transaction {
            client.line("MULTI");
        }
        let mut last = Vec::new();
        for _ in 0..=random.below(60) {
            last = command(&mut random);
            client.ask(&last);
        }
        if in_transaction {
            client.line("EXEC");
        }
        if random.below(100) == 0 {
            client.line("FLUSHDB");
        }
        let last =
            last.iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect::<Vec<_>>().join(" ");
        client.check(&format!("seed {seed}, round {round}, after {last:.200}"));
    }
}

/// Checks that the order agrees with the keys. The sweep could hide a missing notification. So the
/// test also checks that the sweep inserted no name: the notifications reported all keys.
#[test]
fn the_order_is_that_of_the_keys_after_any_command() {
    over_each(|server| {
        let mut client = server.connect();
        for seed in 1..=4 {
            run(&mut client, seed, 60);
        }
        let info = client.line("INFO skein");
        assert!(info.contains("skein_missing_added:0|"), "{info}");
    });
}

/// A page from any position, in any direction, must agree with a sorted list.
#[test]
fn pages_are_those_of_a_sorted_list() {
    over_each(|server| {
        let (mut client, mut random) = (server.connect(), ModuleRandom(7));
        for _ in 0..600 {
            client.ask(&[b"SET".to_vec(), random.name("s"), b"v".to_vec()]);
        }
        let keys = client.scanned();
        for _ in 0..300 {
            let (min, max, limit) = (random.name("s"), random.name("s"), 1 + random.below(50));
            let within = || keys.iter().filter(|key| **key >= min && **key < max);
            let (low, high) = ([b"[", &min[..]].concat(), [b"(", &max[..]].concat());
            let limit_word = limit.to_string().into_bytes();
            let mut request = vec![b"SK.RANGE".to_vec(), low.clone(), high.clone(), b"NOVALUES".to_vec()];
            request.extend([b"LIMIT".to_vec(), limit_word]);
            assert_eq!(client.bulks(&request), within().take(limit).cloned().collect::<Vec<_>>());
            request.push(b"REV".to_vec());
            assert_eq!(client.bulks(&request), within().rev().take(limit).cloned().collect::<Vec<_>>());
            assert_eq!(client.ask(&[b"SK.COUNT".to_vec(), low, high]), format!(":{}|", within().count()));
        }
    });
}

/// After thousands of changes between two reads, the order must contain all of them. They fill
/// whole batches, with old and new names.
#[test]
fn many_changes_between_two_reads_are_merged() {
    over_each(|server| {
        let (mut client, mut random) = (server.connect(), ModuleRandom(11));
        for round in 0..12 {
            let (count, mut requests) = ([1, 700, 3_000][round % 3], Vec::new());
            for _ in 0..count {
                let name = format!("s{}", random.below(5_000));
                let form = ["SET NAME v", "SET NAME v", "DEL NAME", "SET NAME v EX 100", "PERSIST NAME"];
                let request = form[random.below(form.len())].replace("NAME", &name);
                requests.extend(request.bytes().chain(*b"\r\n"));
            }
            client.write(&requests);
            (0..count).for_each(|_| drop(client.read()));
            client.check(&format!("round {round}"));
        }
        let info = client.line("INFO skein");
        assert!(info.contains("skein_missing_added:0|"), "{info}");
    });
}
