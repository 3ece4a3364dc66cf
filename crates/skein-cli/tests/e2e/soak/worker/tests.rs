//! Tests that the oracle detects errors: right and wrong simulated servers after a kill.

use super::super::model::{ModelValue, SeededBytes};
use super::super::queue::QueueWrite;
use super::super::write::{SoakWrite, member_name};
use super::*;

const TEXT: SoakKey = SoakKey { class: KeyClass::Text, number: 1 };
const OTHER: SoakKey = SoakKey { class: KeyClass::Text, number: 2 };
const SET: SoakKey = SoakKey { class: KeyClass::LargeSortedSet, number: 1 };
const FROM: SoakKey = SoakKey { class: KeyClass::Set, number: 1 };
const TO: SoakKey = SoakKey { class: KeyClass::Set, number: 2 };
const BRIEF: SoakKey = SoakKey { class: KeyClass::Brief, number: 1 };
const LIST: SoakKey = SoakKey { class: KeyClass::List, number: 1 };
const STREAM: SoakKey = SoakKey { class: KeyClass::Stream, number: 1 };
/// Changes the items of a reply.
type PlantedError = fn(&mut Vec<Reply>);

const FAR: u64 = 600_000;

fn piece(seed: u32) -> SeededBytes {
    SeededBytes { seed, len: 20 }
}

fn set(key: SoakKey, seed: u32) -> SoakStep {
    SoakStep::Write(SoakWrite::Set(key, piece(seed), None))
}

fn at(policy: EvictionPolicy) -> ReplyWindow {
    ReplyWindow { sent: now(), received: now(), policy }
}

/// Returns a worker after all `steps` were acknowledged.
fn worker(steps: &[SoakStep]) -> SoakWorker {
    let mut worker = SoakWorker::new(0, 1, Arc::default());
    worker.sent = now();
    for step in steps {
        step.assume(&mut worker.model, 0, at(EvictionPolicy::NoEviction));
    }
    worker
}

/// Returns the data of a server that matches the model.
fn shown(model: &WorkerModel, policy: EvictionPolicy) -> BTreeMap<SoakKey, ServerRow> {
    let found = [TEXT, OTHER, SET, FROM, TO, BRIEF, LIST, STREAM].map(|key| {
        let bulk = |text: String| Reply::Bulk(text.into_bytes());
        let held = model.keys.get(&key);
        let reply = match held.map(|held| &held.content) {
            None => Reply::Null,
            Some(ModelValue::Text(pieces)) => Reply::Bulk(super::super::model::bytes(pieces)),
            Some(ModelValue::Count(count)) => bulk(count.to_string()),
            Some(ModelValue::Members(members)) if key.class.is_set() || key.class.is_list() => {
                Reply::Array(members.keys().map(|&member| bulk(member_name(member))).collect())
            }
            Some(ModelValue::Members(members)) if key.class == KeyClass::Stream => {
                let entries = members.iter().flat_map(|(&m, state)| [member_name(m), state.to_string()]);
                Reply::Array(entries.map(bulk).collect())
            }
            Some(ModelValue::Members(members)) => {
                let mut pairs: Vec<_> = members.iter().map(|(&member, &score)| (score, member)).collect();
                pairs.sort_unstable();
                Reply::Array(
                    pairs
                        .into_iter()
                        .flat_map(|(s, m)| [bulk(member_name(m)), bulk(s.to_string())])
                        .collect(),
                )
            }
        };
        let time = held.map_or(-2, |held| held.until.map_or(-1, |(first, _)| first.cast_signed()));
        (key, ServerRow { reply, time, when: at(policy) })
    });
    found.into()
}

fn steps() -> Vec<SoakStep> {
    vec![
        set(TEXT, 1),
        SoakStep::Write(SoakWrite::Put(
            SET,
            (0..100).map(|member| (member, i64::from(member % 7))).collect(),
        )),
        SoakStep::Write(SoakWrite::Set(BRIEF, piece(3), Some(FAR))),
        SoakStep::Transaction(vec![
            SoakWrite::Set(TEXT, piece(4), None),
            SoakWrite::Set(OTHER, piece(5), None),
        ]),
        SoakStep::Write(SoakWrite::Increase(SET, 50, 3)),
    ]
}

fn judge(
    worker: &mut SoakWorker,
    found: &BTreeMap<SoakKey, ServerRow>,
    policy: EvictionPolicy,
) -> Result<CheckSummary, String> {
    worker.judge(found, policy, Instant::now())
}

#[test]
fn acknowledged_values_fit_and_others_do_not() {
    let right = shown(&worker(&steps()).model, EvictionPolicy::NoEviction);
    let settled = || {
        let mut worker = worker(&steps());
        worker.model.settle();
        worker
    };
    assert_eq!(judge(&mut settled(), &right, EvictionPolicy::NoEviction).unwrap().lost, 0);
    let planted: [(&str, SoakKey, Reply); 4] = [
        ("a lost key", TEXT, Reply::Null),
        ("the value before", TEXT, Reply::Bulk(super::super::model::bytes(&[piece(1)]))),
        (
            "a value cut off",
            OTHER,
            Reply::Bulk(super::super::model::bytes(&[SeededBytes { seed: 5, len: 19 }])),
        ),
        ("a set that is gone", SET, Reply::Array(vec![])),
    ];
    for (what, key, reply) in planted {
        let mut found = right.clone();
        found.get_mut(&key).unwrap().reply = reply;
        assert!(judge(&mut settled(), &found, EvictionPolicy::NoEviction).is_err(), "{what} is not noticed");
    }
    let mut found = right.clone();
    found.get_mut(&BRIEF).unwrap().time += 1000;
    assert!(
        judge(&mut settled(), &found, EvictionPolicy::NoEviction).is_err(),
        "another time is not noticed"
    );
    let mut found = right;
    let Reply::Array(items) = &mut found.get_mut(&SET).unwrap().reply else { panic!("a set") };
    items.swap(0, 2);
    assert!(
        judge(&mut settled(), &found, EvictionPolicy::NoEviction).is_err(),
        "another order is not noticed"
    );
}

#[test]
fn uncommitted_entries_are_lost_only_from_the_end() {
    let all = steps();
    for kept in 0..=all.len() {
        let found = shown(&worker(&all[..kept]).model, EvictionPolicy::NoEviction);
        let checked = judge(&mut worker(&all), &found, EvictionPolicy::NoEviction).unwrap();
        assert_eq!(checked.lost, all.len() - kept);
    }
    // The last one survives, but an earlier one does not.
    let mut holes = all.clone();
    holes.remove(3);
    let found = shown(&worker(&holes).model, EvictionPolicy::NoEviction);
    assert!(judge(&mut worker(&all), &found, EvictionPolicy::NoEviction).is_err(), "a hole is not noticed");
    // Half a transaction.
    let mut half = all[..3].to_vec();
    half.push(set(TEXT, 4));
    let found = shown(&worker(&half).model, EvictionPolicy::NoEviction);
    assert!(
        judge(&mut worker(&all), &found, EvictionPolicy::NoEviction).is_err(),
        "half a transaction is not noticed"
    );
}

#[test]
fn half_a_move_is_noticed() {
    let put = SoakStep::Write(SoakWrite::Put(FROM, vec![(1, 0), (2, 0), (3, 0)]));
    let moved = [put.clone(), SoakStep::Write(SoakWrite::Move(FROM, TO, 2))];
    let absent = SoakStep::Write(SoakWrite::Move(FROM, TO, 9));
    let settled = || {
        let mut settled = worker(std::slice::from_ref(&put));
        settled.model.settle();
        settled.in_flight = vec![absent.clone(), moved[1].clone()];
        settled
    };
    for (done, left) in [(&moved[..1], 3), (&moved[..], 2)] {
        let found = shown(&worker(done).model, EvictionPolicy::NoEviction);
        let mut killed = settled();
        judge(&mut killed, &found, EvictionPolicy::NoEviction).unwrap();
        let ModelValue::Members(members) = &killed.model.keys[&FROM].content else { panic!("a set") };
        assert_eq!(members.len(), left);
    }
    let mut found = shown(&worker(&moved).model, EvictionPolicy::NoEviction);
    found.insert(FROM, shown(&worker(&moved[..1]).model, EvictionPolicy::NoEviction)[&FROM].clone());
    assert!(judge(&mut settled(), &found, EvictionPolicy::NoEviction).is_err(), "it is in both sets");
}

/// Lists and streams after their replies were checked, as a server has them and as it must not.
#[test]
fn lists_and_streams_are_checked() {
    let write = |write| SoakStep::Write(SoakWrite::Queue(write));
    let pushed = [write(QueueWrite::Push(LIST, vec![1, 2, 3])), write(QueueWrite::Pop(LIST, false, 1))];
    let added = [
        write(QueueWrite::Add(STREAM, vec![1, 2, 3, 4])),
        write(QueueWrite::Take(STREAM, 3)),
        write(QueueWrite::Acknowledge(STREAM, vec![1, 4])),
    ];
    let all = [&pushed[..], &added[..]].concat();
    let settled = || {
        let mut settled = worker(&all);
        settled.model.settle();
        settled
    };
    let right = shown(&settled().model, EvictionPolicy::NoEviction);
    judge(&mut settled(), &right, EvictionPolicy::NoEviction).unwrap();
    let states = ["2", "1", "1", "0"];
    let Reply::Array(entries) = &right[&STREAM].reply else { panic!("entries") };
    assert!(entries.iter().skip(1).step_by(2).eq(&states.map(|state| Reply::Bulk(state.into()))));
    let planted: [(&str, SoakKey, PlantedError); 5] = [
        ("an element that was popped", LIST, |items| items.insert(0, Reply::Bulk(member_name(1).into()))),
        ("a lost element", LIST, |items| drop(items.pop())),
        ("another order", LIST, |items| items.reverse()),
        ("an entry that is delivered again", STREAM, |items| items[3] = Reply::Bulk(b"0".to_vec())),
        ("a forgotten acknowledgement", STREAM, |items| items[1] = Reply::Bulk(b"1".to_vec())),
    ];
    for (what, key, plant) in planted {
        let mut found = right.clone();
        let Reply::Array(items) = &mut found.get_mut(&key).unwrap().reply else { panic!("a list") };
        plant(items);
        assert!(judge(&mut settled(), &found, EvictionPolicy::NoEviction).is_err(), "{what} is not noticed");
    }
    // Replies while the server lives.
    let wrong = [
        (write(QueueWrite::Pop(LIST, true, 2)), Reply::Array(vec![Reply::Bulk(member_name(3).into())])),
        (write(QueueWrite::Take(STREAM, 9)), Reply::Null),
        (write(QueueWrite::Acknowledge(STREAM, vec![2, 3])), Reply::Integer(1)),
    ];
    for (step, reply) in wrong {
        let mut settled = settled();
        let done = step.apply(&mut settled.model, 0, at(EvictionPolicy::NoEviction), &[reply]);
        assert!(done.is_err(), "{step:?}");
    }
}

#[test]
fn steps_in_flight_are_done_or_not() {
    for done in [false, true] {
        let mut killed = worker(&steps());
        killed.model.settle();
        killed.in_flight = vec![set(TEXT, 9)];
        let found = shown(
            &worker(&[steps(), vec![set(TEXT, if done { 9 } else { 4 })]].concat()).model,
            EvictionPolicy::NoEviction,
        );
        judge(&mut killed, &found, EvictionPolicy::NoEviction).unwrap();
        assert_eq!(killed.model.keys[&TEXT].content, ModelValue::Text(vec![piece(if done { 9 } else { 4 })]));
    }
    let mut killed = worker(&steps());
    killed.model.settle();
    killed.in_flight = vec![set(TEXT, 9)];
    let found = shown(&worker(&[steps(), vec![set(TEXT, 8)]].concat()).model, EvictionPolicy::NoEviction);
    assert!(judge(&mut killed, &found, EvictionPolicy::NoEviction).is_err(), "a third value is not noticed");
}

#[test]
fn eviction_follows_its_policy_and_is_final() {
    for (policy, key, may) in [
        (EvictionPolicy::NoEviction, BRIEF, false),
        (EvictionPolicy::VolatileTtl, BRIEF, true),
        (EvictionPolicy::VolatileTtl, TEXT, false),
        (EvictionPolicy::AllKeysLru, TEXT, true),
    ] {
        let mut settled = worker(&steps());
        settled.model.settle();
        let full = shown(&settled.model, policy);
        let mut found = full.clone();
        found.get_mut(&key).unwrap().reply = Reply::Null;
        assert_eq!(judge(&mut settled, &found, policy).is_ok(), may, "{policy:?} {key:?}");
        if may {
            assert!(judge(&mut settled, &full, policy).is_err(), "{key:?} is back, which is not noticed");
        }
    }
}

#[test]
fn replies_with_expired_or_evicted_keys_are_wrong() {
    let mut worker = worker(&steps());
    let here = Reply::Bulk(super::super::model::bytes(&[piece(3)]));
    let mut read = |when, reply: &Reply| {
        SoakStep::Read(BRIEF).apply(&mut worker.model, 0, when, std::slice::from_ref(reply))
    };
    let later = ReplyWindow {
        sent: now() + FAR + 1000,
        received: now() + FAR + 1000,
        policy: EvictionPolicy::NoEviction,
    };
    assert!(read(at(EvictionPolicy::NoEviction), &here).is_ok());
    assert!(read(at(EvictionPolicy::NoEviction), &Reply::Null).is_err(), "it is lost before its time");
    assert!(read(later, &here).is_err(), "it is seen after its time");
    assert!(read(later, &Reply::Null).is_ok());
    assert!(read(at(EvictionPolicy::VolatileTtl), &Reply::Null).is_ok());
    assert!(read(at(EvictionPolicy::VolatileTtl), &here).is_err(), "it was evicted, and is back");
}
