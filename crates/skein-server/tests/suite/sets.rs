//! Sets of many members, and random members: replies in slices, the algebra against a model, draws
//! that neither miss nor prefer a member. Short replies are in `golden/sets.txt`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{TestClient, options, show, start_with};
use skein_server::ServerOptions;
use skein_store::Durability;

const MEMBERS: usize = 3000;

fn member(number: usize) -> String {
    format!("member:{number:05}")
}

fn add(client: &mut TestClient, key: &str, numbers: impl Iterator<Item = usize>) -> BTreeSet<String> {
    let members: BTreeSet<String> = numbers.map(member).collect();
    let all: Vec<&str> = members.iter().map(String::as_str).collect();
    for some in all.chunks(500) {
        assert_eq!(client.ask(&format!("SADD {key} {}", some.join(" "))), format!(":{}|", some.len()));
    }
    members
}

/// Returns the texts of an array or a set.
fn texts(client: &mut TestClient, words: &str) -> Vec<String> {
    let reply = client.ask(words);
    assert!(reply.starts_with(['*', '~']), "{words}: {reply}");
    reply.split('|').skip(2).step_by(2).map(str::to_owned).collect()
}

fn in_order(members: &BTreeSet<String>) -> Vec<String> {
    members.iter().cloned().collect()
}

#[test]
fn long_sets_agree_with_a_model() {
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    let a = add(&mut client, "a", 0..MEMBERS);
    let b = add(&mut client, "b", MEMBERS / 3..2 * MEMBERS);
    let few = add(&mut client, "few", [5, 1500, 4000, 9000].into_iter());
    for protocol in ["2", "3"] {
        client.ask(&format!("HELLO {protocol}"));
        assert_eq!(texts(&mut client, "SMEMBERS a"), in_order(&a));
        let all = &(&a | &b) | &few;
        for (keys, result) in [
            ("SUNION a b", &a | &b),
            ("SUNION few b absent a a", all.clone()),
            ("SINTER a b", &a & &b),
            ("SINTER b a a", &a & &b),
            ("SINTER a few b", &(&a & &b) & &few),
            ("SINTER a absent b", BTreeSet::new()),
            ("SDIFF a b", &a - &b),
            ("SDIFF b few absent a", &(&b - &few) - &a),
            ("SDIFF a a", BTreeSet::new()),
        ] {
            assert_eq!(texts(&mut client, keys), in_order(&result), "{keys}");
            let (command, keys) = keys.split_once(' ').expect("keys");
            let stored = client.ask(&format!("{command}STORE stored {keys}"));
            assert_eq!(stored, format!(":{}|", result.len()), "{command} {keys}");
            assert_eq!(texts(&mut client, "SMEMBERS stored"), in_order(&result), "{command} {keys}");
            if command == "SINTER" {
                let count = keys.split(' ').count();
                for (limit, found) in [("", result.len()), (" LIMIT 10", result.len().min(10))] {
                    let counted = client.ask(&format!("SINTERCARD {count} {keys}{limit}"));
                    assert_eq!(counted, format!(":{found}|"), "{keys}{limit}");
                }
            }
            client.ask("MULTI");
            client.ask(&format!("{command} {keys}"));
            let executed = client.ask("EXEC");
            let found = executed.split('|').filter(|text| text.starts_with("member"));
            assert!(found.eq(result.iter().map(String::as_str)), "{command} {keys}");
        }
    }
    // Pages of a large set have each member once.
    let (mut cursor, mut scanned) = ("0".to_owned(), Vec::new());
    loop {
        let reply = client.ask(&format!("SSCAN a {cursor} COUNT 700"));
        let mut parts = reply.split('|').skip(2).step_by(2);
        parts.next().expect("the cursor").clone_into(&mut cursor);
        scanned.extend(reply.split('|').filter(|text| text.starts_with("member")).map(str::to_owned));
        if cursor == "0" {
            break;
        }
    }
    assert_eq!(scanned, in_order(&a));
}

/// Pairs of members, far from each other, are added and removed together, and so no reply may have
/// only one of a pair.
#[test]
fn a_long_set_shows_a_single_moment() {
    let server = start_with(ServerOptions { workers: 1, ..options() }, Durability::Buffered);
    let (mut client, stop) = (server.connect(), AtomicBool::new(false));
    let lasting = add(&mut client, "s", 0..MEMBERS);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut client = server.connect();
            for number in 1.. {
                assert_eq!(client.ask(&format!("SADD s a{number} z{number}")), ":2|");
                if number > 1 {
                    assert_eq!(client.ask(&format!("SREM s z{0} a{0}", number - 1)), ":2|");
                }
                if stop.load(Ordering::Relaxed) {
                    return;
                }
            }
        });
        let mut seen = BTreeSet::new();
        for round in 0..200 {
            let found = texts(&mut client, if round % 2 == 0 { "SMEMBERS s" } else { "SUNION s" });
            let of =
                |end: char| -> Vec<&str> { found.iter().filter_map(|name| name.strip_prefix(end)).collect() };
            let (firsts, lasts) = (of('a'), of('z'));
            assert_eq!(firsts, lasts);
            assert!(firsts.len() <= 2 && found.len() == lasting.len() + 2 * firsts.len(), "{firsts:?}");
            seen.extend(firsts.into_iter().map(str::to_owned));
        }
        stop.store(true, Ordering::Relaxed);
        assert!(seen.len() > 10, "{} pairs were seen", seen.len());
    });
}

#[test]
fn each_member_is_popped_once() {
    let server = start_with(options(), Durability::Buffered);
    let all = add(&mut server.connect(), "s", 0..MEMBERS);
    let popped: Vec<Vec<String>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|number| {
                let mut client = server.connect();
                scope.spawn(move || {
                    let mut popped = Vec::new();
                    loop {
                        let one = show(&client.call(&[b"SPOP", b"s"]));
                        let Some(name) = one.split('|').nth(1).filter(|name| !name.is_empty()) else {
                            assert_eq!(one, "$-1|");
                            return popped;
                        };
                        popped.push(name.to_owned());
                        popped.extend(texts(&mut client, &format!("SPOP s {}", number * 7)));
                    }
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().expect("it popped")).collect()
    });
    assert_eq!(popped.iter().map(Vec::len).sum::<usize>(), MEMBERS);
    assert_eq!(popped.into_iter().flatten().collect::<BTreeSet<_>>(), all);
    assert_eq!(server.connect().ask("EXISTS s"), ":0|");
}

/// Names with gaps of all sizes between them are equally likely: 1,000 of 10 draws each. So fewer
/// than 800 or more than 1,200 of one name have a probability below one in a billion.
#[test]
fn no_member_is_preferred() {
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    let names = ["a", "b", "ba", "bb", "bba", "c", "zz", "zza", "zzb", "zzzz"];
    let draws = |client: &mut TestClient, request: &str, times: usize| {
        let mut counts = BTreeMap::<String, usize>::new();
        for _ in 0..times {
            for name in texts(client, request) {
                *counts.entry(name).or_default() += 1;
            }
        }
        assert_eq!(counts.len(), names.len(), "{request}: {counts:?}");
        assert!(counts.values().all(|count| (800..=1200).contains(count)), "{request}: {counts:?}");
    };
    client.ask(&format!("SADD s {}", names.join(" ")));
    draws(&mut client, "SRANDMEMBER s -1000", 10);
    draws(&mut client, "SRANDMEMBER s 5", 2000);
    let mut counts = BTreeMap::<String, usize>::new();
    for _ in 0..5000 {
        for name in texts(&mut client, "SPOP s 2") {
            *counts.entry(name).or_default() += 1;
        }
        client.ask(&format!("SADD s {}", names.join(" ")));
    }
    assert!(counts.values().all(|count| (800..=1200).contains(count)), "SPOP: {counts:?}");
    // Distinct ones of many, by ranks and by a walk.
    add(&mut client, "many", 0..MEMBERS);
    for count in [1, 100, 512, 2000, MEMBERS, 2 * MEMBERS] {
        let drawn = texts(&mut client, &format!("SRANDMEMBER many {count}"));
        assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), count.min(MEMBERS));
        let popped = texts(&mut client, &format!("SPOP many {count}"));
        assert_eq!(popped.iter().collect::<BTreeSet<_>>().len(), popped.len());
        assert_eq!(popped.len(), count.min(MEMBERS));
        client.ask("DEL many");
        add(&mut client, "many", 0..MEMBERS);
    }
}

/// The storing commands walk over sets of similar sizes together, and look few members up in large ones.
#[test]
fn stored_results_are_the_same_by_walks_and_by_lookups() {
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    let members = |numbers: &dyn Fn(u32) -> bool| -> String {
        let chosen: Vec<_> = (0..2_000).filter(|number| numbers(*number)).collect();
        chosen.iter().fold(String::new(), |text, number| text + &format!(" member:{number}"))
    };
    for (key, chosen) in [("all", members(&|_| true)), ("even", members(&|number| number % 2 == 0))] {
        client.ask(&format!("SADD {key}{chosen}"));
    }
    client.ask("SADD few member:6 member:7 member:1999 other zz aa");
    for (request, count) in [
        ("SINTERSTORE d all even", 1_000),
        ("SINTERSTORE d even all even", 1_000),
        ("SINTERSTORE d few all", 3),
        ("SINTERSTORE d all few even", 1),
        ("SINTERSTORE d all none", 0),
        ("SDIFFSTORE d all even", 1_000),
        ("SDIFFSTORE d even all", 0),
        ("SDIFFSTORE d all few", 1_997),
        ("SDIFFSTORE d few all", 3),
        ("SDIFFSTORE d few even none", 5),
        ("SDIFFSTORE d all none few even", 998),
    ] {
        assert_eq!(client.ask(request), format!(":{count}|"), "{request}");
        assert_eq!(client.ask("SCARD d"), format!(":{count}|"));
    }
    client.ask("SINTERSTORE d few even");
    assert_eq!(client.ask("SMEMBERS d"), "*1|$8|member:6|");
    client.ask("SDIFFSTORE d few all");
    assert_eq!(client.ask("SMISMEMBER d aa other zz member:6"), "*4|:1|:1|:1|:0|");
}
