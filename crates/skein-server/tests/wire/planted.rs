//! Plants bugs in the server, and shows that the checker finds each.
//!
//! One test, because a planted bug affects the whole process.

use std::time::Duration;

use skein_server::planted_bugs::{self, PlantedBug};

use crate::{explore, explore_tracking, in_memory};
use skein_store::IndexKind;

/// How long the checker may look for a bug. Most are found within a second.
const BUDGET: Duration = Duration::from_secs(120);

#[test]
fn planted_bugs_are_found() {
    let bugs = [
        PlantedBug::KeysBeforeWait,
        PlantedBug::LostWaiter,
        PlantedBug::LastWaiterFirst,
        PlantedBug::NoSecondLook,
        PlantedBug::OpenTransaction,
        PlantedBug::SplitMset,
        PlantedBug::UncheckedWatch,
        PlantedBug::LostInvalidation,
    ];
    for bug in bugs {
        let server = in_memory(IndexKind::Masstree);
        planted_bugs::set(bug, true);
        let check = if bug == PlantedBug::LostInvalidation { explore_tracking } else { explore };
        let found = check(&format!("{bug:?}"), &server, BUDGET);
        planted_bugs::set(bug, false);
        println!("{}\n", found.expect_err("the checker found nothing"));
    }
}
