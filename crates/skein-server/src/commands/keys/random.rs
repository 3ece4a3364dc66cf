//! RANDOMKEY: a random key.
//!
//! ```text
//!   all keys   a3 b17 b29 b2x u5   draws a byte from `a` to `u`;
//!                                  the first key from there on selects the branch: b
//!   of b       b17 b29 b2x         draws a byte from `1` to `2`: 2
//!   of b2      b29 b2x             ...
//! ```
//!
//! The index keeps no counts, so the keys are not equally likely; in Redis they are not either. But
//! every key can be drawn, and keys of one shape with a common prefix are drawn about equally
//! often. If the engine orders keys by hash, the result is the first key after a random hash.

use std::ops::{Bound, ControlFlow};

use crate::commands::{AfterCommand, CommandContext, CommandError, CommandResult};
use crate::redis::random::CommandRng;
use crate::resp::{Args, Reply};
use skein_data::{EngineBounds, ScanDirection};

pub(super) fn random_key(context: &mut CommandContext, _: &Args, reply: &mut Reply) -> CommandResult {
    let key = if context.session.is_ordered() { draw(context)? } else { draw_by_hash(context)? };
    reply.bulk_or_null(key.as_deref());
    Ok(AfterCommand::Done)
}

/// Returns the first key within the bounds in this direction.
fn nearest(
    context: &mut CommandContext,
    bounds: EngineBounds<'_>,
    direction: ScanDirection,
) -> Result<Option<Vec<u8>>, CommandError> {
    let mut nearest = None;
    context.session.scan(context.client.keyspace(), bounds, direction, 1, |key, _| {
        nearest = Some(key.to_vec());
        ControlFlow::Break(())
    })?;
    Ok(nearest)
}

/// Returns the first key after a random hash, or the first key of all.
fn draw_by_hash(context: &mut CommandContext) -> Result<Option<Vec<u8>>, CommandError> {
    let place = CommandRng::new().below(usize::MAX).to_le_bytes();
    for lower in [Bound::Excluded(&place[..]), Bound::Unbounded] {
        let mut first = None;
        context.session.walk(context.client.keyspace(), (lower, Bound::Unbounded), 1, |key, _| {
            first = Some(key.to_vec());
            ControlFlow::Break(())
        })?;
        if first.is_some() {
            return Ok(first);
        }
    }
    Ok(None)
}

fn draw(context: &mut CommandContext) -> Result<Option<Vec<u8>>, CommandError> {
    let all = (Bound::Unbounded, Bound::Unbounded);
    let Some(mut low) = nearest(context, all, ScanDirection::Forward)? else { return Ok(None) };
    let Some(mut high) = nearest(context, all, ScanDirection::Backward)? else { return Ok(None) };
    let mut random = CommandRng::new();
    // Every round makes the common prefix longer.
    while low < high {
        let common = low.iter().zip(&high).take_while(|(a, b)| a == b).count();
        let last = usize::from(high[common]);
        // A key that equals the common prefix is a branch, too.
        let first = match low.get(common) {
            Some(byte) => usize::from(*byte),
            None if random.below(last + 2) == 0 => break,
            None => 0,
        };
        let byte = first + random.below(last - first + 1);
        let from = [&high[..common], &[byte as u8]].concat();
        // Another client may have removed the key.
        let branch = (Bound::Included(&from[..]), Bound::Included(&high[..]));
        let Some(key) = nearest(context, branch, ScanDirection::Forward)? else { break };
        let after = skein_data::successor(&key[..=common]);
        let end = match after.as_deref() {
            Some(after) if *after <= high[..] => Bound::Excluded(after),
            _ => Bound::Included(&high[..]),
        };
        let branch = (Bound::Included(&key[..]), end);
        high = nearest(context, branch, ScanDirection::Backward)?.unwrap_or_else(|| key.clone());
        low = key;
    }
    Ok(Some(low))
}
