//! Search for words in texts: for each word, the documents that have it, in order.
//!
//! ```text
//!   documents   number             → text
//!   words       word, 0, number    → how often
//! ```
//!
//! `cargo run -p skeindb --example inverted_index`

use std::collections::BTreeMap;

use skeindb::{Batch, Db, Keyspace, Result, Snapshot};

pub(crate) fn main() -> Result<()> {
    let texts = Texts::new(&Db::in_memory()?)?;
    texts.add(1, "The grey goose flies to the lake")?;
    texts.add(2, "A swan is no goose")?;
    texts.add(3, "The lake is grey in winter, grey as a goose")?;
    assert_eq!(texts.with_all(&["goose", "grey"])?, [1, 3]);
    assert_eq!(texts.with_all(&["goose", "swan", "lake"])?, [0u32; 0]);
    assert_eq!(texts.words_that_begin_with("g")?, ["goose", "grey"]);
    texts.remove(3)?;
    assert_eq!(texts.with_all(&["grey"])?, [1]);
    println!("grey and goose: {:?}", texts.with_all(&["grey", "goose"])?);
    Ok(())
}

/// The texts and their words.
struct Texts {
    db: Db,
    documents: Keyspace,
    words: Keyspace,
}

fn words_of(text: &str) -> BTreeMap<String, u32> {
    let mut counts = BTreeMap::new();
    for word in text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()) {
        *counts.entry(word.to_lowercase()).or_default() += 1;
    }
    counts
}

fn entry(word: &str, number: u32) -> Vec<u8> {
    [word.as_bytes(), &[0], &number.to_be_bytes()].concat()
}

impl Texts {
    fn new(db: &Db) -> Result<Self> {
        Ok(Self { db: db.clone(), documents: db.keyspace("documents")?, words: db.keyspace("words")? })
    }

    /// Adds a document with all its words, or nothing.
    fn add(&self, number: u32, text: &str) -> Result<()> {
        let mut batch = Batch::new();
        batch.insert(&self.documents, number.to_be_bytes(), text);
        for (word, count) in words_of(text) {
            batch.insert(&self.words, entry(&word, number), count.to_be_bytes());
        }
        self.db.apply(batch)
    }

    /// Removes a document with all its words.
    fn remove(&self, number: u32) -> Result<()> {
        self.db.transaction(|tx| {
            let Some(text) = tx.get(&self.documents, number.to_be_bytes())? else { return Ok(()) };
            for word in words_of(&String::from_utf8_lossy(&text)).keys() {
                tx.remove(&self.words, entry(word, number))?;
            }
            tx.remove(&self.documents, number.to_be_bytes()).map(drop)
        })
    }

    /// Returns the documents that have all the words: their lists are in order, so each list seeks
    /// to the next document of the others.
    fn with_all(&self, words: &[&str]) -> Result<Vec<u32>> {
        let now = self.db.snapshot()?;
        let (mut found, mut from) = (Vec::new(), 0);
        'documents: loop {
            let wanted = from;
            for word in words {
                match self.first_from(&now, word, from)? {
                    None => break 'documents,
                    Some(number) => from = number,
                }
            }
            if from == wanted && !words.is_empty() {
                found.push(from);
                from += 1;
            } else if words.is_empty() {
                break;
            }
        }
        Ok(found)
    }

    /// Returns the first document with a word, among those numbered `from` or higher.
    fn first_from(&self, now: &Snapshot, word: &str, from: u32) -> Result<Option<u32>> {
        let rows = now.range(&self.words, entry(word, from)..=entry(word, u32::MAX)).next().transpose()?;
        Ok(rows.and_then(|(key, _)| key.last_chunk().copied().map(u32::from_be_bytes)))
    }

    /// Returns the words that begin with `prefix`, without visiting their documents.
    fn words_that_begin_with(&self, prefix: &str) -> Result<Vec<String>> {
        let (mut words, mut rows) = (Vec::new(), self.words.prefix(prefix));
        while let Some((key, _)) = rows.next().transpose()? {
            let word = key.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
            rows.seek([&word[..], &[1]].concat());
            words.push(String::from_utf8_lossy(&word).into_owned());
        }
        Ok(words)
    }
}
