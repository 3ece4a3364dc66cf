//! Keys, and the values that a server must have for them now.
//!
//! A value follows from its key's number and its generation: how often it was put. So nothing but a byte per value is kept.

use crate::keyset::{PackedKeys, mix};
use crate::rival::server::{
    COLUMNS, DialectRequest, KeyValuePair, NeighbourKeys, NeighbourRows, RowColumns, score,
};
use crate::workload::requests::{RequestOp, ScriptRequest};

/// What a key holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueShape {
    /// One value of so many bytes, which are 8 or more.
    Values(usize),
    /// Columns.
    Columns,
}

/// The order of the keys, for ranges.
#[derive(Debug)]
pub struct KeyOrder {
    /// The numbers of the keys, in their order.
    numbers: Vec<u32>,
    /// For each key, by number, its place in that order.
    places: Vec<u32>,
}

impl KeyOrder {
    /// Of keys whose numbers come in this order.
    pub fn new(numbers: Vec<u32>) -> Self {
        let mut places = vec![0; numbers.len()];
        for (place, &number) in numbers.iter().enumerate() {
            places[number as usize] = place as u32;
        }
        Self { numbers, places }
    }
}

/// Keys and values.
#[derive(Debug, Clone)]
pub struct ExpectedTable<'a> {
    /// The keys.
    pub keys: &'a PackedKeys,
    /// What they hold.
    pub shape: ValueShape,
    order: Option<&'a KeyOrder>,
    /// How far the keys of one request lie from each other, by number.
    stride: usize,
    /// Keys that are loaded: those with the lowest numbers.
    loaded: usize,
    /// Which of the others were added since.
    added: Vec<bool>,
    /// How often each value was put, by key and then by column; wrapping.
    generations: Vec<u8>,
    /// The value that is being asked for.
    value: Vec<u8>,
}

impl<'a> ExpectedTable<'a> {
    /// As it is loaded: each value in its first generation.
    pub fn new(keys: &'a PackedKeys, shape: ValueShape) -> Self {
        let (each, bytes) = match shape {
            ValueShape::Values(bytes) => (1, bytes),
            ValueShape::Columns => (COLUMNS, 0),
        };
        Self {
            keys,
            shape,
            order: None,
            stride: 1,
            loaded: keys.len(),
            added: Vec::new(),
            generations: vec![0; each * keys.len()],
            value: vec![b'.'; bytes],
        }
    }

    /// With the keys' order, which ranges need.
    #[must_use]
    pub fn ordered(mut self, order: &'a KeyOrder) -> Self {
        self.order = Some(order);
        self
    }

    /// For a client that asks for a key on the lane of its number, one of so many: keys of one request are of one lane, and lie far from each
    /// other. REQUIRES: the number of keys is a multiple of that of lanes.
    #[must_use]
    pub fn on_lanes(mut self, lanes: usize) -> Self {
        // A prime, so that a request has no key twice.
        const FAR: usize = 9973;
        assert!(self.keys.len().is_multiple_of(lanes), "keys of all lanes alike");
        self.stride = FAR * lanes;
        self
    }

    /// With only the first so many keys loaded; the others may be added.
    #[must_use]
    pub fn loading(mut self, first: usize) -> Self {
        self.loaded = first.min(self.keys.len());
        self.added = vec![false; self.keys.len() - self.loaded];
        self
    }

    /// How many keys are loaded.
    pub fn loaded(&self) -> usize {
        self.loaded
    }

    fn is_there(&self, number: u32) -> bool {
        let added = (number as usize).checked_sub(self.loaded);
        added.is_none_or(|added| self.added[added])
    }

    /// The bytes of all keys and values.
    pub fn bytes(&self) -> u64 {
        let each = match self.shape {
            ValueShape::Values(bytes) => bytes,
            ValueShape::Columns => size_of::<RowColumns>(),
        };
        (self.keys.byte_len() + each * self.keys.len()) as u64
    }

    /// The request that puts a key there for the first time.
    pub fn add(&mut self, number: usize, ask: impl FnOnce(DialectRequest<'_>)) {
        match self.shape {
            ValueShape::Values(_) => {
                self.fill(number);
                ask(DialectRequest::Add(self.keys.get(number), &self.value));
            }
            ValueShape::Columns => ask(DialectRequest::AddRow(self.keys.get(number), &self.columns(number))),
        }
    }

    /// Makes a request of what is asked, with what must answer it; puts count as done.
    pub fn request<T>(&mut self, asking: ScriptRequest, ask: impl FnOnce(DialectRequest<'_>) -> T) -> T {
        let number = asking.number as usize;
        let key = self.keys.get(number);
        match (asking.ask, self.shape) {
            (RequestOp::Ping, _) => ask(DialectRequest::Ping),
            (RequestOp::Get, ValueShape::Values(_)) => {
                self.fill(number);
                ask(DialectRequest::Get(key, &self.value))
            }
            (RequestOp::Get, ValueShape::Columns) => ask(DialectRequest::GetRow(key, &self.columns(number))),
            (RequestOp::Put | RequestOp::PutAgain, ValueShape::Values(_)) => {
                self.put(asking, number);
                self.fill(number);
                ask(DialectRequest::Set(key, &self.value))
            }
            (RequestOp::Put | RequestOp::PutAgain, ValueShape::Columns) => {
                let column = usize::from(asking.column);
                self.put(asking, COLUMNS * number + column);
                ask(DialectRequest::SetColumn(key, column, &self.column(number, column)))
            }
            (RequestOp::Range, _) => self.range(asking, ask),
            (RequestOp::Add, _) => {
                self.added[number - self.loaded] = true;
                let mut done = None;
                self.add(number, |request| done = Some(ask(request)));
                done.expect("it asks once")
            }
            (RequestOp::Keys, _) => self.key_range(asking, ask),
            (RequestOp::GetMany, _) => ask(DialectRequest::GetMany(&self.together(asking))),
            (RequestOp::PutMany, _) => {
                for number in self.numbers(asking) {
                    self.generations[number] = self.generations[number].wrapping_add(1);
                }
                ask(DialectRequest::SetMany(&self.together(asking)))
            }
        }
    }

    /// The keys of one request, by number.
    fn numbers(&self, asking: ScriptRequest) -> impl Iterator<Item = usize> + use<> {
        let (number, stride, keys) = (asking.number as usize, self.stride, self.keys.len());
        (0..usize::from(asking.count)).map(move |i| (number + i * stride) % keys)
    }

    /// The keys of one request, and their values.
    fn together(&mut self, asking: ScriptRequest) -> Vec<KeyValuePair<'a>> {
        let (keys, numbers) = (self.keys, self.numbers(asking));
        let pair = |number| {
            self.fill(number);
            (keys.get(number), self.value.clone())
        };
        numbers.map(pair).collect()
    }

    fn put(&mut self, asking: ScriptRequest, place: usize) {
        if asking.ask == RequestOp::Put {
            self.generations[place] = self.generations[place].wrapping_add(1);
        }
    }

    /// Neighbouring keys and one of their columns.
    fn range<T>(&self, asking: ScriptRequest, ask: impl FnOnce(DialectRequest<'_>) -> T) -> T {
        let number = asking.number as usize;
        let (count, column) = (usize::from(asking.count), usize::from(asking.column));
        let following = self.from(number);
        let following = &following[..count.min(following.len())];
        let row = |number: &u32| (self.keys.get(*number as usize), self.column(*number as usize, column));
        let (from, found) = (self.keys.get(number), following.len());
        ask(DialectRequest::Range(NeighbourRows {
            from,
            count,
            column,
            found,
            rows: &mut following.iter().map(row),
        }))
    }

    /// Keys from this one on, in their order, whether they are there or not; none if no order is known.
    fn from(&self, number: usize) -> &'a [u32] {
        self.order.map_or(&[], |order| &order.numbers[order.places[number] as usize..])
    }

    /// Neighbouring keys that are there.
    fn key_range<T>(&mut self, asking: ScriptRequest, ask: impl FnOnce(DialectRequest<'_>) -> T) -> T {
        self.fill(asking.number as usize);
        let (number, count) = (asking.number as usize, usize::from(asking.count));
        let there = || self.from(number).iter().filter(|&&number| self.is_there(number)).take(count);
        let mut keys = there().map(|&number| self.keys.get(number as usize));
        ask(DialectRequest::Keys(NeighbourKeys {
            from: self.keys.get(number),
            value: &self.value,
            count,
            found: there().count(),
            keys: &mut keys,
        }))
    }

    /// Makes `value` that of a key.
    fn fill(&mut self, number: usize) {
        self.value[..8].copy_from_slice(&first_bytes(number, self.generations[number]));
    }

    fn column(&self, number: usize, column: usize) -> [u8; 4] {
        let place = COLUMNS * number + column;
        (mix(place as u64 ^ u64::from(self.generations[place]) << 48) as u32).to_le_bytes()
    }

    fn columns(&self, number: usize) -> RowColumns {
        std::array::from_fn(|column| self.column(number, column))
    }
}

/// The first bytes of a value.
fn first_bytes(number: usize, generation: u8) -> [u8; 8] {
    mix(number as u64 ^ u64::from(generation) << 48).to_le_bytes()
}

/// The order of keys by the scores of the values with which they are loaded, and by their bytes where those are one.
pub fn order_by_score(keys: &PackedKeys) -> KeyOrder {
    let mut numbers: Vec<u32> = (0..keys.len() as u32).collect();
    let place = |number: &u32| (score(&first_bytes(*number as usize, 0)), keys.get(*number as usize));
    numbers.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
    KeyOrder::new(numbers)
}
