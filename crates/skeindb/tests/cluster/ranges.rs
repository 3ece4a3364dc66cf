//! Ranges: no event between two pages may hide a key.

use std::ops::Bound;
use std::time::{Duration, Instant};

use skein_syntax::slots::{SlotSet, slot_of_key};
use skeindb::ScanDirection;
use skeindb::client::Reply;
use skeindb::cluster::{Cluster, ClusterLogin, ClusterOptions, ClusterScan, Error, ErrorKind, Projection};

use crate::fake::{FakeCluster, FakeValue, NodeFault};

pub const ALL: (Bound<&[u8]>, Bound<&[u8]>) = (Bound::Unbounded, Bound::Unbounded);

/// Options for tests that succeed, also on a busy machine: only a silent node makes them wait.
pub fn patient() -> ClusterOptions {
    let mut options = ClusterOptions::default();
    options.page_timeout = Duration::from_millis(300);
    options.patience = Duration::from_secs(20);
    options
}

/// Options for tests that end with an error.
pub fn impatient() -> ClusterOptions {
    let mut options = ClusterOptions::default();
    options.patience = Duration::from_millis(700);
    options
}

pub fn connect(fake: &FakeCluster, options: ClusterOptions) -> Cluster {
    Cluster::connect(&[fake.address(0)], options).unwrap()
}

fn rest(scan: &mut ClusterScan) -> Result<Vec<Vec<u8>>, Error> {
    let mut keys = Vec::new();
    while let Some(entry) = scan.next()? {
        keys.push(entry.key);
    }
    Ok(keys)
}

fn names_within(fake: &FakeCluster, options: ClusterOptions) -> Result<Vec<Vec<u8>>, Error> {
    rest(&mut connect(fake, options).range(ALL, ScanDirection::Forward, Projection::Names)?)
}

fn names(fake: &FakeCluster) -> Result<Vec<Vec<u8>>, Error> {
    names_within(fake, patient())
}

/// Returns the error of a range, and its duration.
fn failure(fake: &FakeCluster) -> (Error, Duration) {
    let began = Instant::now();
    (names_within(fake, impatient()).expect_err("it cannot be read"), began.elapsed())
}

#[test]
fn keys_of_all_nodes_come_in_order() {
    let fake = FakeCluster::start(3, 0);
    let keys = fake.fill(200);
    assert_eq!(names(&fake).unwrap(), keys);
    let cluster = connect(&fake, patient());
    let mut backward =
        rest(&mut cluster.range(ALL, ScanDirection::Backward, Projection::Names).unwrap()).unwrap();
    backward.reverse();
    assert_eq!(backward, keys);

    let bounds = (Bound::Excluded(&b"key:010"[..]), Bound::Included(&b"key:150"[..]));
    assert_eq!(cluster.count(bounds).unwrap(), 140);
    let mut scan = cluster.range(bounds, ScanDirection::Forward, Projection::Whole).unwrap().limit(30);
    let first = scan.next().unwrap().expect("an entry");
    assert_eq!(first.held, Some(Reply::Bulk(b"key:011".to_vec())));
    assert_eq!(scan.resume_key(), Some(&b"key:011"[..]));
    assert_eq!(rest(&mut scan).unwrap(), keys[12..41]);
    let resumed = (Bound::Excluded(scan.resume_key().unwrap()), bounds.1);
    let mut scan = cluster.range(resumed, ScanDirection::Forward, Projection::Names).unwrap();
    assert_eq!(rest(&mut scan).unwrap(), keys[41..=150]);
}

#[test]
fn a_page_may_have_a_last_name_and_no_entries() {
    let fake = FakeCluster::start(2, 0);
    let keys = fake.fill(20);
    // Names of slots that the node does not own, which a page omits as it omits names outside a
    // user's patterns.
    for key in 0..50 {
        let key = format!("a:{key}").into_bytes();
        let mut world = fake.world();
        let other = 1 - world.owner(slot_of_key(&key)).unwrap();
        world.nodes[other].keys.insert(key, FakeValue::Stream);
    }
    assert_eq!(names(&fake).unwrap(), keys);
}

/// The case that rule 2 exists for: B's page is read before the key arrives, and A's page after it
/// has left.
#[test]
fn a_key_that_moves_between_two_pages_is_found() {
    // B is a node with slots, or one without, which CLUSTER SLOTS would not name.
    for (to, others) in [(1, 0), (2, 1)] {
        let fake = FakeCluster::start(2, others);
        let keys = fake.fill(5);
        let slot = slot_of_key(&keys[0]);
        let from = fake.world().owner(slot).unwrap();
        let to = if from == to { 0 } else { to };
        fake.world().open_slot(slot, from, to);
        let mut asked = 0;
        fake.hook(move |world, _| {
            asked += 1;
            if asked > 1 {
                world.move_keys(slot, from, to);
            }
        });
        assert_eq!(names(&fake).unwrap(), keys);
    }
}

/// A migration starts between two pages: no page says that the slot is imported.
#[test]
fn a_migration_that_begins_between_two_pages_is_noticed() {
    let fake = FakeCluster::start(3, 0);
    let keys = fake.fill(30);
    let slot = slot_of_key(&keys[3]);
    let from = fake.world().owner(slot).unwrap();
    let to = (from + 1) % 3;
    let mut pages = Vec::new();
    fake.hook(move |world, at| {
        if pages.contains(&to) && !pages.contains(&from) && at == from {
            world.open_slot(slot, from, to);
            world.move_keys(slot, from, to);
        }
        pages.push(at);
    });
    assert_eq!(names(&fake).unwrap(), keys);
}

/// The keys of an aborted migration are moved back, and the import ends between two pages.
#[test]
fn a_migration_that_is_given_up_hides_nothing() {
    let fake = FakeCluster::start(3, 0);
    let keys = fake.fill(60);
    let slots: Vec<u16> = keys.iter().step_by(5).map(|key| slot_of_key(key)).collect();
    let owners: Vec<usize> = slots.iter().map(|slot| fake.world().owner(*slot).unwrap()).collect();
    let mut open: Vec<(u16, usize, usize)> =
        slots.into_iter().zip(owners).map(|(slot, owner)| (slot, owner, (owner + 1) % 3)).collect();
    for (slot, owner, to) in &open {
        let mut world = fake.world();
        world.nodes[*to].importing.0.insert(*slot);
        world.move_keys(*slot, *owner, *to);
    }
    let mut before = 0;
    fake.hook(move |world, at| {
        // After a page of the owner.
        if let Some(place) = open.iter().position(|(_, owner, to)| *owner == before && *to == at) {
            let (slot, owner, to) = open.swap_remove(place);
            world.move_keys(slot, to, owner);
            world.nodes[to].importing.remove(slot);
        }
        before = at;
    });
    assert_eq!(names(&fake).unwrap(), keys);
}

/// A node that joined after the map was read takes over a slot.
#[test]
fn a_new_node_is_found_by_the_slot_that_it_takes() {
    let fake = FakeCluster::start(2, 1);
    let keys = fake.fill(60);
    let known: Vec<(usize, SlotSet)> =
        (0..2).map(|node| (node, fake.world().nodes[node].owned.0.clone())).collect();
    (0..3).for_each(|node| fake.world().nodes[node].view = Some(known.clone()));
    let slots: Vec<u16> = keys.iter().step_by(2).map(|key| slot_of_key(key)).collect();
    let mut asked = 0;
    fake.hook(move |world, _| {
        asked += 1;
        if asked == 5 {
            world.nodes.iter_mut().for_each(|node| node.view = None);
            for slot in &slots {
                if let Some(from) = world.owner(*slot).filter(|from| *from != 2) {
                    world.open_slot(*slot, from, 2);
                    world.move_keys(*slot, from, 2);
                }
            }
        }
    });
    assert_eq!(names(&fake).unwrap(), keys);
}

/// Whole slots change their owner again and again, in every order of the nodes.
#[test]
fn slots_that_migrate_all_the_time_hide_nothing() {
    let fake = FakeCluster::start(3, 1);
    let keys = fake.fill(300);
    let (mut state, mut open, mut asked) = (7_u64, None, 0);
    fake.hook(move |world, _| {
        asked += 1;
        // A window has four pages, or eight: some windows see no slot change its owner.
        if asked % 4 > 0 {
            return;
        }
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let random = (state >> 33) as usize;
        match open.take() {
            None => {
                let slot = slot_of_key(format!("key:{:03}", random % 300).as_bytes());
                let from = world.owner(slot).expect("an owner");
                let to = (from + 1 + random % 3) % 4;
                world.open_slot(slot, from, to);
                open = Some((slot, from, to, 0));
            }
            Some((slot, from, to, 0)) => {
                world.move_keys(slot, from, to);
                open = Some((slot, from, to, 1));
            }
            Some((slot, from, to, _)) => world.close_slot(slot, from, to),
        }
    });
    for _ in 0..5 {
        assert_eq!(names(&fake).unwrap(), keys);
    }
}

#[test]
fn a_slot_without_a_primary_is_named() {
    let fake = FakeCluster::start(2, 0);
    fake.fill(5);
    (100..200).for_each(|slot| fake.world().nodes[0].owned.remove(slot));
    let (error, took) = failure(&fake);
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().starts_with("slots 100-199 have no primary for 0.7 s; "), "{error}");
    assert!(took > Duration::from_millis(500), "its patience was {took:?}");
}

#[test]
fn two_owners_are_waited_for() {
    let fake = FakeCluster::start(2, 0);
    let keys = fake.fill(10);
    fake.world().nodes[1].owned.0.insert(7);
    assert!(failure(&fake).0.to_string().starts_with("slot 7 has two primaries for "));
    let mut asked = 0;
    fake.hook(move |world, _| {
        asked += 1;
        if asked == 9 {
            world.nodes[1].owned.remove(7);
        }
    });
    assert_eq!(names(&fake).unwrap(), keys);
}

#[test]
fn errors_that_pass_are_waited_for() {
    let fake = FakeCluster::start(2, 0);
    let keys = fake.fill(40);
    for text in ["LOADING the order of the keys is being built: 43% done", "CLUSTERDOWN The cluster is down"]
    {
        fake.world().nodes[1].fault = NodeFault::Fails(text.to_owned());
        let healed = fake.clone();
        let healer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            healed.world().nodes[1].fault = NodeFault::Well;
        });
        assert_eq!(names(&fake).unwrap(), keys);
        healer.join().unwrap();
    }
    fake.world().nodes[1].fault = NodeFault::Fails("LOADING 43% done".to_owned());
    let (error, _) = failure(&fake);
    assert!(error.to_string().contains(&fake.address(1)) && error.to_string().contains("LOADING"), "{error}");
}

#[test]
fn errors_that_do_not_pass_end_the_range_at_once() {
    let fake = FakeCluster::start(2, 0);
    for (fault, kind, word) in [
        (NodeFault::NoModule, ErrorKind::NoModule, "libskein.so"),
        (NodeFault::Fails("NOPERM no permissions to run 'sk.page'".to_owned()), ErrorKind::Refused, "NOPERM"),
        (NodeFault::Fails("ERR syntax error".to_owned()), ErrorKind::Malformed, "syntax"),
    ] {
        fake.world().nodes[1].fault = fault;
        let (error, took) = failure(&fake);
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(&fake.address(1)) && error.to_string().contains(word), "{error}");
        assert!(took < Duration::from_millis(500), "it took {took:?}");
    }
}

#[test]
fn users_need_their_password() {
    let fake = FakeCluster::start(2, 0);
    let keys = fake.fill(10);
    fake.world().password = Some("hunter2".to_owned());
    let error = Cluster::connect(&[fake.address(0)], impatient()).expect_err("no password");
    assert_eq!(error.kind(), ErrorKind::Refused, "{error}");
    let login = |password: &str| {
        let mut options = impatient();
        options.login =
            Some(ClusterLogin { user: "default".to_owned(), password: password.as_bytes().to_vec() });
        Cluster::connect(&[fake.address(0)], options)
    };
    assert!(login("wrong").expect_err("a wrong password").to_string().contains("WRONGPASS"));
    let mut scan = login("hunter2").unwrap().range(ALL, ScanDirection::Forward, Projection::Names).unwrap();
    assert_eq!(rest(&mut scan).unwrap(), keys);
}

#[test]
fn a_primary_that_fails_over_is_followed() {
    for fault in [NodeFault::Silent, NodeFault::Closes] {
        let fake = FakeCluster::start(3, 1);
        let keys = fake.fill(100);
        fake.world().nodes[3].is_replica = true;
        let (mut asked, broken) = (0, fault.clone());
        fake.hook(move |world, at| {
            asked += 1;
            if asked == 8 {
                world.nodes[1].fault = broken.clone();
            }
            if at == 0 && asked > 9 && !world.nodes[1].is_replica {
                world.fail_over(1, 3);
                world.nodes[1].is_replica = true;
            }
        });
        assert_eq!(names(&fake).unwrap(), keys, "{fault:?}");
        // The old primary is now a replica of the new one.
        fake.world().nodes[1].fault = NodeFault::Well;
        fake.world().hook = None;
        assert_eq!(names(&fake).unwrap(), keys);
    }
}

/// The old primary returns with its old map: it and the new one own the same slots.
#[test]
fn a_primary_that_comes_back_with_an_old_map_is_not_believed() {
    let fake = FakeCluster::start(3, 1);
    let keys = fake.fill(50);
    let before: Vec<(usize, SlotSet)> =
        (0..3).map(|node| (node, fake.world().nodes[node].owned.0.clone())).collect();
    let owned = before[0].1.clone();
    {
        let mut world = fake.world();
        world.fail_over(0, 3);
        // Written after the failover.
        world.nodes[0].keys.clear();
        world.nodes[0].owned.0 = owned;
        world.nodes[0].view = Some(before);
    }
    assert!(failure(&fake).0.to_string().contains("two primaries"));
    let mut asked = 0;
    fake.hook(move |world, _| {
        asked += 1;
        if asked == 20 {
            world.nodes[0].is_replica = true;
            world.nodes[0].view = None;
        }
    });
    assert_eq!(names(&fake).unwrap(), keys);
}

#[test]
fn a_range_goes_on_where_it_failed() {
    let fake = FakeCluster::start(2, 0);
    let keys = fake.fill(60);
    let mut scan = connect(&fake, impatient()).range(ALL, ScanDirection::Forward, Projection::Names).unwrap();
    let mut found: Vec<Vec<u8>> = (0..10).map(|_| scan.next().unwrap().expect("a key").key).collect();
    fake.world().nodes[1].fault = NodeFault::Fails("CLUSTERDOWN".to_owned());
    let error = loop {
        match scan.next() {
            Ok(entry) => found.push(entry.expect("the range does not end").key),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    fake.world().nodes[1].fault = NodeFault::Well;
    found.extend(rest(&mut scan).unwrap());
    assert_eq!(found, keys);
}

/// The next window is requested before the entries of the present one are returned, and no further
/// one. (The first window of a range has second pages.)
#[test]
fn one_window_is_asked_for_ahead() {
    let fake = FakeCluster::start(2, 0);
    fake.fill(100);
    let mut scan = connect(&fake, patient()).range(ALL, ScanDirection::Forward, Projection::Names).unwrap();
    scan.next().unwrap().expect("a key");
    let began = Instant::now();
    while fake.world().pages < 6 {
        assert!(began.elapsed() < Duration::from_secs(20), "the second window is not asked for");
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(fake.world().pages, 6);
}

#[test]
fn a_server_that_is_no_cluster_is_refused() {
    let fake = FakeCluster::start(1, 0);
    let error = Cluster::connect(&["127.0.0.1:1"], impatient()).expect_err("nobody listens");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
    let seeds = ["127.0.0.1:1".to_owned(), fake.address(0)];
    assert!(Cluster::connect(&seeds, impatient()).is_ok(), "one seed is enough");
}
