//! The groups of commands: families, as COMMAND DOCS names them.

/// The group of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Bitmap,
    Cluster,
    Connection,
    Generic,
    Geo,
    Hash,
    HyperLogLog,
    List,
    PubSub,
    Scripting,
    Server,
    Set,
    Skein,
    SortedSet,
    Stream,
    String,
    Transactions,
}

impl Group {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bitmap => "bitmap",
            Self::Cluster => "cluster",
            Self::Connection => "connection",
            Self::Generic => "generic",
            Self::Geo => "geo",
            Self::Hash => "hash",
            Self::HyperLogLog => "hyperloglog",
            Self::List => "list",
            Self::PubSub => "pubsub",
            Self::Scripting => "scripting",
            Self::Server => "server",
            Self::Set => "set",
            Self::Skein => "skein",
            Self::SortedSet => "sorted-set",
            Self::Stream => "stream",
            Self::String => "string",
            Self::Transactions => "transactions",
        }
    }

    /// Returns the access control category of the commands of the group, unless their rows name
    /// others. It is empty for a group without a category.
    pub(crate) fn category(self) -> &'static str {
        match self {
            Self::Generic => "keyspace",
            Self::SortedSet => "sortedset",
            Self::Transactions => "transaction",
            Self::Cluster | Self::PubSub | Self::Server | Self::Skein => "",
            _ => self.name(),
        }
    }
}
