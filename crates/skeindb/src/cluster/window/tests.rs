//! Windows over the pages of two or three nodes: single cases here, random migrations in
//! `schedules`.

use std::collections::BTreeSet;

use super::*;

mod schedules;

fn entry(key: &str, value: &str) -> ClusterEntry {
    ClusterEntry { key: key.as_bytes().to_vec(), held: Some(crate::client::Reply::Simple(value.to_owned())) }
}

/// Returns a page of these slots: owned, importing, migrating.
fn page(slots: [&str; 3], last: Option<&str>, keys: &[&str]) -> NodePage {
    let [owned, importing, migrating] = slots.map(|text| text.parse().expect("slots"));
    NodePage {
        owned,
        importing,
        migrating,
        last: last.map(|last| last.as_bytes().to_vec()),
        entries: keys.iter().map(|key| entry(key, "")).collect(),
    }
}

fn keys(window: &MergeWindow) -> Vec<&str> {
    window.entries.iter().map(|entry| std::str::from_utf8(&entry.key).expect("text")).collect()
}

/// No slot was in motion in the previous round.
const STILL: Option<&SlotSet> = Some(&SlotSet::EMPTY);

/// Returns the window of two nodes whose slots do not move.
fn quiet(pages: Vec<NodePage>, direction: ScanDirection) -> MergeWindow {
    read(pages, STILL, direction, |next| panic!("{next:?} was asked for")).expect("a window")
}

fn two(a: &[&str], a_last: Option<&str>, b: &[&str], b_last: Option<&str>) -> Vec<NodePage> {
    vec![page(["0-9999", "", ""], a_last, a), page(["10000-16383", "", ""], b_last, b)]
}

#[test]
fn a_window_ends_at_the_nearest_last_name() {
    let window = quiet(two(&["a", "c", "e"], Some("f"), &["b", "d"], Some("d")), ScanDirection::Forward);
    assert_eq!((keys(&window), window.end.as_deref()), (vec!["a", "b", "c", "d"], Some(&b"d"[..])));
    let window = quiet(two(&["e", "c"], Some("b"), &["d", "a"], None), ScanDirection::Backward);
    assert_eq!((keys(&window), window.end.as_deref()), (vec!["e", "d", "c"], Some(&b"b"[..])));
    let window = quiet(two(&[], Some("m"), &["z"], None), ScanDirection::Forward);
    assert_eq!(
        (keys(&window), window.end.as_deref()),
        (vec![], Some(&b"m"[..])),
        "a page may have no entries"
    );
    let window = quiet(two(&["a"], None, &[], None), ScanDirection::Forward);
    assert_eq!((keys(&window), window.end.as_deref()), (vec!["a"], None));
}

/// Returns the message with which the rules reject these pages.
fn refusal(firsts: Vec<NodePage>, seconds: Vec<NodePage>) -> String {
    match read(firsts, STILL, ScanDirection::Forward, |_| Ok(seconds)).expect_err("it proves nothing") {
        Setback::Passing(what, _) => what,
        Setback::Final(error) => panic!("{error} is final"),
    }
}

#[test]
fn every_slot_has_one_owner() {
    let refused = |a, b| refusal(vec![page([a, "", ""], None, &[]), page([b, "", ""], None, &[])], vec![]);
    assert_eq!(refused("0-5460", "5462-16383"), "slot 5461 has no primary");
    assert_eq!(refused("", "5461-16383"), "slots 0-5460 have no primary");
    assert_eq!(refused("0-9000", "9000-16383"), "slot 9000 has two primaries");
}

fn a_and_b(a: [&str; 3], b: [&str; 3]) -> Vec<NodePage> {
    vec![page(a, None, &["k"]), page(b, None, &[])]
}

#[test]
fn slots_in_motion_ask_for_second_pages() {
    let mut asked = Vec::new();
    for (a, b) in [
        (["0-99", "", "7"], ["100-16383", "7", ""]),
        (["0-99", "", ""], ["100-16383", "7", ""]),
        (["0-99", "", "7"], ["100-16383", "", ""]),
        (["0-99", "", "7 8"], ["100-16383", "7", ""]),
    ] {
        let window = read(a_and_b(a, b), STILL, ScanDirection::Forward, |next| {
            asked.push(next);
            Ok(a_and_b(a, b))
        });
        assert_eq!(keys(&window.expect("a window")), ["k"]);
    }
    let map = NextRequests::MapAndSecondPages;
    assert_eq!(asked, [NextRequests::SecondPages, NextRequests::SecondPages, map, map]);
}

#[test]
fn a_slot_in_motion_goes_on_as_one_migration_allows() {
    let firsts = || a_and_b(["0-99", "", "7"], ["100-16383", "7", ""]);
    let owns_it = a_and_b(["0-6 8-99", "", ""], ["7 100-16383", "", ""]);
    assert!(read(firsts(), STILL, ScanDirection::Forward, |_| Ok(owns_it)).is_ok());
    for b in [["100-16383", "", ""], ["7 100-16383", "", "7"]] {
        let refused = refusal(firsts(), a_and_b(["0-99", "", "7"], b));
        assert_eq!(refused, "slot 7 has moved on while their keys were read");
    }
    // A third node received the slot, and migrates it away.
    let mut firsts = firsts();
    firsts.push(page(["", "", ""], None, &[]));
    let mut seconds = a_and_b(["0-6 8-99", "", ""], ["100-16383", "7", ""]);
    seconds.push(page(["7", "", "7"], None, &[]));
    assert!(refusal(firsts, seconds).contains("slot 7"));
}

#[test]
fn a_key_on_two_pages_is_returned_once_with_the_later_value() {
    let with = |value| {
        let mut pages = a_and_b(["0-99", "", "7"], ["100-16383", "7", ""]);
        for page in &mut pages {
            page.entries = vec![entry("k", value)];
        }
        pages
    };
    let window = read(with("old"), STILL, ScanDirection::Forward, |_| Ok(with("new"))).expect("a window");
    assert_eq!(window.entries, [entry("k", "new")]);
}

#[test]
fn second_pages_may_end_earlier() {
    let mut seconds = a_and_b(["0-99", "", "7"], ["100-16383", "7", ""]);
    seconds[1].last = Some(b"j".to_vec());
    let firsts = a_and_b(["0-99", "", "7"], ["100-16383", "7", ""]);
    let window = read(firsts, STILL, ScanDirection::Forward, |_| Ok(seconds)).expect("a window");
    assert_eq!((keys(&window), window.end.as_deref()), (vec![], Some(&b"j"[..])));
}

/// A key that an aborted migration moved back: the first pages name no slot in motion.
#[test]
fn second_pages_are_asked_for_if_slots_were_in_motion_before() {
    let quiet = || a_and_b(["0-99", "", ""], ["100-16383", "", ""]);
    let seven: SlotSet = "7".parse().expect("a slot");
    for before in [Some(&seven), None] {
        let mut asked = None;
        let window = read(quiet(), before, ScanDirection::Forward, |next| {
            asked = Some(next);
            Ok(quiet())
        });
        assert_eq!((keys(&window.expect("a window")), asked), (vec!["k"], Some(NextRequests::SecondPages)));
    }
}
