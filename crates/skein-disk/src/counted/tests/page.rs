use crate::counted::key_page::{CountedChild, KeyPage};
use crate::counted::key_page_mut::KeyPageMut;
use crate::counted::key_search::KeySearch;
use crate::counted::long_key::StoredKey;
use crate::page::PageId;
use crate::record::BODY;

fn stored(key: &[u8]) -> StoredKey<'_> {
    StoredKey { inline: key.into(), chain: None }
}

/// Keys with heads that are equal only because they are filled up with zeros.
#[test]
fn keys_that_end_with_zeros_differ() {
    let keys: [&[u8]; 9] =
        [b"", b"a", b"a\0", b"a\0\0", b"a\0\0\0", b"a\0\0\0\0", b"a\0\0\0\x01", b"a\0\x01", b"b"];
    let mut body = [0; BODY];
    let mut page = KeyPageMut::clear(&mut body, 0, b"");
    for (key, at) in keys.iter().zip(0..) {
        assert_eq!(page.read().search(key), Ok(KeySearch::At(Err(at))));
        assert_eq!(page.insert(at, &stored(key), CountedChild::NONE), Ok(true));
    }
    for (key, at) in keys.iter().zip(0..) {
        assert_eq!(page.read().search(key), Ok(KeySearch::At(Ok(at))));
    }
    page.remove(2..5).unwrap();
    assert_eq!(page.read().search(b"a\0"), Ok(KeySearch::At(Err(2))));
    assert_eq!(page.read().search(b"a\0\0\0\0"), Ok(KeySearch::At(Ok(2))));
}

#[test]
fn counts_of_each_width_add_up() {
    for (level, most) in
        [(1, u64::from(u16::MAX)), (2, u32::MAX.into()), (3, u32::MAX.into()), (4, u64::MAX / 8)]
    {
        let mut body = [0; BODY];
        let mut page = KeyPageMut::clear(&mut body, level, b"");
        page.insert_first_child(CountedChild { page: PageId(1), count: most }).unwrap();
        for at in 1..4_u8 {
            let child = CountedChild { page: PageId(at.into()), count: at.into() };
            assert!(page.insert(at.into(), &stored(&[at]), child).unwrap());
        }
        assert_eq!([0, 1, 2, 4].map(|end| page.read().count_before(end)), [0, most, most + 1, most + 6]);
        assert_eq!(page.read().entry_of_rank(most), Some((1, most)));
        assert_eq!(page.read().entry_of_rank(most + 6), None);
        assert!(page.subtract(1, 2).unwrap_err().contains("its count 1 is 1, less than 2"));
        if level < 4 {
            assert!(page.add(0, 1).unwrap_err().contains("cannot have"));
        }
        page.remove_child(0).unwrap();
        let first = CountedChild { page: PageId(1), count: 1 };
        assert_eq!((page.read().counted_child(0), page.read().len()), (Ok(first), 3));
        assert_eq!(page.read().search(&[2]), Ok(KeySearch::At(Ok(1))), "the first separator is removed");
    }
}

#[test]
fn a_page_with_an_impossible_head_is_an_error() {
    let mut body = [0; BODY];
    assert!(KeyPage::of(&body).is_ok());
    for (at, byte) in [(1, 1), (3, 0xff), (5, 0xff), (7, 0xff), (8, 1), (0, 1)] {
        body[at] = byte;
        assert!(KeyPage::of(&body).unwrap_err().contains("its head is impossible"), "byte {at}");
        body[at] = 0;
    }
}
