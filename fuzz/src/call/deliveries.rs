//! Commands of the consumers of groups.

use arbitrary::{Arbitrary, Unstructured};

use super::FuzzStreamId;
use super::groups::{FuzzConsumer, FuzzConsumerName, FuzzGroup};

/// The entries that XCLAIM and XAUTOCLAIM take.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzClaim {
    /// Whether the least idle time is so long that no entry has it. Otherwise it is zero.
    #[arbitrary(with = seldom)]
    pub is_far_off: bool,
    /// JUSTID.
    pub shows_ids: bool,
}

/// A consumer's command.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzDeliveryCommand {
    /// XREADGROUP: new entries, or pending ones behind an identifier.
    Read {
        consumer: FuzzConsumer,
        most: Option<u8>,
        #[arbitrary(with = seldom)]
        is_acknowledged: bool,
        pending_behind: Option<FuzzStreamId>,
    },
    Acknowledge(FuzzGroup, FuzzStreamId, Vec<FuzzStreamId>),
    /// XPENDING without a range.
    Summary(FuzzGroup),
    /// XPENDING with a range.
    Pending {
        group: FuzzGroup,
        #[arbitrary(with = at_first)]
        from: FuzzStreamId,
        #[arbitrary(with = at_last)]
        to: FuzzStreamId,
        most: u8,
        consumer: Option<FuzzConsumerName>,
    },
    Claim {
        consumer: FuzzConsumer,
        ids: (FuzzStreamId, Vec<FuzzStreamId>),
        claim: FuzzClaim,
        force: bool,
    },
    AutoClaim {
        consumer: FuzzConsumer,
        #[arbitrary(with = at_first)]
        from: FuzzStreamId,
        most: Option<u8>,
        claim: FuzzClaim,
    },
}

fn seldom(input: &mut Unstructured<'_>) -> arbitrary::Result<bool> {
    input.ratio(1, 4)
}

/// Returns an identifier. Half of them are the first one.
fn at_first(input: &mut Unstructured<'_>) -> arbitrary::Result<FuzzStreamId> {
    if input.arbitrary()? { Ok(FuzzStreamId::ENDS[0]) } else { input.arbitrary() }
}

/// Returns an identifier. Half of them are the last one.
fn at_last(input: &mut Unstructured<'_>) -> arbitrary::Result<FuzzStreamId> {
    if input.arbitrary()? { Ok(FuzzStreamId::ENDS[1]) } else { input.arbitrary() }
}

impl FuzzDeliveryCommand {
    /// Returns whether its reply is the same if it passes through a script.
    pub fn fits_a_script(&self) -> bool {
        // The others have absent lists, or are scripts themselves.
        matches!(self, Self::Acknowledge(..) | Self::Claim { .. } | Self::AutoClaim { .. })
    }
}
