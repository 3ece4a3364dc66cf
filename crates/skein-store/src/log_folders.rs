//! Finds the log folders of a store, from the identity, the options and the folders on disk.
//!
//! `docs/format.md`, "Identity", numbers the rules that are cited here. They guard against a silent
//! loss. A log folder that is not mounted, not at its place, or mixed up with another one looks
//! like an empty folder. Without these rules, acknowledged writes would be lost without an error.

use std::path::{Path, PathBuf};

use skein_log::SegmentManifest;
use skein_log::storage::Storage;

use crate::identity::{Identity, LOG, LogFolder, StoreId, absolute};
use crate::{Error, Result, StoreOptions};

/// The log folders to use. So far only segment manifests of new folders were written.
#[derive(Debug)]
pub(crate) struct ResolvedLogFolders {
    pub(crate) identity: Identity,
    /// Folders of the identity that are missing and given up.
    pub(crate) given_up: Vec<LogFolder>,
}

/// Determines the log folders of the store in `data`.
pub(crate) fn resolve(
    storage: &dyn Storage,
    data: &Path,
    known: &Identity,
    options: &StoreOptions,
) -> Result<ResolvedLogFolders> {
    let mut named = named(options)?;
    let mut identity = known.clone();
    named.iter().try_for_each(|path| recognize(storage, &mut identity, &named, path))?;
    let given_up = given_up(storage, &identity, options)?;
    let is_given_up = |folder: &LogFolder| given_up.contains(folder);
    // Rule 2.
    if !named.is_empty() {
        for folder in &mut identity.log_folders {
            folder.active = named.contains(&folder.path);
        }
    } else if !identity.log_folders.iter().any(|folder| folder.active && !is_given_up(folder)) {
        named.push(data.join(LOG));
    }
    for path in &named {
        if !identity.log_folders.iter().any(|folder| folder.path == *path && !is_given_up(folder)) {
            let new = enter(storage, identity.id, path)?;
            identity.log_folders.push(new);
        }
    }
    // Rule 5.
    let mut kept = Vec::new();
    for folder in std::mem::take(&mut identity.log_folders) {
        let needed = folder.active
            || is_given_up(&folder)
            || SegmentManifest::read(storage, &folder.path)?.is_some_and(|roster| !roster.is_empty());
        if needed {
            kept.push(folder);
        } else {
            tracing::info!(folder = %folder.path.display(), "the log folder is empty and no longer needed");
        }
    }
    identity.log_folders = kept;
    Ok(ResolvedLogFolders { identity, given_up })
}

/// Returns the folders that the options name, as absolute paths.
fn named(options: &StoreOptions) -> Result<Vec<PathBuf>> {
    let mut named = Vec::new();
    for path in &options.log_folders {
        let path = absolute(path)?;
        if named.contains(&path) {
            return Err(bad_option(format!("{} is named twice; name it once", path.display())));
        }
        named.push(path);
    }
    Ok(named)
}

/// Checks to whom a named folder belongs. A known folder may have a new path (rule 4). Others are
/// rejected unless they are free (rules 3 and 6).
fn recognize(storage: &dyn Storage, identity: &mut Identity, named: &[PathBuf], path: &Path) -> Result<()> {
    let Some(roster) = roster_of(storage, identity.id, path)? else { return Ok(()) };
    let Some(folder) = identity.log_folders.iter_mut().find(|folder| folder.id == roster.folder) else {
        if roster.is_empty() {
            return Ok(());
        }
        return Err(bad_option(format!(
            "{} holds outdated logs of this store, from before it was given up; name another folder, or \
             empty this one",
            path.display()
        )));
    };
    if folder.path != path {
        let other = folder.path.display();
        if named.contains(&folder.path) {
            return Err(bad_option(format!(
                "{} and {other} are one folder, or copies; name one",
                path.display()
            )));
        }
        if is_there(storage, folder, identity.id)? && !storage_same(storage, &folder.path, path)? {
            return Err(bad_option(format!(
                "{} is a copy of the log folder {other}; name that one, or remove the outdated one",
                path.display()
            )));
        }
        path.clone_into(&mut folder.path);
    }
    Ok(())
}

/// Looks for all folders of the identity (rule 1). Returns those that are missing and given up
/// (rule 7).
fn given_up(storage: &dyn Storage, identity: &Identity, options: &StoreOptions) -> Result<Vec<LogFolder>> {
    let wanted = options.give_up_log_folders.iter().map(|path| absolute(path));
    let wanted = wanted.collect::<Result<Vec<PathBuf>>>()?;
    let missing = missing(storage, identity)?;
    let is_missing = |folder: &LogFolder| missing.iter().any(|(lost, _)| lost == folder);
    if let Some(path) = wanted
        .iter()
        .find(|path| identity.log_folders.iter().any(|folder| folder.path == **path && !is_missing(folder)))
    {
        let why = format!("{} is present, so it cannot be given up", path.display());
        return Err(Error::BadOption { name: "give_up_log_folders", why });
    }
    let (given_up, mut lost): (Vec<_>, Vec<_>) =
        missing.into_iter().partition(|(folder, _)| wanted.contains(&folder.path));
    match lost.pop() {
        Some((_, error)) => Err(error),
        None => Ok(given_up.into_iter().map(|(folder, _)| folder).collect()),
    }
}

/// Returns the folders of the identity that are missing, each with its error.
pub(crate) fn missing(storage: &dyn Storage, identity: &Identity) -> Result<Vec<(LogFolder, Error)>> {
    let mut missing = Vec::new();
    for folder in &identity.log_folders {
        if !is_there(storage, folder, identity.id)? {
            missing.push((folder.clone(), Error::LogFolderMissing { path: folder.path.clone() }));
        }
    }
    Ok(missing)
}

/// Returns whether a folder is at the path in the identity.
fn is_there(storage: &dyn Storage, folder: &LogFolder, id: StoreId) -> Result<bool> {
    Ok(roster_of(storage, id, &folder.path)?.is_some_and(|roster| roster.folder == folder.id))
}

/// Returns the segment manifest in a folder. Errors if it belongs to another store.
fn roster_of(storage: &dyn Storage, id: StoreId, path: &Path) -> Result<Option<SegmentManifest>> {
    match SegmentManifest::read(storage, path)? {
        Some(roster) if roster.database != id.0 => Err(Error::Foreign {
            path: path.to_owned(),
            found: StoreId(roster.database).to_string(),
            id: id.to_string(),
        }),
        roster => Ok(roster),
    }
}

/// Adds a folder that is new to the store, or empty.
fn enter(storage: &dyn Storage, id: StoreId, path: &Path) -> Result<LogFolder> {
    let roster = match roster_of(storage, id, path)? {
        Some(roster) => roster,
        None => SegmentManifest::create(storage, path, id.0)?,
    };
    Ok(LogFolder { id: roster.folder, active: true, path: path.to_owned() })
}

fn storage_same(storage: &dyn Storage, a: &Path, b: &Path) -> Result<bool> {
    storage.same_dir(a, b).map_err(|error| Error::io("look at", b, &error))
}

fn bad_option(why: String) -> Error {
    Error::BadOption { name: "log_folders", why }
}
