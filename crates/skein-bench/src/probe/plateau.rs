//! Finds the caches in the latency by footprint: the ranges in which more bytes do not make a read
//! slower.
//!
//! ```text
//!   ns │                         ▄▄▄▄▄▄  memory
//!      │              ▄▄▄▄▄▄▄▄▄▟         L3
//!      │      ▄▄▄▄▄▄▟                    L2
//!      │▄▄▄▄▟                            L1
//!      └──────────────────────────────── bytes
//! ```

use serde::{Deserialize, Serialize};

use crate::machine::CpuCache;
use crate::result::Summary;

/// A range of footprints with about the same latency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plateau {
    /// `L1`, `L2`, ... or `memory`; `level 1`, ... if the system does not report the caches' sizes.
    pub name: String,
    /// The least footprint measured in it.
    pub from_bytes: u64,
    /// The greatest footprint measured in it.
    pub to_bytes: u64,
    /// The time of a read: the median over its footprints.
    pub ns: f64,
}

/// Within a plateau the latencies differ by at most this factor.
const LEVEL: f64 = 1.25;
/// A plateau covers at least a factor of two in bytes.
const WIDTH: u64 = 2;
/// The slow rise of memory latency by TLB misses. Neighbouring plateaus without known names that
/// differ by less than this are merged. The last plateau extends to the end if that differs by
/// less.
const APART: f64 = 1.6;

/// Finds the plateaus of (bytes, ns), sorted by bytes, and names them by the caches of the machine.
///
/// A disturbance can only make a read slower, and a larger footprint cannot make it faster. So each
/// time counts as at most the least of the times after it.
pub fn plateaus(points: &[(u64, f64)], caches: &[CpuCache]) -> Vec<Plateau> {
    let mut points: Vec<(u64, f64)> =
        points.iter().copied().filter(|(_, ns)| ns.is_finite() && *ns > 0.0).collect();
    for at in (1..points.len()).rev() {
        points[at - 1].1 = points[at - 1].1.min(points[at].1);
    }
    let mut found = Vec::new();
    widest(&points, &mut found);
    join(found, &points, caches)
}

/// Adds the widest plateau, then searches on its left and on its right.
fn widest<'p>(points: &'p [(u64, f64)], found: &mut Vec<&'p [(u64, f64)]>) {
    let factor = |run: &[(u64, f64)]| run[run.len() - 1].0 / run[0].0.max(1);
    let end = |from: usize| points.partition_point(|&(_, ns)| ns <= points[from].1 * LEVEL);
    // Among equally wide ones the last is taken; times rise, so `end` is past `from`.
    let runs = (0..points.len()).map(|from| (from, end(from)));
    let Some((from, to)) = runs.max_by_key(|&(from, to)| factor(&points[from..to])) else { return };
    if factor(&points[from..to]) < WIDTH {
        return;
    }
    widest(&points[..from], found);
    found.push(&points[from..to]);
    widest(&points[to..], found);
}

/// Names the ranges and merges those with the same name.
fn join(found: Vec<&[(u64, f64)]>, points: &[(u64, f64)], caches: &[CpuCache]) -> Vec<Plateau> {
    let mut joined: Vec<Plateau> = Vec::new();
    for run in found {
        let (from_bytes, to_bytes) = (run[0].0, run[run.len() - 1].0);
        let name = name(from_bytes, to_bytes, caches);
        let ns = median(run);
        match joined.last_mut() {
            Some(last) if last.name == name && (!name.is_empty() || ns < last.ns * APART) => {
                last.to_bytes = to_bytes;
                last.ns = median_between(points, last.from_bytes, to_bytes);
            }
            _ => joined.push(Plateau { name, from_bytes, to_bytes, ns }),
        }
    }
    if let (Some(last), Some(&(end, ns))) = (joined.last_mut(), points.last())
        && ns < last.ns * APART
    {
        last.to_bytes = end;
        last.ns = median_between(points, last.from_bytes, end);
    }
    for (number, plateau) in joined.iter_mut().enumerate() {
        if plateau.name.is_empty() {
            plateau.name = format!("level {}", number + 1);
        }
    }
    joined
}

fn median(run: &[(u64, f64)]) -> f64 {
    Summary::of(&run.iter().map(|&(_, ns)| ns).collect::<Vec<_>>()).median
}

fn median_between(points: &[(u64, f64)], from: u64, to: u64) -> f64 {
    let inside = points.iter().copied().filter(|(bytes, _)| (from..=to).contains(bytes));
    median(&inside.collect::<Vec<_>>())
}

/// Returns the name of the smallest cache that holds the middle of the range, by factors; an empty
/// name if no caches are known.
fn name(from: u64, to: u64, caches: &[CpuCache]) -> String {
    let middle = u128::from(from) * u128::from(to);
    let holds = |cache: &&CpuCache| u128::from(cache.bytes).pow(2) >= middle;
    match caches.iter().find(holds) {
        Some(cache) => format!("L{}", cache.level),
        None if caches.is_empty() => String::new(),
        None => "memory".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyset::SeededRandom;
    use crate::probe::plan::steps;

    const CACHES: [CpuCache; 3] = [
        CpuCache { level: 1, bytes: 48 << 10 },
        CpuCache { level: 2, bytes: 2 << 20 },
        CpuCache { level: 3, bytes: 32 << 20 },
    ];

    /// Returns the latencies of a machine. Its reads miss in proportion to the bytes that do not
    /// fit, and its memory gets slower with the footprint.
    fn machine(noise: impl Fn(u64) -> f64) -> Vec<(u64, f64)> {
        let latency = |bytes: u64| {
            let real = |bytes: u64| f64::from((bytes >> 10) as u32);
            let past = |size: u64| (1.0 - real(size) / real(bytes)).max(0.0);
            let walks = (real(bytes) / real(32 << 20)).log2().max(0.0);
            1.5 + 4.0 * past(48 << 10) + 15.0 * past(2 << 20) + (70.0 + 6.0 * walks) * past(32 << 20)
        };
        steps(16 << 10, 1 << 30).into_iter().map(|bytes| (bytes, latency(bytes) * noise(bytes))).collect()
    }

    fn check(points: &[(u64, f64)]) {
        let found = plateaus(points, &CACHES);
        let names: Vec<&str> = found.iter().map(|plateau| plateau.name.as_str()).collect();
        assert_eq!(names, ["L1", "L2", "L3", "memory"], "{found:#?}");
        assert_eq!((found[0].from_bytes, found[0].to_bytes), (16 << 10, 48 << 10), "{found:#?}");
        assert!(found[1].to_bytes >= 2 << 20 && found[1].to_bytes <= 3 << 20, "{found:#?}");
        assert!(found[2].to_bytes >= 32 << 20 && found[2].to_bytes <= 48 << 20, "{found:#?}");
        assert_eq!(found[3].to_bytes, 1 << 30);
        for (plateau, ns) in found.iter().zip([1.5, 5.4, 20.0, 105.0]) {
            assert!((plateau.ns / ns - 1.0).abs() < 0.15, "{plateau:?} should be near {ns} ns");
        }
    }

    #[test]
    fn caches_show_as_plateaus() {
        check(&machine(|_| 1.0));
    }

    #[test]
    fn disturbed_times_do_not_split_them() {
        let unit = |bytes: u64| SeededRandom::new(bytes).unit();
        check(&machine(|bytes| 1.0 + 0.05 * unit(bytes)));
        // A neighbour makes three footprints, inside L2, L3 and memory, twice as slow.
        check(&machine(|bytes| if [512 << 10, 8 << 20, 256 << 20].contains(&bytes) { 2.0 } else { 1.0 }));
    }

    #[test]
    fn the_slow_rise_of_memory_belongs_to_it() {
        let points = [(64, 110.0), (128, 112.0), (256, 137.0), (512, 165.0), (1024, 205.0)];
        let points = points.map(|(mebibytes, ns)| (mebibytes << 20, ns));
        let found = plateaus(&points, &CACHES);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!((found[0].name.as_str(), found[0].to_bytes), ("memory", 1 << 30));
        assert!((found[0].ns - 137.0).abs() < 1e-9);
    }

    #[test]
    fn without_sizes_of_caches_they_are_numbered() {
        let found = plateaus(&machine(|_| 1.0), &[]);
        let names: Vec<&str> = found.iter().map(|plateau| plateau.name.as_str()).collect();
        assert_eq!(names, ["level 1", "level 2", "level 3", "level 4"], "{found:#?}");
    }

    #[test]
    fn few_points_steep_ones_and_no_times() {
        assert_eq!(plateaus(&[], &CACHES), []);
        assert_eq!(plateaus(&[(16 << 10, 1.0)], &CACHES), []);
        assert_eq!(plateaus(&[(16 << 10, f64::NAN), (32 << 10, 0.0)], &CACHES), []);
        let steep: Vec<(u64, f64)> = (14..30).map(|n| (1 << n, 1.5_f64.powi(n))).collect();
        assert_eq!(plateaus(&steep, &CACHES), []);
        let flat: Vec<(u64, f64)> = (14..30).map(|n| (1 << n, 80.0)).collect();
        assert_eq!(plateaus(&flat, &CACHES).len(), 1);
    }
}
