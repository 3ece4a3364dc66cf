//! Copies the disk engine: the rows of a snapshot into a new store.
//!
//! Rows are collected in parts of about a megabyte, and written while nothing of the source is
//! held. The members of a large collection are read piece by piece, with a lookup for each.

use std::ops::{Bound, ControlFlow};
use std::path::Path;

use skein_data::{DiskEngine, Engine, EngineSession, EngineSnapshot, PieceRead, RowPiece};
use skein_disk::{DiskOptions, DiskStore, Values};
use skein_store::StoreLimits;

use crate::{Durability, Progress, Result};

/// A part ends with the row that reaches so many bytes or rows.
const PART_BYTES: usize = RowPiece::BYTES;
const PART_ROWS: usize = 4096;
/// The size of the copy's log segments: nothing is logged.
const SMALL_SEGMENT: u64 = 64 << 10;
/// The cache of a copy on disk: 16 MiB, since keys are inserted in order.
const CACHE_PAGES: usize = 4096;

/// Makes an empty store with the same trie in an empty folder. Nothing of it is durable before its
/// checkpoint.
fn new_store(of: &DiskStore, folder: &Path) -> Result<Engine> {
    let options = DiskOptions {
        shape: of.shape(),
        values: Values::Rows,
        cache_pages: CACHE_PAGES,
        durability: Durability::None,
        segment_bytes: SMALL_SEGMENT,
        ..DiskOptions::default()
    };
    Ok(DiskEngine::new(DiskStore::open(folder, options)?, StoreLimits::default())?.into())
}

/// A key with a piece of its contents and its time of expiry.
type KeyPiece = (Vec<u8>, RowPiece, Option<u64>);

/// The rows of one step over the snapshot.
#[derive(Default)]
struct Part {
    pieces: Vec<KeyPiece>,
    bytes: usize,
    /// The last member of the last row, if it may have more.
    more_members_after: Option<Vec<u8>>,
    /// Whether the step ended before the last row.
    more_rows: bool,
}

impl Part {
    /// Reads the next rows behind `lower`.
    fn read(snapshot: &EngineSnapshot, lower: Bound<&[u8]>) -> Result<Self> {
        let (mut part, mut failed) = (Self::default(), None);
        snapshot.walk((lower, Bound::Unbounded), PART_ROWS, |key, row| match row.piece_after(None) {
            Ok(read) => part.add(key, read, row.expires_at()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        })?;
        failed.map_or(Ok(part), |error| Err(error.into()))
    }

    fn add(&mut self, key: &[u8], read: PieceRead, expires: Option<u64>) -> ControlFlow<()> {
        self.bytes += key.len() + read.piece.bytes();
        self.pieces.push((key.to_vec(), read.piece, expires));
        self.more_members_after = read.more_after;
        let is_full = self.bytes >= PART_BYTES || self.pieces.len() >= PART_ROWS;
        self.more_rows = is_full || self.more_members_after.is_some();
        if self.more_rows { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Copies all rows into a new store in an empty folder. `progress` is called after each part, and
/// its error ends the copy.
pub(super) fn copy(
    of: &DiskEngine,
    folder: &Path,
    progress: &mut dyn FnMut(&Progress) -> Result<()>,
) -> Result<Progress> {
    let snapshot = Engine::from(of.clone()).snapshot()?;
    let copy = new_store(of.store(), folder)?;
    let copied = copy_rows(&snapshot, &copy, progress)?;
    // At `Durability::None` this makes the rows durable.
    copy.checkpoint()?;
    copy.close()?;
    Ok(copied)
}

fn copy_rows(
    snapshot: &EngineSnapshot,
    to: &Engine,
    progress: &mut dyn FnMut(&Progress) -> Result<()>,
) -> Result<Progress> {
    let (mut done, mut session) = (Progress::default(), to.session());
    let mut lower = Bound::Unbounded;
    loop {
        let part = Part::read(snapshot, lower.as_ref().map(Vec::as_slice))?;
        write(&mut session, &part.pieces)?;
        done.rows += part.pieces.len() as u64;
        done.bytes += part.bytes as u64;
        progress(&done)?;
        let Some((key, _, expires)) = part.pieces.into_iter().next_back() else { break };
        let mut after = part.more_members_after;
        while let Some(member) = after {
            let read = snapshot.get_with(&key, |row| row.map(|row| row.piece_after(Some(&member))))?;
            let Some(PieceRead { piece, more_after }) = read.transpose()? else { break };
            done.bytes += piece.bytes() as u64;
            write(&mut session, &[(key.clone(), piece, expires)])?;
            progress(&done)?;
            after = more_after;
        }
        if !part.more_rows {
            break;
        }
        lower = Bound::Excluded(key);
    }
    Ok(done)
}

fn write(session: &mut EngineSession, pieces: &[KeyPiece]) -> Result<()> {
    let (written, _) = session.keys().write(|writer| {
        pieces.iter().filter(|(_, piece, _)| !piece.is_empty()).try_for_each(|(key, piece, expires)| {
            writer.publish_if_many()?;
            piece.write(writer, key, *expires)
        })
    });
    Ok(written??)
}
