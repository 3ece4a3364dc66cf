//! The reply buffer of a connection: reply bytes, and the positions after which they must wait.
//!
//! ```text
//!   buffer   ░░░ sent ░░░│ may be sent │ needs epoch 7 │ needs epoch 9 │ open array, still growing
//!                        sent          hold            hold            open
//! ```
//!
//! At durability `sync`, the reply of a write waits for the write's epoch. All replies behind it
//! wait too, because replies keep their order. An array of unknown length waits for its head.

use std::collections::VecDeque;

use super::SPARE_BUFFERS_MAX;

/// Empty buffers of up to this size are kept for this connection or another.
const KEEP_BYTES: usize = 16 << 10;

/// A buffer that does not run empty is compacted when at least this many of its bytes are sent, and
/// at most this many bytes must be moved for it.
const DRAIN_BYTES: usize = 1 << 20;

/// A buffer is also compacted if at most this fraction of the sent bytes (one part in so many) must
/// be moved. So a long reply is not moved again and again while it is being sent.
const DRAIN_PART: usize = 16;

/// Bytes from `start` on wait until `epoch` is durable.
#[derive(Debug, Clone, Copy)]
struct EpochHold {
    start: usize,
    epoch: u64,
}

#[derive(Debug, Default)]
pub(crate) struct ReplyBuffer {
    /// Replies are appended here.
    pub buffer: Vec<u8>,
    sent: usize,
    /// In ascending order of start and of epoch.
    holds: VecDeque<EpochHold>,
    /// The start of an array that is not finished.
    open: Option<usize>,
}

impl ReplyBuffer {
    /// Takes a spare buffer if there is no buffer yet.
    #[inline]
    pub(crate) fn take_spare_buffer(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.buffer.capacity() == 0
            && let Some(buffer) = spare.pop()
        {
            self.buffer = buffer;
        }
    }

    /// Gives the buffer away if it is empty, so that an idle connection holds none.
    #[inline]
    pub(crate) fn release(&mut self, spare: &mut Vec<Vec<u8>>) {
        if self.buffer.is_empty() && self.buffer.capacity() > 0 {
            let buffer = std::mem::take(&mut self.buffer);
            if spare.len() < SPARE_BUFFERS_MAX {
                spare.push(buffer);
            }
        }
    }

    /// Returns the number of bytes that are not sent yet.
    #[inline]
    pub(crate) fn pending(&self) -> usize {
        self.buffer.len() - self.sent
    }

    /// Returns the bytes that were appended since this many were pending. Positions do not serve for
    /// this: the end of an open array moves the bytes before it.
    pub(crate) fn since(&self, pending: usize) -> &[u8] {
        &self.buffer[self.sent + pending..]
    }

    /// Returns the number of bytes before `start` that are not sent yet, for [`keep`](Self::keep).
    pub(crate) fn pending_before(&self, start: usize) -> usize {
        debug_assert!(
            (self.sent..=self.buffer.len()).contains(&start),
            "the bytes from {start} on were sent"
        );
        start - self.sent
    }

    /// Removes all but the first `pending` unsent bytes, with the epochs that they wait for. The
    /// argument is not a position, because the end of an open array moves the bytes before it.
    pub(crate) fn keep(&mut self, pending: usize) {
        let end = self.sent + pending;
        debug_assert!(end <= self.buffer.len(), "{pending} bytes are to be kept of {}", self.pending());
        self.buffer.truncate(end);
        while self.holds.back().is_some_and(|hold| hold.start >= end) {
            self.holds.pop_back();
        }
    }

    /// Makes all bytes from `start` on wait for `epoch`.
    pub(crate) fn hold(&mut self, start: usize, epoch: u64) {
        debug_assert!(
            (self.sent..=self.buffer.len()).contains(&start),
            "the bytes from {start} on were sent"
        );
        debug_assert!(self.holds.back().is_none_or(|last| last.start <= start), "holds are in order");
        if self.holds.back().is_none_or(|last| last.epoch < epoch) {
            self.holds.push_back(EpochHold { start, epoch });
        }
    }

    /// Returns whether some bytes wait for an epoch after `durable`.
    pub(crate) fn is_held(&self, durable: u64) -> bool {
        self.holds.back().is_some_and(|hold| hold.epoch > durable)
    }

    /// Removes all bytes that wait for an epoch, because it will never be durable. No array must be
    /// open.
    pub(crate) fn drop_held(&mut self, durable: u64) {
        self.release_holds(durable);
        if let Some(hold) = self.holds.front() {
            self.buffer.truncate(hold.start);
        }
        self.holds.clear();
        self.open = None;
    }

    fn release_holds(&mut self, durable: u64) {
        while self.holds.front().is_some_and(|hold| hold.epoch <= durable) {
            self.holds.pop_front();
        }
    }

    /// Begins an array of unknown length at `start`.
    pub(crate) fn open(&mut self, start: usize) {
        debug_assert!(self.open.is_none(), "one array is open at a time");
        self.open = Some(start);
    }

    /// Ends the open array. Removes the `unused` bytes at its start.
    pub(crate) fn close(&mut self, unused: usize) {
        let Some(start) = self.open.take() else { return };
        debug_assert!(start + unused <= self.buffer.len(), "the array has its head");
        // The bytes before the array are moved, not the array: they are few, and the array may be
        // long.
        self.buffer.copy_within(self.sent..start, self.sent + unused);
        self.sent += unused;
        for hold in &mut self.holds {
            if hold.start <= start {
                hold.start += unused;
            }
        }
    }

    /// Discards the open array with all bytes that were written for it.
    pub(crate) fn abandon(&mut self) {
        if let Some(start) = self.open.take() {
            self.buffer.truncate(start);
        }
    }

    /// Returns the start of the open array.
    pub(crate) fn open_start(&self) -> Option<usize> {
        self.open
    }

    /// Returns the bytes that may be sent when all epochs up to `durable` are durable.
    #[inline]
    pub(crate) fn sendable(&mut self, durable: u64) -> &[u8] {
        let mut end = self.open.unwrap_or(self.buffer.len());
        if !self.holds.is_empty() {
            self.release_holds(durable);
            end = self.holds.front().map_or(end, |hold| end.min(hold.start));
        }
        &self.buffer[self.sent..end]
    }

    /// Marks `count` bytes as sent.
    #[inline]
    pub(crate) fn sent(&mut self, count: usize) {
        self.sent += count;
        debug_assert!(self.sent <= self.open.unwrap_or(self.buffer.len()), "more was sent than may be");
        debug_assert!(self.holds.front().is_none_or(|hold| self.sent <= hold.start), "held bytes were sent");
        if self.sent == self.buffer.len() && self.open.is_none() {
            self.buffer.clear();
            self.sent = 0;
            if self.buffer.capacity() > KEEP_BYTES {
                self.buffer = Vec::new();
            }
        } else if self.sent >= DRAIN_BYTES && self.pending() <= (self.sent / DRAIN_PART).max(DRAIN_BYTES) {
            let sent = std::mem::take(&mut self.sent);
            self.buffer.drain(..sent);
            for hold in &mut self.holds {
                hold.start -= sent;
            }
            self.open = self.open.map(|start| start - sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send_all(output: &mut ReplyBuffer, durable: u64) -> Vec<u8> {
        let bytes = output.sendable(durable).to_vec();
        output.sent(bytes.len());
        bytes
    }

    #[test]
    fn replies_wait_for_their_epoch_in_order() {
        let mut output = ReplyBuffer::default();
        output.buffer.extend_from_slice(b"a");
        output.hold(1, 5);
        output.buffer.extend_from_slice(b"b");
        output.hold(2, 5);
        output.buffer.extend_from_slice(b"c");
        output.hold(3, 7);
        output.buffer.extend_from_slice(b"d");
        assert_eq!(send_all(&mut output, 4), b"a");
        assert_eq!(send_all(&mut output, 4), b"");
        assert_eq!(send_all(&mut output, 5), b"bc");
        assert!(output.is_held(6));
        assert_eq!(send_all(&mut output, 7), b"d");
        assert!(!output.is_held(0) && output.pending() == 0);
    }

    /// Incident: at `sync`, the replies before a write with a muted reply were sent, and the buffer
    /// began anew. Consequence: the hold of the write kept its old position, in the middle of a
    /// later reply, and the second part of that reply waited for the write. Fix: a dropped reply
    /// removes its hold.
    #[test]
    fn dropped_reply_removes_its_hold() {
        let mut output = ReplyBuffer::default();
        output.buffer.extend_from_slice(b"long");
        let pending = output.pending();
        output.hold(4, 5);
        output.buffer.extend_from_slice(b"dropped");
        output.keep(pending);
        assert_eq!(send_all(&mut output, 4), b"long");
        output.buffer.extend_from_slice(b"a later one");
        assert_eq!(send_all(&mut output, 4), b"a later one");
    }

    #[test]
    fn replies_that_cannot_become_durable_are_removed() {
        let mut output = ReplyBuffer::default();
        output.buffer.extend_from_slice(b"a");
        output.hold(1, 5);
        output.buffer.extend_from_slice(b"b");
        output.hold(2, 6);
        output.buffer.extend_from_slice(b"c");
        output.drop_held(5);
        assert_eq!(send_all(&mut output, 5), b"ab");
        assert_eq!(output.pending(), 0);
    }

    #[test]
    fn open_array_is_not_sent_before_its_head() {
        let mut output = ReplyBuffer::default();
        output.buffer.extend_from_slice(b"xyz");
        assert_eq!(output.sendable(0)[..1], *b"x");
        output.sent(1);
        output.open(3);
        output.hold(3, 9);
        output.buffer.extend_from_slice(b"....*1:5");
        assert_eq!(output.sendable(0), b"yz");
        output.close(4);
        assert_eq!(send_all(&mut output, 0), b"yz");
        assert_eq!(send_all(&mut output, 9), b"*1:5");
    }

    #[test]
    fn memory_does_not_grow_with_sent_bytes() {
        let mut output = ReplyBuffer::default();
        let piece = vec![7; 64 << 10];
        for _ in 0..1000 {
            output.buffer.extend_from_slice(&piece);
            output.buffer.push(1);
            let all_but_one = output.sendable(0).len() - 1;
            output.sent(all_but_one);
        }
        assert!(output.buffer.capacity() < 4 * DRAIN_BYTES, "{}", output.buffer.capacity());
        assert_eq!(output.pending(), 1);
    }
}
