//! Lists: random commands against a model, long lists in slices, many insertions at one place.
//! Short replies are in `golden/lists.txt`, and waiting clients in `blocking`.

use std::collections::VecDeque;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use crate::common::{TestClient, options, start_with};
use skein_store::Durability;

/// A command on a list, with the numbers of elements.
#[derive(Debug, Clone)]
enum ListStep {
    PushFront(u8),
    PushBack(u8),
    PopFront(u8),
    PopBack(u8),
    Set(i8, u8),
    InsertBefore(u8, u8),
    InsertAfter(u8, u8),
    Remove(i8, u8),
    Trim(i8, i8),
    Rotate(bool, bool),
}

fn steps() -> impl Strategy<Value = Vec<ListStep>> {
    use ListStep::{
        InsertAfter, InsertBefore, PopBack, PopFront, PushBack, PushFront, Remove, Rotate, Set, Trim,
    };
    let element = || 0..12_u8;
    let step = prop_oneof![
        4 => element().prop_map(PushFront),
        4 => element().prop_map(PushBack),
        1 => (0..3_u8).prop_map(PopFront),
        1 => (0..3_u8).prop_map(PopBack),
        1 => (-9..9_i8, element()).prop_map(|(at, new)| Set(at, new)),
        3 => (element(), element()).prop_map(|(pivot, new)| InsertBefore(pivot, new)),
        3 => (element(), element()).prop_map(|(pivot, new)| InsertAfter(pivot, new)),
        1 => (-3..3_i8, element()).prop_map(|(count, old)| Remove(count, old)),
        1 => (-40..9_i8, -9..40_i8).prop_map(|(first, last)| Trim(first, last)),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(from, to)| Rotate(from, to)),
    ];
    prop::collection::vec(step, 1..120)
}

/// Returns the index from the front, if it is one of the list's.
fn place(at: i8, len: usize) -> Option<usize> {
    let at = if at < 0 { i64::from(at) + signed(len) } else { i64::from(at) };
    usize::try_from(at).ok().filter(|at| *at < len)
}

fn signed(len: usize) -> i64 {
    i64::try_from(len).expect("a short list")
}

fn side(front: bool) -> &'static str {
    if front { "LEFT" } else { "RIGHT" }
}

fn count(number: i64) -> String {
    format!(":{number}|")
}

fn pop(model: &mut VecDeque<u8>, most: u8, front: bool) -> String {
    if model.is_empty() {
        return "*-1|".to_owned();
    }
    let mut next = || if front { model.pop_front() } else { model.pop_back() };
    let popped = (0..most).map_while(|_| next()).map(|element| {
        let text = element.to_string();
        format!("${}|{text}|", text.len())
    });
    let popped: Vec<String> = popped.collect();
    format!("*{}|{}", popped.len(), popped.concat())
}

fn insert(model: &mut VecDeque<u8>, pivot: u8, new: u8, behind: usize) -> String {
    if model.is_empty() {
        return count(0);
    }
    let Some(at) = model.iter().position(|element| *element == pivot) else { return count(-1) };
    model.insert(at + behind, new);
    count(signed(model.len()))
}

/// Applies a step to the model. Returns the command and its reply.
fn apply(model: &mut VecDeque<u8>, step: &ListStep) -> (String, String) {
    match *step {
        ListStep::PushFront(new) => {
            model.push_front(new);
            (format!("LPUSH l {new}"), count(signed(model.len())))
        }
        ListStep::PushBack(new) => {
            model.push_back(new);
            (format!("RPUSH l {new}"), count(signed(model.len())))
        }
        ListStep::PopFront(most) => (format!("LPOP l {most}"), pop(model, most, true)),
        ListStep::PopBack(most) => (format!("RPOP l {most}"), pop(model, most, false)),
        ListStep::Set(at, new) => {
            let reply = match place(at, model.len()) {
                _ if model.is_empty() => "-ERR no such key|",
                None => "-ERR index out of range|",
                Some(at) => {
                    model[at] = new;
                    "+OK|"
                }
            };
            (format!("LSET l {at} {new}"), reply.to_owned())
        }
        ListStep::InsertBefore(pivot, new) => {
            (format!("LINSERT l BEFORE {pivot} {new}"), insert(model, pivot, new, 0))
        }
        ListStep::InsertAfter(pivot, new) => {
            (format!("LINSERT l AFTER {pivot} {new}"), insert(model, pivot, new, 1))
        }
        ListStep::Remove(most, old) => {
            let mut equal: Vec<usize> = (0..model.len()).filter(|at| model[*at] == old).collect();
            if most < 0 {
                equal.reverse();
            }
            if most != 0 {
                equal.truncate(usize::from(most.unsigned_abs()));
            }
            equal.sort_unstable();
            for at in equal.iter().rev() {
                model.remove(*at);
            }
            (format!("LREM l {most} {old}"), count(signed(equal.len())))
        }
        ListStep::Trim(first, last) => {
            let len = signed(model.len());
            let from_front = |at: i8| if at < 0 { i64::from(at) + len } else { i64::from(at) };
            let unsigned = |at: i64| usize::try_from(at).unwrap_or(0);
            let (start, end) = (unsigned(from_front(first)), unsigned((from_front(last) + 1).min(len)));
            *model = model.iter().copied().take(end).skip(start).collect();
            (format!("LTRIM l {first} {last}"), "+OK|".to_owned())
        }
        ListStep::Rotate(from, to) => {
            let moved = if from { model.pop_front() } else { model.pop_back() };
            if let Some(moved) = moved {
                if to { model.push_front(moved) } else { model.push_back(moved) }
            }
            let reply =
                moved.map_or("$-1|".to_owned(), |moved| format!("${}|{moved}|", moved.to_string().len()));
            (format!("LMOVE l l {} {}", side(from), side(to)), reply)
        }
    }
}

#[test]
fn random_commands_agree_with_a_model() {
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(60) });
    let client = std::cell::RefCell::new(&mut client);
    let checked = runner.run(&steps(), |steps| {
        let mut client = client.borrow_mut();
        client.ask("FLUSHALL");
        let mut model = VecDeque::new();
        for step in &steps {
            let (command, expected) = apply(&mut model, step);
            let reply = client.ask(&command);
            prop_assert_eq!(reply, expected, "{}, then {:?}", command, model);
        }
        let elements: Vec<String> = model.iter().map(u8::to_string).collect();
        prop_assert_eq!(texts(&mut client, "LRANGE l 0 -1"), elements.clone());
        for (at, element) in elements.iter().enumerate() {
            prop_assert_eq!(
                &client.ask(&format!("LINDEX l {at}")),
                &format!("${}|{element}|", element.len())
            );
        }
        prop_assert_eq!(client.ask("EXISTS l"), format!(":{}|", u8::from(!model.is_empty())));
        Ok(())
    });
    checked.expect("the list agrees with its model");
}

/// Returns the texts of an array.
fn texts(client: &mut TestClient, words: &str) -> Vec<String> {
    let reply = client.ask(words);
    assert!(reply.starts_with('*'), "{words}: {reply}");
    reply.split('|').skip(2).step_by(2).map(str::to_owned).collect()
}

fn push(client: &mut TestClient, key: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    let elements: Vec<String> = numbers.map(|number| format!("element:{number}")).collect();
    for some in elements.chunks(500) {
        client.ask(&format!("RPUSH {key} {}", some.join(" ")));
    }
    elements
}

/// Changes a list and undoes that, so that others see no change.
const CHANGE_AND_UNDO: &str = "
    redis.call('rpush', 'l', 'a', 'b')
    local first = redis.call('lpop', 'l')
    redis.call('rpop', 'l', 2)
    redis.call('lpush', 'l', first)
";

/// Beyond 512 elements a reply is written in slices, from a view.
#[test]
fn long_lists_are_read_as_of_one_moment() {
    let server = start_with(options(), Durability::Buffered);
    let (mut client, mut other) = (server.connect(), server.connect());
    let elements = push(&mut client, "l", 0..5000);
    assert_eq!(texts(&mut client, "LRANGE l 0 -1"), elements);
    assert_eq!(texts(&mut client, "LRANGE l 1000 -1001"), elements[1000..4000]);
    assert_eq!(client.ask("LPOS l element:4321"), ":4321|");
    assert_eq!(client.ask("LPOS l element:4321 MAXLEN 4321"), "$-1|");
    client.ask("RPUSH l element:7");
    assert_eq!(client.ask("LPOS l element:7 RANK -1 COUNT 0"), "*2|:5000|:7|");
    assert_eq!(client.ask("LPOS l element:7 RANK 2"), ":5000|");
    client.ask("RPOP l");
    // Each reply shows whole batches of the other client.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                other.call(&[b"EVAL", CHANGE_AND_UNDO.as_bytes(), b"0"]);
            }
        });
        for _ in 0..50 {
            assert_eq!(texts(&mut client, "LRANGE l 0 -1"), elements);
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(client.ask("LTRIM l 4990 -1"), "+OK|");
    assert_eq!(texts(&mut client, "LRANGE l 0 -1"), elements[4990..]);
    assert_eq!(client.ask("DEL l"), ":1|");
    assert_eq!(client.ask("LLEN l"), ":0|");
}

/// Positions between two elements are used up soon; then elements around get new positions.
#[test]
fn many_insertions_at_one_place_keep_the_order() {
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    client.ask("RPUSH l first pivot last");
    let mut model = vec!["first".to_owned(), "pivot".to_owned(), "last".to_owned()];
    for number in 0..400 {
        let (word, behind) = if number % 3 == 0 { ("AFTER", 1) } else { ("BEFORE", 0) };
        client.ask(&format!("LINSERT l {word} pivot n{number}"));
        let at = model.iter().position(|element| element == "pivot").expect("the pivot");
        model.insert(at + behind, format!("n{number}"));
    }
    assert_eq!(texts(&mut client, "LRANGE l 0 -1"), model);
    for number in 0..400 {
        client.ask(&format!("LINSERT l BEFORE first m{number}"));
        model.insert(number, format!("m{number}"));
    }
    assert_eq!(texts(&mut client, "LRANGE l 0 -1"), model);
}

/// A list is one key with its elements for every command that takes keys of any kind.
#[test]
fn lists_are_ranges_and_versions_too() {
    let server = start_with(options(), Durability::Buffered);
    let mut client = server.connect();
    let elements = push(&mut client, "long", 0..600);
    client.ask("RPUSH short a b");
    client.ask("SET z v");
    let versioned = client.ask("SK.GETV short");
    assert!(versioned.starts_with("*2|*2|$1|a|$1|b|"), "{versioned}");
    let shown = client.ask("SK.RANGE - +");
    assert!(shown.contains("$5|short|*2|$1|a|$1|b|"), "{shown}");
    assert!(shown.contains("*600|$9|element:0|"), "{shown}");
    client.ask("COPY long copied");
    client.ask("LPOP long 300");
    assert_eq!(texts(&mut client, "LRANGE copied 0 -1"), elements);
    client.ask("RENAME copied other");
    assert_eq!(client.ask("LLEN other"), ":600|");
    client.ask("SET other now-a-string");
    assert_eq!(client.ask("TYPE other"), "+string|");
}
