//! `BitBase`'s `editstr(n,m)`: each key is the previous key with one character drawn again.

use super::randstr::{PAPER, PARAMETERS, alphabet, space};
use super::{KeyFamily, KeyRequest, KeySource, NameSuffix, SourceOrder};
use crate::Result;
use crate::keyset::SeededRandom;

const ABOUT: &str = "strings of N characters, each one of M as in randstr; the first is random, \
                     each next one is the one before with the character at a random place replaced \
                     by a random one. The set keeps that order, without repeated keys";

pub static EDITSTR: KeyFamily = KeyFamily::new("editstr", ABOUT, |request| Ok(open(request)))
    .taking(NameSuffix::Numbers(PARAMETERS), "editstr(16,26)")
    .papers(PAPER)
    .order(SourceOrder::Kept);

fn open(request: &KeyRequest) -> Box<dyn KeySource> {
    let (length, letters) = (request.numbers[0] as usize, request.numbers[1]);
    let (alphabet, mut random) = (alphabet(letters), request.random());
    let string = (0..length).map(|_| alphabet[random.below(alphabet.len())]).collect();
    Box::new(EditedStrings { alphabet, string, space: space(length, letters), random })
}

struct EditedStrings {
    alphabet: Vec<u8>,
    string: Vec<u8>,
    space: Option<u64>,
    random: SeededRandom,
}

impl KeySource for EditedStrings {
    fn next(&mut self, key: &mut Vec<u8>) -> Result<bool> {
        key.extend(&self.string);
        let place = self.random.below(self.string.len());
        self.string[place] = self.alphabet[self.random.below(self.alphabet.len())];
        Ok(true)
    }

    fn space(&self) -> Option<u64> {
        self.space
    }
}

#[cfg(test)]
mod tests {
    use crate::keyset::{make, open};

    fn differences(a: &[u8], b: &[u8]) -> usize {
        a.iter().zip(b).filter(|(a, b)| a != b).count()
    }

    #[test]
    fn each_key_differs_from_the_one_before_in_one_place_at_most() {
        let mut source = open("editstr(12,5)", 1000, 3).expect("a good name");
        let (mut before, mut same) = (Vec::new(), 0);
        for n in 0..1000 {
            let mut key = Vec::new();
            assert!(source.next(&mut key).expect("a generator"));
            if n > 0 {
                assert!(differences(&before, &key) <= 1);
                same += usize::from(before == key);
            }
            before = key;
        }
        // One draw in 5 returns the old character.
        assert!((150..250).contains(&same), "{same}");
    }

    #[test]
    fn absent_keys_are_drawn_from_the_whole_sequence() {
        let set = make("editstr(16,26)", 3000, 1000, 3).expect("a good name");
        assert_eq!((set.keys.len(), set.absent.len()), (3000, 1000));
        let near = (1..3000).filter(|&n| differences(set.keys.get(n - 1), set.keys.get(n)) <= 4).count();
        assert!(near > 2900, "{near}");
        assert!(set.duplicates_dropped > 0);
    }

    #[test]
    fn every_string_of_a_small_space_is_found() {
        let set = make("editstr(4,3)", 80, 1, 1).expect("as many as there are");
        assert_eq!(set.keys.len() + set.absent.len(), 81);
        assert!(make("editstr(4,3)", 81, 1, 1).is_err());
        assert_eq!(make("editstr(4,1)", 1, 0, 1).expect("one").keys.get(0), b"aaaa");
    }
}
