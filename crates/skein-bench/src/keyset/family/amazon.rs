//! Models of the metadata of product reviews: `az1` is item-user-time, `az2` user-item-time.
//!
//! Items and users are drawn by Zipf. Their numbers grow with the number of keys. So an item has as
//! many reviews in a small set as in a large one, and prefixes are equally long.

use super::words::base_36;
use super::{KeyFamily, KeyRequest, KeySource, PaperFigures};
use crate::Result;
use crate::keyset::distribution::Zipf;
use crate::keyset::{SeededRandom, mix};

const ABOUT_1: &str = "a model of reviews, item-user-time: item ('B00' and 7 of 0 to 9, A to Z), \
                       '-', user ('A', one of 1 to 3, and 11 or 12 of 0 to 9, A to Z), '-', the \
                       second at which one of 4,600 days began; Zipf popularity of items and users";
const ABOUT_2: &str = "the same model, user-item-time";

const fn wormhole() -> PaperFigures {
    PaperFigures {
        source: "Wormhole, Table 1",
        keys: Some(142_000_000),
        mean_bytes: Some(40.0),
        unique_prefix_bits: None,
    }
}

pub static AZ1: KeyFamily = KeyFamily::new("az1", ABOUT_1, |request| Ok(ReviewKeys::open(request, true)))
    .papers(&[
        PaperFigures {
            source: "Cuckoo Trie, Table 1",
            keys: Some(82_000_000),
            mean_bytes: Some(35.7),
            unique_prefix_bits: Some(138.2),
        },
        wormhole(),
    ]);

pub static AZ2: KeyFamily =
    KeyFamily::new("az2", ABOUT_2, |request| Ok(ReviewKeys::open(request, false))).papers(&[wormhole()]);

/// The mean number of reviews per item and per user.
const REVIEWS_PER_ITEM: u64 = 15;
const REVIEWS_PER_USER: u64 = 7;

/// The exponents of items and users, fitted to the unique prefixes.
const ITEM_THETA: f64 = 0.9;
const USER_THETA: f64 = 0.92;

/// One user name in this many is a character shorter.
const ONE_SHORT_IN: u64 = 3;

struct ReviewKeys {
    item_first: bool,
    items: Zipf,
    users: Zipf,
    item_seed: u64,
    user_seed: u64,
    random: SeededRandom,
}

impl ReviewKeys {
    fn open(request: &KeyRequest, item_first: bool) -> Box<dyn KeySource> {
        Box::new(Self {
            item_first,
            items: Zipf::new(request.one_in(REVIEWS_PER_ITEM), ITEM_THETA),
            users: Zipf::new(request.one_in(REVIEWS_PER_USER), USER_THETA),
            item_seed: request.seed_of(1),
            user_seed: request.seed_of(2),
            random: request.random(),
        })
    }

    fn item(&mut self, key: &mut Vec<u8>) {
        let rank = self.items.rank(&mut self.random);
        key.extend(b"B00");
        base_36(mix(self.item_seed.wrapping_add(rank)), 7, key);
    }

    fn user(&mut self, key: &mut Vec<u8>) {
        let rank = self.users.rank(&mut self.random);
        let bits = mix(self.user_seed.wrapping_add(rank));
        key.push(b'A');
        key.push(b'1' + (bits >> 32) as u8 % 3);
        base_36(bits, 11, key);
        if !mix(bits).is_multiple_of(ONE_SHORT_IN) {
            base_36(mix(bits) >> 32, 1, key);
        }
    }
}

impl KeySource for ReviewKeys {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        if self.item_first {
            self.item(key);
            key.push(b'-');
            self.user(key);
        } else {
            self.user(key);
            key.push(b'-');
            self.item(key);
        }
        key.push(b'-');
        // From September 2001 on, when seconds since 1970 have 10 digits.
        let day = 11_575 + self.random.below(4_600);
        key.extend((day * 86_400).to_string().as_bytes());
        Ok(true)
    }
}
