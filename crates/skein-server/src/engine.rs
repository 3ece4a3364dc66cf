//! The seam to the store: every name of it that this crate uses, in one place.
//!
//! The server knows rows, writers and tickets, and no tree, log or file. Another engine that offers these
//! names can stand here.

pub(crate) use skein_store::{
    Change, Direction, Durability, Error, Release, RowRef, Session, Snapshot, Store, StoreStats, Ticket,
    VALUE_BYTES_MAX, Writer,
};
