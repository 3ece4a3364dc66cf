//! Iterators: both ends, seeks, bounds, long ranges.

use std::ops::Bound;

use crate::common::{keys, on_every_kind};

#[test]
fn the_ends_meet_without_a_gap_or_a_repetition() {
    on_every_kind(|db| {
        let numbers = db.keyspace("numbers")?;
        let all: Vec<[u8; 4]> = (0..3000u32).map(u32::to_be_bytes).collect();
        assert_eq!(numbers.bulk_load(all.iter().map(|key| (key, "a number")))?, 3000);
        for step in [1, 2, 7, 100] {
            let mut iter = numbers.keys();
            let (mut front, mut back) = (Vec::new(), Vec::new());
            let mut turn = 0;
            while let Some(key) = if turn % step == 0 { iter.next() } else { iter.next_back() } {
                (if turn % step == 0 { &mut front } else { &mut back }).push(key?);
                turn += 1;
            }
            assert!(iter.next().is_none() && iter.next_back().is_none());
            back.reverse();
            front.extend(back);
            assert_eq!(front, all);
        }
        Ok(())
    });
}

#[test]
fn bounds_of_all_kinds_are_kept() {
    on_every_kind(|db| {
        let letters = db.keyspace("letters")?;
        for key in ["a", "b", "c", "d"] {
            letters.insert(key, "")?;
        }
        assert_eq!(keys(letters.range("b".."d"))?, ["b", "c"]);
        assert_eq!(keys(letters.range("b"..="d"))?, ["b", "c", "d"]);
        assert_eq!(keys(letters.range(.."b"))?, ["a"]);
        assert_eq!(keys(letters.range::<&[u8]>(..))?, ["a", "b", "c", "d"]);
        assert_eq!(keys(letters.range::<&str>((Bound::Excluded("b"), Bound::Included("c"))))?, ["c"]);
        assert_eq!(keys(letters.range(String::from("c")..))?, ["c", "d"]);
        assert_eq!(keys(letters.range(vec![b'c']..).rev())?, ["d", "c"]);
        let reversed = letters.range("d".."a");
        assert_eq!(reversed.count(), 0);
        assert_eq!(letters.next_after("b")?.expect("c").0, b"c");
        assert_eq!(letters.next_before("b")?.expect("a").0, b"a");
        assert!(letters.next_after("d")?.is_none() && letters.next_before("a")?.is_none());
        Ok(())
    });
}

#[test]
fn prefixes_end_where_they_should() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        for key in [&b"a"[..], b"a\xff", b"a\xff\xff", b"b", b"\xff", b"\xff\xff"] {
            rows.insert(key, "")?;
        }
        assert_eq!(rows.prefix("a").count(), 3);
        assert_eq!(rows.prefix(b"a\xff").count(), 2);
        assert_eq!(rows.prefix(b"\xff").count(), 2);
        assert_eq!(rows.prefix("").count(), 6);
        assert_eq!(rows.remove_prefix(b"a\xff")?, 2);
        assert_eq!(rows.len()?, 4);
        Ok(())
    });
}

#[test]
fn an_iterator_goes_on_beside_writers_and_on_another_thread() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        for number in 0..1000u32 {
            rows.insert(number.to_be_bytes(), "old")?;
        }
        let snapshot = db.snapshot()?;
        let (mut present, mut past) = (rows.iter(), snapshot.iter(&rows));
        present.next().transpose()?;
        past.next().transpose()?;
        rows.remove_range(500u32.to_be_bytes()..)?;
        rows.insert(400u32.to_be_bytes(), "new")?;
        let counted = std::thread::spawn(move || {
            let past: Vec<_> = past.collect::<skeindb::Result<_>>()?;
            Ok::<_, skeindb::Error>((present.collect::<skeindb::Result<Vec<_>>>()?, past))
        });
        let (present, past) = counted.join().expect("it ends")?;
        assert_eq!((present.len(), past.len()), (499, 999));
        assert!(past.iter().all(|(_, value)| value == b"old"));
        assert!(present.iter().any(|(_, value)| value == b"new"));
        Ok(())
    });
}

#[test]
fn long_values_are_read_in_small_chunks() {
    on_every_kind(|db| {
        let rows = db.keyspace("rows")?;
        let value = vec![7; 100_000];
        for number in 0..40u8 {
            rows.insert([number], &value)?;
        }
        let mut iter = rows.iter();
        iter.next().transpose()?;
        assert!(iter.size_hint().0 < 10, "256 KiB of values at most: {:?}", iter.size_hint());
        assert_eq!(iter.map(|row| row.map_or(0, |row| row.1.len())).sum::<usize>(), 39 * 100_000);
        Ok(())
    });
}

#[test]
fn keys_of_a_range_are_those_of_its_moment() {
    on_every_kind(|db| {
        let letters = db.keyspace("letters")?;
        for key in ["a", "b", "c", "d"] {
            letters.insert(key, "value")?;
        }
        let snapshot = db.snapshot()?;
        let mut tx = db.begin()?;
        tx.insert(&letters, "bb", "")?;
        letters.remove("c")?;
        let all = |keys: skeindb::Keys<'_>| keys.collect::<skeindb::Result<Vec<_>>>();
        assert_eq!(all(snapshot.keys_in(&letters, "b".."d"))?, [b"b", b"c"]);
        assert_eq!(all(tx.keys_in(&letters, "b".."c"))?, [&b"b"[..], b"bb"]);
        letters.insert("bc", "")?;
        let conflict = tx.commit().expect_err("a key has come into the range");
        assert_eq!(conflict.kind(), skeindb::ErrorKind::Conflict);
        Ok(())
    });
}

#[test]
fn a_first_chunk_has_as_many_rows_as_asked() {
    on_every_kind(|db| {
        let numbers = db.keyspace("numbers")?;
        numbers.bulk_load((0..1000u32).map(|number| (number.to_be_bytes(), "a number")))?;
        for (asked, read) in [(0, 1), (1, 1), (100, 100), (5000, 512)] {
            let mut iter = numbers.iter().chunk_rows(asked);
            iter.next().transpose()?;
            assert_eq!(iter.size_hint().0, read - 1);
            let mut keys = numbers.keys().chunk_rows(asked);
            keys.next_back().transpose()?;
            assert_eq!(keys.size_hint().0, read - 1);
            assert_eq!((iter.count(), keys.count()), (999, 999));
        }
        Ok(())
    });
}
