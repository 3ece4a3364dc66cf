//! A sequence of steps, most of them of one family.

use super::{FuzzCommand, FuzzGroupCommand, FuzzStep, FuzzStreamCommand};
use arbitrary::{Arbitrary, Unstructured};

/// The family that most commands of a sequence belong to: in one of all families, two commands on the
/// same list are rare.
#[derive(Debug, Clone, Copy, Arbitrary)]
enum FuzzFocus {
    All,
    Lists,
    Streams,
    Groups,
    HyperLogLogs,
    Bits,
    Keys,
    Runs,
}

impl FuzzFocus {
    /// Returns the steps before all others.
    fn opening(self) -> Vec<FuzzStep> {
        match self {
            // Few deliveries would have a group, otherwise.
            Self::Groups => {
                FuzzGroupCommand::create_all().map(FuzzCommand::Group).map(FuzzStep::Call).collect()
            }
            _ => Vec::new(),
        }
    }

    fn step(self, input: &mut Unstructured<'_>) -> arbitrary::Result<FuzzStep> {
        Ok(FuzzStep::Call(match self {
            Self::All => input.arbitrary()?,
            Self::Lists => FuzzCommand::List(input.arbitrary()?),
            Self::Streams => FuzzCommand::Stream(input.arbitrary()?),
            // Half of them are deliveries, which need groups and entries.
            Self::Groups => match input.int_in_range(0..=9)? {
                0..=4 => FuzzCommand::Delivery(input.arbitrary()?),
                5 => FuzzCommand::Group(input.arbitrary()?),
                6 | 7 => FuzzCommand::Stream(input.arbitrary()?),
                _ => FuzzCommand::Stream(FuzzStreamCommand::append(input)?),
            },
            Self::HyperLogLogs => FuzzCommand::HyperLogLog(input.arbitrary()?),
            Self::Bits => FuzzCommand::Bits(input.arbitrary()?),
            Self::Keys => FuzzCommand::Keyed(input.arbitrary()?),
            Self::Runs => return input.arbitrary().map(FuzzStep::Run),
        }))
    }
}

/// A sequence. All bytes of the input become steps: in a vector, each step would be the last one with
/// a probability of one half.
#[derive(Debug, Clone)]
pub struct FuzzSequence(pub Vec<FuzzStep>);

impl FuzzSequence {
    /// The most steps.
    const STEPS: usize = 200;
}

impl<'a> Arbitrary<'a> for FuzzSequence {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let focus: FuzzFocus = input.arbitrary()?;
        let mut steps = focus.opening();
        while !input.is_empty() && steps.len() < Self::STEPS {
            let is_focused = input.ratio(7, 8)?;
            steps.push(if is_focused { focus.step(input)? } else { input.arbitrary()? });
        }
        Ok(Self(steps))
    }
}
