//! `SK.PAGE`: returns a page of a node's keys together with the slots that the page covers.
//!
//! A client merges the pages of all primaries. The slots tell it whether a key may have moved from
//! one node to another between two pages. `docs/design/cluster-ranges.md` has the rules.
//!
//! # Invariant
//! The slots and the entries are read in one slice. The server does nothing else during a slice. So
//! each key of these slots that the node holds is in the page, or beyond the page's last name.
#![expect(clippy::needless_pass_by_value, reason = "the server's crate calls it so")]

use skein_syntax::KeyRange;
use valkey_module::{Context, ValkeyResult, ValkeyString, ValkeyValue};

use crate::answer::{CollectedReply, ReplyPart};
use crate::commands::{begin, error, mistake, range_options, range_work};
use crate::slots::NodeSlots;
use crate::work::WorkProgress;

/// Elements of a reply: three sets of slots, the last name, the entries.
const ELEMENTS: usize = 5;

/// `SK.PAGE min max [REV] [LIMIT n] [NOVALUES | COLUMNS n name...]`.
pub fn page(context: &Context, args: Vec<ValkeyString>) -> ValkeyResult {
    let (ctx, args) = begin(context, &args, 2, usize::MAX)?;
    let wanted = range_options(&args[2..])?;
    if wanted.limit == 0 {
        return Err(error("ERR a page has 1 name or more; give LIMIT a greater number"));
    }
    let range = KeyRange::parse(args[0], args[1]).map_err(mistake)?;
    let Some(slots) = NodeSlots::now(ctx) else {
        return Err(error("ERR this server is no node of a cluster; ask it by SK.RANGE"));
    };
    if slots.is_replica {
        return Err(error("READONLY this node is a replica; ask its primary for the page"));
    }
    let (mut entries, mut last, mut elements) = (CollectedReply::default(), None, 0);
    if let Some(range) = range {
        let mut work = range_work(ctx, "sk.page", range, wanted);
        let held = slots.owned.union(&slots.importing);
        let (looked_at, progress) = work.slice(Some(&held), ctx, &mut entries).map_err(error)?;
        last = looked_at.filter(|_| progress == WorkProgress::More);
        elements = work.elements;
    }
    let mut head = CollectedReply::default();
    head.push(ReplyPart::Array(ELEMENTS));
    for set in [&slots.owned, &slots.importing, &slots.migrating] {
        head.push(ReplyPart::Bulk(set.to_string().as_bytes()));
    }
    head.push(last.as_deref().map_or(ReplyPart::Null, ReplyPart::Bulk));
    head.push(ReplyPart::Array(elements));
    while head.give(ctx) {}
    while entries.give(ctx) {}
    Ok(ValkeyValue::NoReply)
}
