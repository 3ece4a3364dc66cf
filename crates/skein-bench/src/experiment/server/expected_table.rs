//! The table of keys, and of the values that a server must have for them now.
//!
//! A value is computed from its key's number and its generation, the number of times that it was
//! put. So the table stores one byte per value.

use crate::keyset::{PackedKeys, mix};
use crate::rival::server::{
    COLUMNS, DialectRequest, KeyValuePair, NeighbourKeys, NeighbourRows, RowColumns, score,
};
use crate::workload::requests::{RequestOp, ScriptRequest};

/// The shape of a key's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueShape {
    /// One value of this many bytes, at least 8.
    Values(usize),
    /// A row of columns.
    Columns,
}

/// The order of the keys, for ranges.
#[derive(Debug)]
pub struct KeyOrder {
    /// The key numbers, in key order.
    numbers: Vec<u32>,
    /// The rank of each key in that order, by key number.
    places: Vec<u32>,
}

impl KeyOrder {
    /// Builds the order from the key numbers in key order.
    pub fn new(numbers: Vec<u32>) -> Self {
        let mut places = vec![0; numbers.len()];
        for (place, &number) in numbers.iter().enumerate() {
            places[number as usize] = place as u32;
        }
        Self { numbers, places }
    }
}

/// Keys and their expected values.
#[derive(Debug, Clone)]
pub struct ExpectedTable<'a> {
    /// The keys.
    pub keys: &'a PackedKeys,
    /// The shape of their values.
    pub shape: ValueShape,
    order: Option<&'a KeyOrder>,
    /// The distance of the keys of one request, by number.
    stride: usize,
    /// The number of loaded keys; they have the lowest numbers.
    loaded: usize,
    /// Which of the other keys were added since.
    added: Vec<bool>,
    /// The number of times that each value was put, by key and then by column; wrapping.
    generations: Vec<u8>,
    /// The buffer for the expected value.
    value: Vec<u8>,
}

impl<'a> ExpectedTable<'a> {
    /// Returns the table as it is loaded: each value in its first generation.
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

    /// Sets the keys' order, which ranges need.
    #[must_use]
    pub fn ordered(mut self, order: &'a KeyOrder) -> Self {
        self.order = Some(order);
        self
    }

    /// Prepares the table for a client that uses each key on one of its `connections` only, by the
    /// key's number. The keys of one request then belong to one connection, and are far from each
    /// other.
    ///
    /// REQUIRES: the number of keys is a multiple of the number of connections.
    #[must_use]
    pub fn on_connections(mut self, connections: usize) -> Self {
        // A prime, so that no key occurs twice in a request, unless a connection has fewer keys.
        const FAR: usize = 9973;
        assert!(
            self.keys.len().is_multiple_of(connections),
            "the number of keys must be a multiple of the connections"
        );
        self.stride = FAR * connections;
        self
    }

    /// Loads only the first `first` keys; the others may be added later.
    #[must_use]
    pub fn loading(mut self, first: usize) -> Self {
        self.loaded = first.min(self.keys.len());
        self.added = vec![false; self.keys.len() - self.loaded];
        self
    }

    /// Returns the number of loaded keys.
    pub fn loaded(&self) -> usize {
        self.loaded
    }

    fn is_there(&self, number: u32) -> bool {
        let added = (number as usize).checked_sub(self.loaded);
        added.is_none_or(|added| self.added[added])
    }

    /// Returns the bytes of all keys and values.
    pub fn bytes(&self) -> u64 {
        let each = match self.shape {
            ValueShape::Values(bytes) => bytes,
            ValueShape::Columns => size_of::<RowColumns>(),
        };
        (self.keys.byte_len() + each * self.keys.len()) as u64
    }

    /// Calls `ask` with the request that adds a key.
    pub fn add(&mut self, number: usize, ask: impl FnOnce(DialectRequest<'_>)) {
        match self.shape {
            ValueShape::Values(_) => {
                self.fill(number);
                ask(DialectRequest::Add(self.keys.get(number), &self.value));
            }
            ValueShape::Columns => ask(DialectRequest::AddRow(self.keys.get(number), &self.columns(number))),
        }
    }

    /// Calls `ask` with the request and its expected reply; records a put as done.
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

    /// Returns the keys of one request, by number.
    fn numbers(&self, asking: ScriptRequest) -> impl Iterator<Item = usize> + use<> {
        let (number, stride, keys) = (asking.number as usize, self.stride, self.keys.len());
        (0..usize::from(asking.count)).map(move |i| (number + i * stride) % keys)
    }

    /// Returns the keys of one request, with their values.
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

    /// Calls `ask` with a range of rows and one of their columns.
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

    /// Returns the keys from this one on, in key order, present or not. Returns nothing if the
    /// order is unknown.
    fn from(&self, number: usize) -> &'a [u32] {
        self.order.map_or(&[], |order| &order.numbers[order.places[number] as usize..])
    }

    /// Calls `ask` with a range of present keys.
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

    /// Sets `value` to the key's current value.
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

/// Returns the first bytes of a value.
fn first_bytes(number: usize, generation: u8) -> [u8; 8] {
    mix(number as u64 ^ u64::from(generation) << 48).to_le_bytes()
}

/// Returns the order of keys by the scores of their loaded values, then by their bytes.
pub fn order_by_score(keys: &PackedKeys) -> KeyOrder {
    let mut numbers: Vec<u32> = (0..keys.len() as u32).collect();
    let place = |number: &u32| (score(&first_bytes(*number as usize, 0)), keys.get(*number as usize));
    numbers.sort_unstable_by(|a, b| place(a).cmp(&place(b)));
    KeyOrder::new(numbers)
}
