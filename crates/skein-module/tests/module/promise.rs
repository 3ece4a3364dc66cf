//! The promise of a range over a cluster: it returns every key that stays exactly once, in order.
//! Meanwhile other keys are inserted and removed, slots migrate, a primary is killed, and another
//! primary is stopped and continued.
//!
//! `skeindb::cluster` reads, and real nodes reply. [`soak`] does the same for a given time.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use skein_syntax::slots::slot_of_key;
use skeindb::ScanDirection;
use skeindb::client::Reply;
use skeindb::cluster::{Cluster, ClusterOptions, Projection, RangeBounds};

use crate::nodes::ModuleCluster;
use crate::random::ModuleRandom;
use crate::servers::programs;

const ALL: RangeBounds<'static> = (Bound::Unbounded, Bound::Unbounded);

/// The number of keys that stay. It must suffice for several pages of each primary.
const STAYING: usize = 12_000;

/// The number of slots that have keys. It is small, so that many keys of a slot migrate while a
/// range is read.
const TAGS: usize = 48;

/// Returns the name of a key. Neighbours in order are in different slots.
fn name(number: usize, tail: &str) -> Vec<u8> {
    format!("stays:{number:05}:{{{}}}{tail}", number % TAGS).into_bytes()
}

/// Returns the slots that have keys.
fn slots() -> Vec<u16> {
    (0..TAGS).map(|tag| slot_of_key(&name(tag, ""))).collect()
}

fn connect(nodes: &ModuleCluster) -> Cluster {
    Cluster::connect(&nodes.addresses(), ClusterOptions::default()).expect("a cluster")
}

fn names(cluster: &Cluster, bounds: RangeBounds<'_>, direction: ScanDirection) -> Vec<Vec<u8>> {
    let mut scan = cluster.range(bounds, direction, Projection::Names).expect("a range");
    let mut names = Vec::new();
    while let Some(entry) = scan.next().expect("a range goes on") {
        names.push(entry.key);
    }
    names
}

/// Writes the keys that stay, and waits until all replicas have them. Returns their names in order.
fn fill(nodes: &ModuleCluster, cluster: &mut Cluster) -> Vec<Vec<u8>> {
    let mut staying: Vec<_> = (0..STAYING).map(|number| name(number, "")).collect();
    for some in staying.chunks(1_000) {
        let commands: Vec<[&[u8]; 3]> = some.iter().map(|name| [&b"SET"[..], name, b"v"]).collect();
        let replies = cluster.pipeline(&commands).expect("writes");
        assert!(replies.iter().all(|reply| *reply == Reply::ok()), "{:?}", replies[0]);
    }
    nodes.replicated();
    staying.sort_unstable();
    staying
}

/// The state that the readers and writers of a cluster share.
#[derive(Default)]
struct PromiseWatch {
    end: AtomicBool,
    /// The number of ranges over all keys that were read and checked.
    rounds: AtomicUsize,
}

impl PromiseWatch {
    fn goes_on(&self) -> bool {
        !self.end.load(Ordering::Relaxed)
    }

    /// Waits until so many more ranges were read.
    fn wait_for_rounds(&self, more: usize) {
        let wanted = self.rounds.load(Ordering::Relaxed) + more;
        while self.goes_on() && self.rounds.load(Ordering::Relaxed) < wanted {
            sleep(Duration::from_millis(5));
        }
    }

    /// Reads all keys repeatedly, in both directions, and checks that every key that stays is
    /// returned.
    fn read(&self, cluster: &Cluster, staying: &[Vec<u8>]) {
        while self.goes_on() {
            let round = self.rounds.load(Ordering::Relaxed);
            let direction =
                if round.is_multiple_of(2) { ScanDirection::Forward } else { ScanDirection::Backward };
            let mut found = names(cluster, ALL, direction);
            if direction == ScanDirection::Backward {
                found.reverse();
            }
            assert!(found.is_sorted_by(|one, next| one < next), "not in order, or one twice");
            let found: BTreeSet<_> = found.iter().collect();
            let missing: Vec<_> = staying.iter().filter(|name| !found.contains(name)).collect();
            let shown: Vec<_> = missing.iter().take(5).map(|name| name.escape_ascii().to_string()).collect();
            assert!(
                missing.is_empty(),
                "round {round}, {direction:?}: {} are missing, {shown:?}",
                missing.len()
            );
            self.rounds.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Writes and removes other keys between the keys that stay.
    fn write(&self, cluster: &mut Cluster) {
        let mut random = ModuleRandom(5);
        while self.goes_on() {
            let name = name(random.below(STAYING), ":goes");
            let words: &[&[u8]] =
                if random.below(2) == 0 { &[b"SET", &name, b"v"] } else { &[b"DEL", &name] };
            if let Reply::Error(text) = cluster.call(&name, words).expect("a write") {
                assert!(["CLUSTERDOWN", "TRYAGAIN"].iter().any(|word| text.starts_with(word)), "{text}");
            }
        }
    }
}

/// Ends the readers and writers, even if a check fails.
struct StopOnDrop<'w>(&'w PromiseWatch);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end.store(true, Ordering::Relaxed);
    }
}

/// Reads and writes continuously while `events` runs.
fn check_during(nodes: &mut ModuleCluster, events: impl FnOnce(&mut ModuleCluster, &PromiseWatch)) {
    let mut cluster = connect(nodes);
    let (staying, watch) = (fill(nodes, &mut cluster), PromiseWatch::default());
    let (reader, mut writer) = (connect(nodes), connect(nodes));
    thread::scope(|scope| {
        scope.spawn(|| {
            let _end = StopOnDrop(&watch);
            watch.read(&reader, &staying);
        });
        scope.spawn(|| {
            let _end = StopOnDrop(&watch);
            watch.write(&mut writer);
        });
        let _end = StopOnDrop(&watch);
        watch.wait_for_rounds(1);
        events(nodes, &watch);
        watch.wait_for_rounds(2);
    });
}

/// Moves so many slots by `migrate`, each from its primary to another one.
fn migrate_some(
    nodes: &ModuleCluster,
    random: &mut ModuleRandom,
    count: usize,
    migrate: impl Fn(&ModuleCluster, u16, usize, usize),
) {
    let slots = slots();
    for _ in 0..count {
        let slot = slots[random.below(TAGS)];
        let primaries = nodes.primaries();
        let owner = primaries.iter().copied().find(|place| nodes.owned(*place).contains(slot));
        let others: Vec<_> = primaries.iter().copied().filter(|place| Some(*place) != owner).collect();
        let (Some(from), Some(to)) = (owner, others.get(random.below(others.len())).copied()) else {
            panic!("slot {slot} has no owner among {primaries:?}");
        };
        migrate(nodes, slot, from, to);
    }
}

/// Moves slots by `migrate` while twelve ranges are read.
fn check_while_slots_migrate(program: &Path, migrate: impl Fn(&ModuleCluster, u16, usize, usize)) {
    check_during(&mut ModuleCluster::start(program, 3, 0), |nodes, watch| {
        let mut random = ModuleRandom(11);
        let begin = watch.rounds.load(Ordering::Relaxed);
        while watch.goes_on() && watch.rounds.load(Ordering::Relaxed) < begin + 12 {
            migrate_some(nodes, &mut random, 5, &migrate);
        }
    });
}

/// Ends a primary as `kill -9` does, waits until its replica has taken over, and starts it again.
fn kill_a_primary(nodes: &mut ModuleCluster, watch: &PromiseWatch, victim: usize) {
    nodes.replicated();
    nodes.servers[victim].kill();
    nodes.wait_for_takeover(victim);
    watch.wait_for_rounds(1);
    nodes.servers[victim].start_again();
    nodes.wait_until("the killed node is a replica that has caught up", |nodes| {
        !nodes.is_primary(victim) && nodes.works()
    });
}

/// Stops a primary until its replica has taken over. Then continues it, with its outdated knowledge
/// of its slots.
fn stop_a_primary(nodes: &mut ModuleCluster, watch: &PromiseWatch, victim: usize) {
    nodes.replicated();
    nodes.servers[victim].signal("STOP");
    nodes.wait_for_takeover(victim);
    watch.wait_for_rounds(1);
    nodes.servers[victim].signal("CONT");
    nodes.wait_until("the stopped node is a replica that has caught up", |nodes| {
        !nodes.is_primary(victim) && nodes.works()
    });
}

#[test]
fn all_keys_come_in_order() {
    for program in programs() {
        let nodes = ModuleCluster::start(&program, 3, 0);
        let mut cluster = connect(&nodes);
        let staying = fill(&nodes, &mut cluster);
        assert_eq!(nodes.scanned(), staying);
        assert_eq!(names(&cluster, ALL, ScanDirection::Forward), staying);
        let (low, high) = (&b"stays:02"[..], &b"stays:077"[..]);
        let bounds = (Bound::Included(low), Bound::Excluded(high));
        let mut within: Vec<_> =
            staying.iter().filter(|name| &name[..] >= low && &name[..] < high).cloned().collect();
        assert_eq!(cluster.count(bounds).expect("a count"), within.len() as u64);
        within.reverse();
        assert_eq!(names(&cluster, bounds, ScanDirection::Backward), within);
    }
}

#[test]
fn keys_that_stay_come_once_while_slots_migrate() {
    for program in programs() {
        check_while_slots_migrate(&program, ModuleCluster::migrate);
    }
}

/// Only Valkey 9 can do this.
#[test]
fn keys_that_stay_come_once_while_slots_migrate_at_once() {
    for program in programs() {
        if ModuleCluster::start(&program, 2, 0).migrate_at_once(0, 0, 1) {
            check_while_slots_migrate(&program, |nodes, slot, from, to| {
                assert!(nodes.migrate_at_once(slot, from, to));
            });
        }
    }
}

#[test]
fn keys_that_stay_come_once_while_primaries_fail() {
    for program in programs() {
        check_during(&mut ModuleCluster::start_mortal(&program, 3, 1), |nodes, watch| {
            kill_a_primary(nodes, watch, 0);
            stop_a_primary(nodes, watch, 1);
        });
    }
}

/// Runs all events in random turn, for `SKEIN_SOAK_MINUTES` (20) over each server.
/// `.ci/cluster-soak` runs it.
#[test]
#[ignore = "takes 20 minutes for each server"]
fn soak() {
    let minutes = std::env::var("SKEIN_SOAK_MINUTES").map_or(20, |text| text.parse().expect("minutes"));
    for program in programs() {
        let (mut random, mut events) = (ModuleRandom(23), [0; 3]);
        check_during(&mut ModuleCluster::start_mortal(&program, 3, 1), |nodes, watch| {
            let begin = Instant::now();
            while watch.goes_on() && begin.elapsed() < Duration::from_secs(60 * minutes) {
                let event = random.below(3);
                events[event] += 1;
                let primaries = nodes.primaries();
                let victim = primaries[random.below(primaries.len())];
                match event {
                    0 => migrate_some(nodes, &mut random, 20, ModuleCluster::migrate),
                    1 => kill_a_primary(nodes, watch, victim),
                    _ => stop_a_primary(nodes, watch, victim),
                }
            }
            println!(
                "{}: {} ranges of {STAYING} keys and more, {} times 20 slots moved, {} primaries killed, {} stopped",
                program.display(),
                watch.rounds.load(Ordering::Relaxed),
                events[0],
                events[1],
                events[2]
            );
        });
    }
}
