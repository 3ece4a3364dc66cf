//! Commands on the consumer groups of streams. `deliveries` has those of their consumers.

use arbitrary::{Arbitrary, Unstructured};

use super::{FuzzName, FuzzStreamId};

/// A group of a stream. A stream has two at most.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzGroup {
    /// The stream.
    #[arbitrary(with = FuzzName::often)]
    pub key: FuzzName,
    name: bool,
}

impl FuzzGroup {
    /// Returns its name.
    pub fn name(self) -> Vec<u8> {
        if self.name { b"g" } else { b"h" }.to_vec()
    }

    /// Returns the words of a request that say which group it is.
    pub fn words(self) -> Vec<Vec<u8>> {
        vec![self.key.bytes(), self.name()]
    }
}

/// A consumer. A group has three at most.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzConsumer {
    /// Its group.
    pub group: FuzzGroup,
    name: FuzzConsumerName,
}

impl FuzzConsumer {
    /// Returns its name.
    pub fn name(self) -> Vec<u8> {
        self.name.bytes()
    }

    /// Returns the words of a request that say which consumer it is.
    pub fn words(self) -> Vec<Vec<u8>> {
        [self.group.words(), vec![self.name()]].concat()
    }
}

/// A consumer's name.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzConsumerName(u8);

impl FuzzConsumerName {
    /// Returns its bytes.
    pub fn bytes(self) -> Vec<u8> {
        vec![b'a' + self.0 % 3]
    }
}

/// Where a group begins to read.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzGroupStart {
    /// The group reads the entries behind this one, or behind the last one.
    #[arbitrary(with = behind)]
    pub behind: Option<FuzzStreamId>,
    /// ENTRIESREAD.
    pub entries_read: Option<u8>,
}

/// A command on consumer groups.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzGroupCommand {
    Create {
        group: FuzzGroup,
        start: FuzzGroupStart,
        makes_stream: bool,
    },
    SetId(FuzzGroup, FuzzGroupStart),
    Destroy(FuzzGroup),
    CreateConsumer(FuzzConsumer),
    DeleteConsumer(FuzzConsumer),
    /// XINFO GROUPS.
    Info(FuzzName),
}

impl FuzzGroupCommand {
    /// Returns the commands that make all groups, before the first entries.
    pub fn create_all() -> impl Iterator<Item = Self> {
        let groups =
            FuzzName::OFTEN.into_iter().flat_map(|key| [true, false].map(|name| FuzzGroup { key, name }));
        let start = FuzzGroupStart { behind: Some(FuzzStreamId::ENDS[0]), entries_read: None };
        groups.map(move |group| Self::Create { group, start, makes_stream: true })
    }
}

/// Returns an identifier, or `None` for the last entry. Half of them are the first one: all entries
/// are behind it.
fn behind(input: &mut Unstructured<'_>) -> arbitrary::Result<Option<FuzzStreamId>> {
    Ok(if input.arbitrary()? { Some(FuzzStreamId::ENDS[0]) } else { input.arbitrary()? })
}
