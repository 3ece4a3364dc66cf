//! Fits the times of groups of K independent reads to the line T = 1 + c(K - 1), to get the
//! constant c.

use serde::{Deserialize, Serialize};

use crate::result::Summary;

/// The fitted line, in units of the time of a group of one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Fit {
    /// The constant c: the additional time per further read of a group.
    pub c: f64,
    /// The median distance of the times from the line, as a fraction of the time.
    pub off: f64,
    /// The number of reads in flight at once in large groups: the median of K / T over the largest
    /// quarter of K.
    pub at_once: f64,
    /// The least K that reaches nine tenths of that.
    pub depth: usize,
}

/// Returns T, the group's time in units of one read. Returns `None` if there is no time for K = 1,
/// or if a time is not positive.
pub fn normalized(group_ns: &[(usize, f64)]) -> Option<Vec<(usize, f64)>> {
    let &(_, one) = group_ns.iter().find(|(k, _)| *k == 1)?;
    let usable = |ns: f64| ns.is_finite() && ns > 0.0;
    if !usable(one) || !group_ns.iter().all(|&(_, ns)| usable(ns)) {
        return None;
    }
    Some(group_ns.iter().map(|&(k, ns)| (k, ns / one)).collect())
}

/// Fits the line through (1, 1) with the least sum of absolute distances, so that single disturbed
/// times do not move it: c is the weighted median of the slopes (T - 1) / (K - 1), with weights K -
/// 1.
///
/// Returns `None` if there is no time for K = 1 or for a greater K, or if a time is not positive.
pub fn fit(group_ns: &[(usize, f64)]) -> Option<Fit> {
    let times = normalized(group_ns)?;
    let mut slopes: Vec<(f64, f64)> =
        times.iter().filter(|(k, _)| *k > 1).map(|&(k, t)| ((t - 1.0) / real(k - 1), real(k - 1))).collect();
    slopes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = slopes.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut below = 0.0;
    let &(c, _) = slopes.iter().find(|(_, weight)| {
        below += weight;
        below >= half
    })?;
    let off: Vec<f64> = times.iter().map(|&(k, t)| (t - 1.0 - c * real(k - 1)).abs() / t).collect();
    let greatest = times.iter().map(|&(k, _)| k).max()?;
    let large = times.iter().filter(|(k, _)| *k > greatest / 4 * 3).map(|&(k, t)| real(k) / t);
    let at_once = Summary::of(&large.collect::<Vec<_>>()).median;
    let depth = times.iter().filter(|&&(k, t)| real(k) / t >= 0.9 * at_once).map(|&(k, _)| k).min()?;
    Some(Fit { c, off: Summary::of(&off).median, at_once, depth })
}

pub(super) fn real(k: usize) -> f64 {
    k as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyset::SeededRandom;

    fn line(c: f64, noise: impl Fn(usize) -> f64) -> Vec<(usize, f64)> {
        (1..=120).map(|k| (k, 85.0 * (1.0 + c * real(k - 1)) * noise(k))).collect()
    }

    #[test]
    fn a_clean_line_gives_its_constant() {
        for c in [0.065, 0.117, 1.0, 0.0] {
            let fit = fit(&line(c, |_| 1.0)).expect("a line");
            assert!((fit.c - c).abs() < 1e-9 && fit.off < 1e-9, "{fit:?}");
            assert!((fit.at_once / (105.5 / (1.0 + c * 104.5)) - 1.0).abs() < 1e-3, "{fit:?}");
        }
    }

    #[test]
    fn the_depth_is_where_more_reads_hardly_help() {
        // Reads one after the other: a single read reaches the limit. All at once: only the largest
        // groups do.
        assert_eq!(fit(&line(1.0, |_| 1.0)).expect("a line").depth, 1);
        assert_eq!(fit(&line(0.0, |_| 1.0)).expect("a line").depth, 95);
        let some = fit(&line(0.117, |_| 1.0)).expect("a line");
        let reached = real(some.depth) / (1.0 + 0.117 * real(some.depth - 1));
        assert!(reached >= 0.9 * some.at_once && some.depth < 60, "{some:?}");
    }

    #[test]
    fn disturbed_times_hardly_move_it() {
        // Every time is up to 3 % too long, and each fifth three times as long.
        let unit = |k: usize| SeededRandom::new(k as u64).unit();
        let noisy = line(0.117, |k| if k % 5 == 0 { 3.0 } else { 1.0 + 0.03 * unit(k) });
        let fit = fit(&noisy).expect("a line");
        assert!((fit.c - 0.117).abs() < 0.006, "{fit:?}");
        assert!(fit.off < 0.05, "{fit:?}");
    }

    #[test]
    fn without_usable_times_there_is_no_fit() {
        assert_eq!(fit(&[]), None);
        assert_eq!(fit(&[(1, 80.0)]), None);
        assert_eq!(fit(&[(2, 90.0), (3, 100.0)]), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(fit(&[(1, bad), (2, 90.0)]), None);
            assert_eq!(fit(&[(1, 80.0), (2, bad)]), None);
        }
    }
}
