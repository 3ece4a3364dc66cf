//! Operations on a whole database: backups and restores.

mod backup;
mod kills;
mod restore;
mod since;
