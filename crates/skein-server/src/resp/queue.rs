//! A queue of requests with its own memory: the requests of a transaction until its EXEC.

use super::request::{ArgSpan, Args};

/// The bytes that a request takes besides its arguments: its queue entry.
const PER_REQUEST: usize = size_of::<QueuedRequest>();

/// A request: its spans and its tag.
#[derive(Debug, Clone, Copy)]
struct QueuedRequest {
    first: u32,
    count: u32,
    tag: u16,
}

/// Copies of requests, in order.
#[derive(Debug, Default)]
pub(crate) struct RequestQueue {
    buffer: Vec<u8>,
    spans: Vec<ArgSpan>,
    requests: Vec<QueuedRequest>,
}

impl RequestQueue {
    /// Adds a request. Returns `false` if the queue would exceed `limit` bytes, or 4 GiB.
    pub(crate) fn push(&mut self, tag: u16, args: &Args, limit: usize) -> bool {
        let bytes: usize = args.from(0).map(|arg| arg.len() + size_of::<ArgSpan>()).sum();
        if self.bytes() + bytes + PER_REQUEST > limit.min(u32::MAX as usize) {
            return false;
        }
        self.requests.push(QueuedRequest { first: self.spans.len() as u32, count: args.len() as u32, tag });
        for arg in args.from(0) {
            self.spans.push(ArgSpan { start: self.buffer.len() as u32, len: arg.len() as u32 });
            self.buffer.extend_from_slice(arg);
        }
        true
    }

    /// Returns a queue of these requests, for tests.
    #[cfg(test)]
    pub(crate) fn of(requests: &[&[&[u8]]]) -> Self {
        let mut queue = Self::default();
        for request in requests {
            let buffer = request.concat();
            let mut start = 0;
            let span = |arg: &&[u8]| {
                start += arg.len() as u32;
                ArgSpan { start: start - arg.len() as u32, len: arg.len() as u32 }
            };
            let spans: Vec<ArgSpan> = request.iter().map(span).collect();
            assert!(queue.push(0, &Args::new(&buffer, &spans), usize::MAX));
        }
        queue
    }

    /// Returns the bytes that the requests take.
    fn bytes(&self) -> usize {
        self.buffer.len() + size_of_val(&*self.spans) + size_of_val(&*self.requests)
    }

    /// Returns the bytes of the queue's memory.
    pub(crate) fn memory(&self) -> usize {
        self.buffer.capacity()
            + self.spans.capacity() * size_of::<ArgSpan>()
            + self.requests.capacity() * size_of::<QueuedRequest>()
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    /// Returns the requests, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, Args<'_>)> {
        self.requests.iter().map(|QueuedRequest { first, count, tag }| {
            let spans = &self.spans[*first as usize..(*first + *count) as usize];
            (*tag, Args::new(&self.buffer, spans))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::{RequestBuffer, RequestLimits};

    #[test]
    fn requests_are_returned_unchanged_and_bytes_are_limited() {
        let limits = RequestLimits { request_bytes: 1 << 20, arg_bytes: 1 << 20, args: 100, pipeline: 100 };
        let mut input = RequestBuffer::new();
        let text = b"SET a 1\r\nGET \"\"\r\n";
        input.room(&mut Vec::new())[..text.len()].copy_from_slice(text);
        input.filled(text.len());
        input.parse(&limits, true, |_| 0).expect("requests");
        let mut queue = RequestQueue::default();
        assert!(!queue.push(1, &input.args(0), 10), "over the limit");
        assert_eq!(queue.len(), 0);
        assert!(queue.push(1, &input.args(0), 1000) && queue.push(2, &input.args(1), 1000));
        let found: Vec<(u16, Vec<&[u8]>)> =
            queue.iter().map(|(tag, args)| (tag, args.from(0).collect())).collect();
        assert_eq!(found, [(1, vec![&b"SET"[..], b"a", b"1"]), (2, vec![b"GET", b""])]);
        let exact = queue.bytes() + 3 * size_of::<ArgSpan>() + 5 + PER_REQUEST;
        assert!(!queue.push(1, &input.args(0), exact - 1) && queue.push(1, &input.args(0), exact));
    }
}
