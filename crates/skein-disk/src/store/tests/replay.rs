//! Replay of the log's records that are later than the file.

use std::sync::atomic::Ordering;

use skein_log::OpenProgress;
use skein_log::storage::sim::SimStorage;

use super::{FOLDER, open};
use crate::store::inspect;
use crate::trie::tests::remove::{SCATTERED, lay_out_scattered};

/// Incident: a compaction merged pages but its last checkpoint was never taken, a key was removed
/// from the merged pages, and the machine died. Consequence: the replayed removal failed in the old
/// layout (`a_page_that_loses_two_nodes_is_tidied_once`), and the store could not be opened. Fix:
/// as there; a removal depends on no layout.
#[test]
fn a_removal_is_replayed_in_another_page_layout() {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    let versions = SCATTERED.map(|key| store.set(key, b"value").unwrap());
    let mut writer = store.shared.buffer.write();
    lay_out_scattered(&mut writer, store.shared.spaces.main(), versions);
    writer.publish().unwrap();
    assert_eq!(store.check().unwrap().main.pages, 3);
    store.checkpoint().unwrap();
    assert!(store.shared.merge(&OpenProgress::default()).unwrap() > 0);
    assert_eq!(store.check().unwrap().main.pages, 1);
    assert!(store.remove(SCATTERED[0]).unwrap());
    storage.cut_power_at(storage.operations() + 1);
    drop(store);
    storage.reboot(1);
    let store = open(&storage).unwrap();
    assert_eq!(store.stats().replayed, 1);
    assert_eq!(store.check().unwrap().main.keys, 1);
    assert_eq!(store.get(SCATTERED[0]).unwrap(), None);
    assert_eq!(store.get(SCATTERED[1]).unwrap().as_deref(), Some(&b"value"[..]));
}

/// Incident: replay accepted any write with a number greater than the last. Consequence: if a write
/// was missing in the log, the store opened without it and without a message, and so did `inspect`.
/// Fix: the number must be the next one, and the error names the file and the offset.
#[test]
fn a_gap_in_write_numbers_is_damage() {
    let storage = SimStorage::new();
    let store = open(&storage).unwrap();
    let last = store.set(b"first", b"1").unwrap();
    // The missing write.
    store.shared.sequence.fetch_add(1, Ordering::Relaxed);
    store.set(b"third", b"3").unwrap();
    storage.cut_power_at(storage.operations() + 1);
    drop(store);
    storage.reboot(1);
    let wanted = format!("write {} follows write {last}, but write {} should", last + 2, last + 1);
    let mut errors = vec![open(&storage).unwrap_err().to_string()];
    errors.extend(inspect(FOLDER, &storage).unwrap().damage.iter().map(ToString::to_string));
    assert_eq!(errors.len(), 2, "{errors:?}");
    for error in errors {
        assert!(error.contains(&wanted), "{error}");
        assert!(error.contains("/db/log/") && error.contains("at byte"), "{error}");
    }
}
