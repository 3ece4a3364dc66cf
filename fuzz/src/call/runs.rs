//! Runs: requests of one command to one key in a row. The server may do a run as one change.

use arbitrary::{Arbitrary, Unstructured};

use super::{
    FuzzCommand, FuzzEnd, FuzzEntryId, FuzzListCommand, FuzzName, FuzzPosition, FuzzScore, FuzzStreamCommand,
    FuzzStreamId, FuzzText,
};

/// The arguments of a run's requests, 2 to 70: the server joins 32 at most.
#[derive(Debug, Clone)]
pub struct FuzzRunArgs<T>(Vec<T>);

impl<'a, T: Arbitrary<'a>> Arbitrary<'a> for FuzzRunArgs<T> {
    fn arbitrary(input: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        // Most runs are short: they leave bytes for other steps.
        let most = if input.ratio(1, 8)? { 70 } else { 6 };
        let len = input.int_in_range(2..=most)?;
        (0..len).map(|_| input.arbitrary()).collect::<Result<_, _>>().map(Self)
    }
}

type ScoredMember = (FuzzScore, FuzzName);

/// The requests of a run, without the key.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzRunRequests {
    /// LPUSH, RPUSH, LPUSHX or RPUSHX.
    Push {
        end: FuzzEnd,
        only_present: bool,
        texts: FuzzRunArgs<([FuzzText; 2], Vec<FuzzText>)>,
    },
    /// LPOP or RPOP without a count.
    PopOne(FuzzEnd, FuzzRunArgs<()>),
    Pop(FuzzEnd, FuzzRunArgs<Option<u8>>),
    SAdd(FuzzRunArgs<(FuzzName, Vec<FuzzName>)>),
    SRem(FuzzRunArgs<(FuzzName, Vec<FuzzName>)>),
    ZAdd(FuzzRunArgs<(ScoredMember, Vec<ScoredMember>)>),
    ZRem(FuzzRunArgs<FuzzName>),
    XAdd(FuzzRunArgs<(FuzzEntryId, (FuzzName, FuzzText))>),
}

impl FuzzRunRequests {
    fn of(&self, key: FuzzName) -> Vec<FuzzCommand> {
        match self {
            &Self::Push { end, only_present, ref texts } => texts.each(|texts| {
                FuzzCommand::List(FuzzListCommand::Push { key, end, texts: texts.clone(), only_present })
            }),
            Self::PopOne(end, requests) => {
                requests.each(|()| FuzzCommand::List(FuzzListCommand::Pop(key, *end, None)))
            }
            Self::Pop(end, counts) => {
                counts.each(|most| FuzzCommand::List(FuzzListCommand::Pop(key, *end, *most)))
            }
            Self::SAdd(members) => members.each(|(first, rest)| FuzzCommand::SAdd(key, *first, rest.clone())),
            Self::SRem(members) => members.each(|(first, rest)| FuzzCommand::SRem(key, *first, rest.clone())),
            Self::ZAdd(members) => members.each(|(first, rest)| FuzzCommand::ZAdd(key, *first, rest.clone())),
            Self::ZRem(members) => members.each(|member| FuzzCommand::ZRem(key, *member)),
            Self::XAdd(entries) => entries.each(|(id, field)| {
                let fields = (field.clone(), Vec::new());
                FuzzCommand::Stream(FuzzStreamCommand::Add { key, id: *id, fields })
            }),
        }
    }

    /// Returns a command that reads the whole key.
    fn reading(&self, key: FuzzName) -> FuzzCommand {
        let (first, last) = (FuzzPosition(0), FuzzPosition(-1));
        match self {
            Self::Push { .. } | Self::PopOne(..) | Self::Pop(..) => {
                FuzzCommand::List(FuzzListCommand::Range(key, first, last))
            }
            Self::SAdd(_) | Self::SRem(_) => FuzzCommand::SMembers(key),
            Self::ZAdd(_) | Self::ZRem(_) => FuzzCommand::ZRange(key, first, last),
            Self::XAdd(_) => {
                let [from, to] = FuzzStreamId::ENDS;
                FuzzCommand::Stream(FuzzStreamCommand::Range { key, from, to, most: None, reverse: false })
            }
        }
    }
}

/// A run on one key, or on one and then on another.
#[derive(Debug, Clone, Arbitrary)]
pub struct FuzzRun {
    key: FuzzName,
    next: Option<FuzzName>,
    requests: FuzzRunRequests,
}

impl FuzzRun {
    /// Returns the commands. The last ones read the keys.
    pub fn commands(&self) -> Vec<FuzzCommand> {
        let keys = || std::iter::once(self.key).chain(self.next);
        let requests = keys().flat_map(|key| self.requests.of(key));
        requests.chain(keys().map(|key| self.requests.reading(key))).collect()
    }
}

impl<T> FuzzRunArgs<T> {
    fn each(&self, command: impl FnMut(&T) -> FuzzCommand) -> Vec<FuzzCommand> {
        self.0.iter().map(command).collect()
    }
}
