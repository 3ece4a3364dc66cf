//! Arguments that the server itself puts together: the commands of a script.

use super::request::{ArgSpan, Args};

/// A request that grows argument by argument. Its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct ArgList {
    buffer: Vec<u8>,
    spans: Vec<ArgSpan>,
}

impl ArgList {
    /// Adds an argument. Returns `false` and adds nothing if the request would exceed 4 GiB.
    pub(crate) fn push(&mut self, arg: &[u8]) -> bool {
        let (Ok(start), Ok(len)) = (u32::try_from(self.buffer.len()), u32::try_from(arg.len())) else {
            return false;
        };
        if start.checked_add(len).is_none() {
            return false;
        }
        self.spans.push(ArgSpan { start, len });
        self.buffer.extend_from_slice(arg);
        true
    }

    /// Returns the bytes that the arguments take.
    pub(crate) fn memory(&self) -> usize {
        self.buffer.capacity() + self.spans.capacity() * size_of::<ArgSpan>()
    }

    /// Removes all arguments.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
        self.spans.clear();
    }

    /// Returns the request, or `None` without arguments.
    pub(crate) fn args(&self) -> Option<Args<'_>> {
        (!self.spans.is_empty()).then(|| Args::new(&self.buffer, &self.spans))
    }
}
