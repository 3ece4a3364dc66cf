//! Searches for positions find the near ones: among many members, beside writers, in transactions.
//! Their stored results serve waiting clients.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{TestClient, encode, options, show, start, start_with, wait_for};
use skein_server::ServerOptions;
use skein_store::Durability;

const ROWS: u32 = 40;
const PER_ROW: u32 = 100;
const MEMBERS: usize = (ROWS * PER_ROW) as usize;

/// Adds a grid of members, a hundredth of a degree apart.
fn fill(client: &mut TestClient) {
    for row in 0..ROWS {
        let members: Vec<String> = (0..PER_ROW)
            .map(|at| format!("{} {} m:{row}:{at}", f64::from(at) / 100.0, f64::from(row) / 100.0))
            .collect();
        assert_eq!(client.ask(&format!("GEOADD g {}", members.join(" "))), format!(":{PER_ROW}|"));
    }
}

/// Returns the members of a reply.
fn members(reply: &str) -> Vec<String> {
    reply.split('|').filter(|word| word.starts_with("m:")).map(str::to_owned).collect()
}

#[test]
fn a_long_search_finds_what_short_ones_find() {
    let server = start();
    let mut client = server.connect();
    fill(&mut client);
    let all = members(&client.ask("GEOSEARCH g FROMLONLAT 0.5 0.2 BYRADIUS 500 km ASC"));
    assert_eq!(all.len(), MEMBERS);
    assert_eq!(all[0], "m:20:50");
    for count in [1, 10, 1000] {
        let first =
            members(&client.ask(&format!("GEOSEARCH g FROMLONLAT 0.5 0.2 BYRADIUS 500 km COUNT {count}")));
        assert_eq!(first, all[..count]);
    }
    let farthest = members(&client.ask("GEOSEARCH g FROMLONLAT 0.5 0.2 BYRADIUS 500 km DESC COUNT 3"));
    let distance = |client: &mut TestClient, member: &str| {
        let reply = client.ask(&format!("GEODIST g m:20:50 {member}"));
        reply.split('|').nth(1).and_then(|text| text.parse::<f64>().ok()).expect("a distance")
    };
    let (most, last) = (distance(&mut client, &farthest[0]), distance(&mut client, all.last().expect("one")));
    assert!((most - last).abs() < 0.001, "{most} {last}");
    // Each quarter of the grid is a short search, and together they find each member once.
    let mut found = Vec::new();
    for column in 0..10 {
        let reply = client.ask(&format!(
            "GEOSEARCH g FROMLONLAT {} 0.195 BYBOX 11 50 km",
            0.045 + f64::from(column) / 10.0
        ));
        found.extend(members(&reply));
    }
    let mut expected = all.clone();
    found.sort();
    found.dedup();
    expected.sort();
    assert_eq!(found, expected);
    let any = members(&client.ask("GEOSEARCH g FROMLONLAT 0.5 0.2 BYRADIUS 500 km COUNT 700 ANY"));
    assert_eq!(any.len(), 700);
}

#[test]
fn a_long_search_shows_one_moment() {
    let server = start_with(ServerOptions { workers: 4, ..options() }, Durability::Buffered);
    let mut client = server.connect();
    fill(&mut client);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // A pair of members moves together, far away and back.
        let mover = scope.spawn(|| {
            let mut client = server.connect();
            for turn in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let place = if turn % 2 == 0 { "100 50" } else { "0.001 0.001" };
                client.ask(&format!("GEOADD g {place} m:one {place} m:two"));
            }
        });
        for turn in 0..60 {
            let request =
                ["GEOSEARCH g FROMLONLAT 0 0 BYRADIUS 500 km", "GEORADIUS g 0 0 500 km ASC"][turn % 2];
            let found = members(&client.ask(request));
            let pair = found.iter().filter(|member| ["m:one", "m:two"].contains(&member.as_str())).count();
            assert!([0, 2].contains(&pair), "{pair} of a pair");
            assert_eq!(found.len() - pair, MEMBERS);
        }
        done.store(true, Ordering::Relaxed);
        mover.join().expect("the mover");
    });
}

#[test]
fn a_long_search_runs_in_a_transaction_too() {
    let server = start();
    let mut client = server.connect();
    fill(&mut client);
    client.ask("MULTI");
    client.ask("GEOADD g 0.5 0.2 m:new");
    client.ask("GEOSEARCH g FROMLONLAT 0.5 0.2 BYRADIUS 500 km COUNT 600");
    client.ask("GEOSEARCHSTORE d g FROMLONLAT 0.5 0.2 BYRADIUS 500 km");
    let found = members(&client.ask("EXEC"));
    assert_eq!(found.len(), 600);
    assert!(found[..2].contains(&"m:new".to_owned()));
    assert_eq!(client.ask("ZCARD d"), format!(":{}|", MEMBERS + 1));
}

#[test]
fn a_reply_that_is_too_long_is_an_error() {
    let server = start_with(ServerOptions { reply_bytes_max: 20_000, ..options() }, Durability::Buffered);
    let mut client = server.connect();
    fill(&mut client);
    let refusal = client.ask("GEOSEARCH g FROMLONLAT 0.5 0.2 BYRADIUS 500 km");
    assert!(refusal.starts_with("-ERR") && refusal.contains("use COUNT"), "{refusal}");
    assert_eq!(members(&client.ask("GEOSEARCH g FROMLONLAT 0.5 0.2 BYRADIUS 500 km COUNT 5")).len(), 5);
}

#[test]
fn stored_members_serve_who_waits() {
    let server = start();
    let mut client = server.connect();
    client.ask("GEOADD g 1 1 m:1");
    for (key, request) in [
        ("new", "GEOADD new 1 1 m:1"),
        ("to", "GEOSEARCHSTORE to g FROMLONLAT 1 1 BYRADIUS 1 km"),
        ("to", "GEORADIUS g 1 1 1 km STORE to"),
        ("to", "GEORADIUSBYMEMBER g m:1 1 km STOREDIST to"),
    ] {
        let mut waiting = server.connect();
        waiting.send(&encode(&[b"BZPOPMIN", key.as_bytes(), b"0"]));
        wait_for(|| client.ask("CLIENT LIST").contains("flags=b"));
        client.ask(request);
        assert!(show(&waiting.reply()).contains("|m:1|"), "{request}");
    }
}
