//! Commands on HyperLogLogs.

use arbitrary::Arbitrary;

use super::FuzzName;

/// A key of a HyperLogLog. Other commands do not use it: they would see bytes that the model does not
/// have.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzHyperLogLogKey(FuzzName);

impl FuzzHyperLogLogKey {
    /// Returns its bytes.
    pub fn bytes(self) -> Vec<u8> {
        [b"hll:", &self.0.bytes()[..]].concat()
    }
}

/// An element: a number below 64. No two of them have the same register, so that each one that is
/// new changes its HyperLogLog, and so few are counted exactly.
#[derive(Debug, Clone, Copy, Arbitrary)]
pub struct FuzzElement(u8);

impl FuzzElement {
    /// Returns its bytes.
    pub fn bytes(self) -> Vec<u8> {
        (self.0 % 64).to_string().into_bytes()
    }
}

/// A command on HyperLogLogs.
#[derive(Debug, Clone, Arbitrary)]
#[allow(missing_docs, reason = "they are the commands' names and arguments")]
pub enum FuzzHyperLogLogCommand {
    Add(FuzzHyperLogLogKey, Vec<FuzzElement>),
    Count(FuzzHyperLogLogKey, Vec<FuzzHyperLogLogKey>),
    /// The first key receives the elements of all.
    Merge(FuzzHyperLogLogKey, Vec<FuzzHyperLogLogKey>),
    /// PFDEBUG TODENSE.
    MakeDense(FuzzHyperLogLogKey),
    /// SET, of a value that is no HyperLogLog.
    Replace(FuzzHyperLogLogKey, FuzzName),
    Remove(FuzzHyperLogLogKey),
}
