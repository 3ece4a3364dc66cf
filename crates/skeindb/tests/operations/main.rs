//! Operations on a whole database: backups, and what comes back from them.

mod backup;
mod kills;
mod restore;
mod since;
