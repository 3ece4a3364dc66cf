//! Random numbers, keys and values.

/// `SplitMix64` (Steele, Lea and Flood, 2014).
#[derive(Debug)]
pub struct SplitMixDraw(pub u64);

/// The style of the keys in a sequence.
#[derive(Clone, Copy, Debug)]
pub enum KeyStyle {
    /// A few bytes of few different values.
    Short,
    /// Numbers behind a common prefix.
    Numbered,
    /// Prefixes of each other, hundreds of bytes long.
    Nested,
    /// The longest keys of the trie, which differ in one byte.
    Longest(usize),
    /// Up to this many bytes. Every hundredth byte is one of two.
    Sparse(usize),
    /// Two or three bytes of any value.
    Dense,
    /// A random style for each key.
    Mixed(usize),
}

/// The longest sparse key.
pub const SPARSE_MOST: usize = 600;

impl SplitMixDraw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub fn key(&mut self, style: KeyStyle) -> Vec<u8> {
        match style {
            KeyStyle::Short => (0..self.below(6)).map(|_| self.of(b"ab\x00\xff")).collect(),
            KeyStyle::Numbered => format!("goose {}", self.below(400)).into_bytes(),
            KeyStyle::Nested => {
                let mut key = vec![b'p'; self.below(4) * 150 + self.below(3)];
                key.extend((0..self.below(3)).map(|_| self.of(b"abc")));
                key
            }
            KeyStyle::Longest(most) => {
                let len = match self.below(4) {
                    0 => most,
                    1 => most - self.below(3),
                    _ => most / 2 + self.below(most / 2),
                };
                let mut key = vec![b'x'; len];
                key[self.of(&[0, len / 2, len - 1])] = self.of(b"abcd");
                key
            }
            KeyStyle::Sparse(most) => {
                let len = 1 + self.below(most);
                (0..len).map(|at| if at % 100 == 0 { self.of(b"ab") } else { b'z' }).collect()
            }
            KeyStyle::Dense => (0..2 + self.below(2)).map(|_| self.next() as u8).collect(),
            KeyStyle::Mixed(most) => {
                let longest = KeyStyle::Longest(most);
                let style = self.of(&[
                    KeyStyle::Short,
                    KeyStyle::Numbered,
                    KeyStyle::Nested,
                    KeyStyle::Dense,
                    KeyStyle::Sparse(most.min(SPARSE_MOST)),
                    longest,
                ]);
                self.key(style)
            }
        }
    }

    /// Returns a value; the longest one takes `pages` pages. Lengths lie around those at which a
    /// value is stored elsewhere.
    pub fn value(&mut self, pages: usize) -> Vec<u8> {
        let len = match self.below(12) {
            0..=4 => self.below(30),
            5 | 6 => self.below(300),
            7 => 240 + self.below(30),
            8 => 1_020 + self.below(10),
            9 => 900 + self.below(200),
            10 => 4_070 + self.below(12),
            _ => self.below(4_096 * pages),
        };
        let first = self.next() as u8;
        (0..len).map(|at| first.wrapping_add((at / 7) as u8)).collect()
    }

    /// Returns a value for shapes in the paper's layout.
    pub fn integer(&mut self) -> Vec<u8> {
        (self.next() as i32).to_string().into_bytes()
    }
}
