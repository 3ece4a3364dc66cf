//! The connections of a worker by number, with their reply buffers beside them.
//!
//! There are two vectors instead of one, because a batch borrows its keys from many inputs while it
//! writes to many reply buffers.

use super::connection::Connection;
use super::reply_buffer::ReplyBuffer;

#[derive(Default)]
pub(super) struct ConnectionSlots {
    pub connections: Vec<Option<Box<Connection>>>,
    pub outputs: Vec<ReplyBuffer>,
    free: Vec<usize>,
}

impl ConnectionSlots {
    pub(super) fn insert(&mut self, make: impl FnOnce(usize) -> Option<Connection>) -> Option<usize> {
        let slot = self.free.last().copied().unwrap_or(self.connections.len());
        let connection = Some(Box::new(make(slot)?));
        if slot == self.connections.len() {
            self.connections.push(connection);
            self.outputs.push(ReplyBuffer::default());
        } else {
            self.free.pop();
            self.connections[slot] = connection;
        }
        Some(slot)
    }

    pub(super) fn remove(&mut self, slot: usize) -> Option<Box<Connection>> {
        let connection = self.connections.get_mut(slot)?.take()?;
        self.outputs[slot] = ReplyBuffer::default();
        self.free.push(slot);
        Some(connection)
    }

    #[inline]
    pub(super) fn get(&mut self, slot: usize) -> Option<(&mut Connection, &mut ReplyBuffer)> {
        let connection = self.connections.get_mut(slot)?.as_deref_mut()?;
        Some((connection, &mut self.outputs[slot]))
    }

    /// Takes a connection and its reply buffer out of its slot. Until it is put back, `get` finds
    /// nothing there, and the slot is not given to another connection.
    #[inline]
    pub(super) fn lift(&mut self, slot: usize) -> Option<(Box<Connection>, ReplyBuffer)> {
        let connection = self.connections.get_mut(slot)?.take()?;
        Some((connection, std::mem::take(&mut self.outputs[slot])))
    }

    #[inline]
    pub(super) fn put_back(&mut self, slot: usize, connection: Box<Connection>, output: ReplyBuffer) {
        self.connections[slot] = Some(connection);
        self.outputs[slot] = output;
    }

    /// Returns one more than the greatest slot that ever had a connection.
    pub(super) fn len(&self) -> usize {
        self.connections.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.connections.len()
    }

    pub(super) fn all(&self) -> Vec<usize> {
        (0..self.connections.len()).filter(|slot| self.connections[*slot].is_some()).collect()
    }
}
