//! The probe's figures in sentences.

use crate::probe::size;
use crate::result::ProbeSummary;

use super::figures::{number, percent};

/// Describes dependent reads: the least and the greatest footprint measured.
pub(super) fn reads(probe: &ProbeSummary) -> String {
    let one = |&(bytes, ns): &(u64, f64)| format!("{} ns in {}", number(ns), size(bytes));
    let by_size = |one: &&(u64, f64), other: &&(u64, f64)| one.0.cmp(&other.0);
    let all = || probe.read_ns_by_footprint.iter();
    match (all().min_by(by_size), all().max_by(by_size)) {
        (Some(least), Some(most)) => {
            format!("a dependent random read takes {} to {}", one(least), one(most))
        }
        _ => "no read was timed".to_owned(),
    }
}

/// Describes independent reads.
pub(super) fn groups(probe: &ProbeSummary) -> String {
    format!(
        "K random reads at once take 1 + c (K - 1) times as long as one; c = {} on huge pages, {} \
         on pages of 4 KiB; of the memory that asked for huge pages, {} was given them",
        number(probe.mlp_c),
        number(probe.mlp_c_small_pages),
        percent(probe.huge_share)
    )
}
