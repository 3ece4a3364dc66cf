//! The checker's own tests: histories that have an explanation, and the same ones with one
//! unexplained reply.

use crate::command::{GroupKind, ListEnd, WireCommand, WireKey, WireRequest};
use crate::history::{WireCall, WireHistory};
use crate::reply::WireReply;
use crate::search::{WireVerdict, explain};

const TEXTS: [WireKey; 2] = [WireKey(0), WireKey(1)];
const LIST: WireKey = WireKey(2);
const MILLI: u64 = 1_000_000;

/// A call in database 0 between two moments in milliseconds.
fn call(request: WireRequest, (began, ended): (u64, u64), reply: WireReply) -> WireCall {
    WireCall { database: 0, request, began: began * MILLI, ended: ended * MILLI, reply: Some(reply) }
}

fn one(command: WireCommand, moments: (u64, u64), reply: WireReply) -> WireCall {
    call(WireRequest::One(command), moments, reply)
}

fn push(element: u32, moments: (u64, u64), len: i64) -> WireCall {
    one(WireCommand::Push(ListEnd::Right, LIST, vec![element]), moments, WireReply::Number(len))
}

fn pop(moments: (u64, u64), element: Option<u32>) -> WireCall {
    one(WireCommand::Pop(ListEnd::Left, LIST), moments, WireReply::maybe(element))
}

/// Waits for 10 milliseconds at most.
fn wait(moments: (u64, u64), element: Option<u32>) -> WireCall {
    let popped =
        |element: u32| WireReply::Array(vec![WireReply::Text("l0".to_owned()), WireReply::element(element)]);
    let command = WireCommand::WaitPop { end: ListEnd::Left, keys: vec![LIST], millis: 10 };
    one(command, moments, element.map_or(WireReply::Nil, popped))
}

/// Each client has one vector of calls.
#[track_caller]
fn assert_verdict(expected: WireVerdict, calls: Vec<Vec<WireCall>>) {
    let history = WireHistory { calls };
    assert_eq!(explain(&history).0, expected, "\n{history}");
}

use WireVerdict::{Explained, Impossible};

#[test]
fn an_element_is_popped_once() {
    let history =
        |second| vec![vec![push(1, (0, 1), 1)], vec![pop((0, 5), Some(1))], vec![pop((0, 5), second)]];
    assert_verdict(Explained, history(None));
    assert_verdict(Impossible, history(Some(1)));
}

#[test]
fn a_reply_is_no_older_than_its_request() {
    let history = |began| vec![vec![push(1, (0, 2), 1)], vec![pop((began, 4), None)]];
    assert_verdict(Explained, history(1));
    assert_verdict(Impossible, history(3));
}

#[test]
fn clients_are_served_in_the_order_of_their_waits() {
    let history = |first, second| {
        vec![
            vec![wait((0, 7), Some(first))],
            vec![push(9, (1, 2), 1), pop((3, 4), None)],
            vec![wait((5, 8), Some(second))],
            vec![push(1, (6, 7), 1), push(2, (7, 9), 1)],
        ]
    };
    // The first client was not served by the first push.
    assert_verdict(Impossible, history(1, 2));
    let waits = |first, second| {
        let popped = pop((8, 9), None);
        vec![
            vec![wait((0, 7), Some(first))],
            vec![wait((2, 7), Some(second)), popped],
            vec![push(1, (4, 5), 1), push(2, (5, 6), 1)],
        ]
    };
    assert_verdict(Explained, waits(1, 2));
    // Which of the two began to wait first is not known: their requests overlap.
    assert_verdict(Explained, waits(2, 1));
}

/// A client that has certainly begun to wait before another one, because its time was over first.
#[test]
fn a_client_that_began_to_wait_earlier_is_not_passed() {
    let history =
        |first| vec![vec![wait((0, 12), first)], vec![wait((3, 12), Some(1))], vec![push(1, (8, 9), 1)]];
    // The first client has waited from 2 milliseconds at the latest, and until 10 at least.
    assert_verdict(Impossible, history(None));
}

#[test]
fn a_waiting_client_is_not_forgotten() {
    let history =
        |ended, element| vec![vec![wait((0, ended), element)], vec![push(1, (3, 4), 1), pop((5, 6), None)]];
    assert_verdict(Explained, history(5, Some(1)));
    // It waits from 1 millisecond at the latest, so the push has to serve it.
    let forgotten = vec![vec![wait((0, 11), None)], vec![push(1, (3, 4), 1), pop((5, 6), Some(1))]];
    assert_verdict(Impossible, forgotten);
}

#[test]
fn no_half_of_a_transaction_is_seen() {
    let transaction = || {
        let sets = TEXTS.iter().zip(1..).map(|(key, value)| WireCommand::Set(*key, value)).collect();
        call(
            WireRequest::Group(GroupKind::Multi, sets),
            (0, 5),
            WireReply::Array(vec![WireReply::ok(), WireReply::ok()]),
        )
    };
    let read = |values: [Option<u32>; 2]| {
        let reply = WireReply::Array(values.map(WireReply::maybe).to_vec());
        one(WireCommand::GetAll(TEXTS.to_vec()), (1, 4), reply)
    };
    for values in [[None, None], [Some(1), Some(2)]] {
        assert_verdict(Explained, vec![vec![transaction()], vec![read(values)]]);
    }
    for values in [[Some(1), None], [None, Some(2)]] {
        assert_verdict(Impossible, vec![vec![transaction()], vec![read(values)]]);
    }
}

#[test]
fn a_request_means_the_keys_of_its_database() {
    let swap = || one(WireCommand::SwapDatabases(0, 1), (1, 2), WireReply::ok());
    let history = |began| vec![vec![push(1, (0, 1), 1), swap()], vec![pop((began, 5), Some(1))]];
    assert_verdict(Explained, history(0));
    assert_verdict(Impossible, history(3));
}

#[test]
fn a_watched_key_stops_a_transaction() {
    let history = |reply: WireReply, (began, ended)| {
        vec![
            vec![
                call(WireRequest::Watch(vec![LIST]), (0, 1), WireReply::ok()),
                call(WireRequest::Group(GroupKind::Multi, vec![WireCommand::Get(TEXTS[0])]), (4, 5), reply),
            ],
            vec![push(1, (began, ended), 1)],
        ]
    };
    let ran = || WireReply::Array(vec![WireReply::Nil]);
    assert_verdict(Impossible, history(ran(), (2, 3)));
    assert_verdict(Explained, history(WireReply::Nil, (2, 3)));
    assert_verdict(Explained, history(ran(), (6, 7)));
    assert_verdict(Impossible, history(WireReply::Nil, (6, 7)));
}

#[test]
fn a_key_that_has_expired_does_not_come_back() {
    let set = || one(WireCommand::SetFor(TEXTS[0], 1, 20), (0, 10), WireReply::ok());
    let get = |moments, value| one(WireCommand::Get(TEXTS[0]), moments, WireReply::maybe(value));
    // It expires between 20 and 30 milliseconds, by clocks that may differ by two.
    assert_verdict(Explained, vec![vec![set()], vec![get((24, 25), Some(1)), get((26, 27), None)]]);
    assert_verdict(Impossible, vec![vec![set()], vec![get((24, 25), None), get((26, 27), Some(1))]]);
    assert_verdict(Impossible, vec![vec![set()], vec![get((11, 12), None)]]);
    assert_verdict(Impossible, vec![vec![set()], vec![get((33, 34), Some(1))]]);
}
