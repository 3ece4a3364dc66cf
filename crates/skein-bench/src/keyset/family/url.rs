//! A model of the addresses of news and blogs: many articles on few sites, with their date in the
//! path.
//!
//! The number of sites grows with the number of keys, so that a site has as many articles in a
//! small set as in a large one.

use super::words::word;
use super::{KeyFamily, KeyRequest, KeySource, PaperFigures};
use crate::Result;
use crate::keyset::distribution::Zipf;
use crate::keyset::{SeededRandom, mix};

const ABOUT: &str = "a model of addresses: 'http://', a site of Zipf popularity, at half of the \
                     sites one of four sections, the date, a title of made-up words, '.html' at \
                     times";

pub static URL: KeyFamily =
    KeyFamily::new("url", ABOUT, |request| Ok(open(request))).papers(&[PaperFigures {
        source: "Wormhole, Table 1 (anchors, which end after the prefix that neighbours share, \
                 have about 40 bytes)",
        keys: Some(192_000_000),
        mean_bytes: Some(82.0),
        unique_prefix_bits: None,
    }]);

/// The mean number of addresses per site.
const ADDRESSES_PER_SITE: u64 = 300;

/// The exponent of sites, and of the words of titles.
const SITE_THETA: f64 = 0.9;

/// The number of words for titles.
const TITLE_WORDS: u64 = 30_000;

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    Box::new(UrlAddresses {
        sites: Zipf::new(request.one_in(ADDRESSES_PER_SITE), SITE_THETA),
        words: Zipf::new(TITLE_WORDS, SITE_THETA),
        seed: request.seed_of(1),
        random: request.random(),
    })
}

struct UrlAddresses {
    sites: Zipf,
    words: Zipf,
    seed: u64,
    random: SeededRandom,
}

impl UrlAddresses {
    /// Writes a site: its name, perhaps on a blog host. Returns whether its articles are in
    /// sections.
    fn site(&mut self, key: &mut Vec<u8>) {
        let rank = self.sites.rank(&mut self.random);
        let bits = mix(self.seed.wrapping_add(rank));
        key.extend(b"http://");
        let ends: &[&[u8]] = &[
            b".blogspot.com/",
            b".wordpress.com/",
            b".livejournal.com/",
            b".com/",
            b".com/",
            b".net/",
            b".org/",
        ];
        let end = (bits >> 8) as usize % ends.len();
        if end > 2 && !bits.is_multiple_of(4) {
            key.extend(b"www.");
        }
        word(bits, 2 + (bits >> 16) as usize % 2, key);
        key.extend(ends[end]);
        if (bits >> 24).is_multiple_of(2) {
            let sections: &[&[u8]] = &[b"news/", b"archives/", b"article/", b"blog/"];
            key.extend(sections[self.random.below(sections.len())]);
        }
    }

    /// Writes a day of the 9 months that the data set covers.
    fn date(&mut self, key: &mut Vec<u8>) {
        let (month, day) = (self.random.below(9), 1 + self.random.below(28));
        let (year, month) = if month < 5 { (2008, 8 + month) } else { (2009, month - 4) };
        key.extend(format!("{year}/{month:02}/{day:02}/").as_bytes());
    }

    fn title(&mut self, key: &mut Vec<u8>) {
        let words = 4 + self.random.below(4);
        for number in 0..words {
            if number > 0 {
                key.push(b'-');
            }
            let rank = self.words.rank(&mut self.random);
            // Frequent words are short.
            word(rank ^ 0x7469_746C, 1 + usize::from(rank > 100) + usize::from(rank > 3000), key);
        }
    }
}

impl KeySource for UrlAddresses {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        self.site(key);
        self.date(key);
        self.title(key);
        if self.random.below(2) == 0 {
            key.extend(b".html");
        }
        Ok(true)
    }
}
