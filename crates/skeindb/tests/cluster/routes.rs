//! Commands on keys: each must reach the right node.

use std::time::Duration;

use skein_syntax::slots::slot_of_key;
use skeindb::client::Reply;
use skeindb::cluster::ErrorKind;

use crate::fake::{FakeCluster, FakeValue, NodeFault};
use crate::ranges::{connect, impatient, patient};

fn sets(keys: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    keys.iter().map(|key| vec![b"SET".to_vec(), key.clone(), b"new".to_vec()]).collect()
}

/// Asserts each key's value, and that only one node has the key.
fn assert_written(fake: &FakeCluster, keys: &[Vec<u8>]) {
    let world = fake.world();
    for key in keys {
        let found: Vec<&FakeValue> = world.nodes.iter().filter_map(|node| node.keys.get(key)).collect();
        assert_eq!(found, [&FakeValue::Text(b"new".to_vec())], "{}", key.escape_ascii());
    }
}

#[test]
fn a_pipeline_goes_to_all_nodes() {
    let fake = FakeCluster::start(3, 0);
    let keys = fake.fill(100);
    let mut cluster = connect(&fake, patient());
    let replies = cluster.pipeline(&sets(&keys)).unwrap();
    assert_eq!(replies, vec![Reply::ok(); 100]);
    assert_written(&fake, &keys);
    let wrong = cluster.call(&keys[0], &[b"HSCAN", &keys[0], b"0"]).unwrap();
    assert!(matches!(wrong, Reply::Error(text) if text.starts_with("WRONGTYPE")), "other errors are replies");
}

#[test]
fn redirections_are_followed() {
    let fake = FakeCluster::start(3, 0);
    let keys = fake.fill(40);
    let mut cluster = connect(&fake, patient());
    for (n, key) in keys.iter().enumerate() {
        let (slot, mut world) = (slot_of_key(key), fake.world());
        let from = world.owner(slot).unwrap();
        let to = (from + 1) % 3;
        world.open_slot(slot, from, to);
        if n % 3 > 0 {
            // The nodes answer ASK.
            world.move_keys(slot, from, to);
        }
        if n % 3 > 1 {
            // The nodes answer MOVED.
            world.close_slot(slot, from, to);
        }
    }
    let replies = cluster.pipeline(&sets(&keys)).unwrap();
    assert_eq!(replies, vec![Reply::ok(); 40]);
    assert_written(&fake, &keys);
}

#[test]
fn a_failover_is_followed_by_writes() {
    for fault in [NodeFault::Silent, NodeFault::Closes, NodeFault::Fails("LOADING".to_owned())] {
        let fake = FakeCluster::start(2, 1);
        fake.world().nodes[2].is_replica = true;
        let keys = fake.fill(30);
        let mut cluster = connect(&fake, patient());
        cluster.pipeline(&sets(&keys)).unwrap();
        fake.world().nodes[1].fault = fault.clone();
        let later = fake.clone();
        let failover = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            later.world().fail_over(1, 2);
            later.world().nodes[1].is_replica = true;
        });
        let replies = cluster.pipeline(&sets(&keys)).unwrap();
        assert_eq!(replies, vec![Reply::ok(); 30], "{fault:?}");
        failover.join().unwrap();
    }
}

#[test]
fn a_slot_that_nobody_has_is_named() {
    let fake = FakeCluster::start(2, 0);
    let mut cluster = connect(&fake, impatient());
    let slot = slot_of_key(b"goose");
    let owner = fake.world().owner(slot).unwrap();
    fake.world().nodes[owner].owned.remove(slot);
    let error = cluster.call(b"goose", &[b"GET", b"goose"]).expect_err("no node has it");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let text = error.to_string();
    assert!(text.contains("CLUSTERDOWN") || text.contains(&format!("slot {slot} has no primary")), "{text}");
}

/// Two nodes that each redirect to the other.
#[test]
fn redirections_end() {
    let fake = FakeCluster::start(2, 0);
    let mut cluster = connect(&fake, impatient());
    for node in 0..2 {
        let other = fake.address(1 - node);
        fake.world().nodes[node].fault = NodeFault::Fails(format!("MOVED 5 {other}"));
    }
    let error = cluster.call(b"goose", &[b"GET", b"goose"]).expect_err("it goes round");
    assert!(error.to_string().starts_with("the nodes redirect in a circle"), "{error}");
}
