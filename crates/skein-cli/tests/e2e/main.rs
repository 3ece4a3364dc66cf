//! End to end: the real binary, started with a folder of its own, and used over the network and the
//! command line. One test program, so that it is linked once.

mod access;
mod bad_input;
mod check;
mod common;
mod copy;
mod disk;
mod disk_contents;
mod disk_folders;
mod documents;
mod external;
mod field_times;
mod file_faults;
#[path = "../../../skein-server/tests/common/free_port.rs"]
mod free_port;
mod full_disk;
mod functions;
mod kill;
mod load_dump;
mod log_dirs;
mod open_files;
mod operations;
mod options;
mod outcome;
mod range;
mod readme;
mod real_keys;
mod redis_files;
mod self_describing;
mod short_keys;
mod slow_start;
mod snapshots;
mod soak;
mod stats;
mod stop;
