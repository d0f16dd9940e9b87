//! Hosts as bits, so that intersecting sets of a thousand costs sixteen instructions.

/// A set of indices below a fixed size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn empty(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    pub(super) fn full(size: usize) -> Self {
        let mut bits = Self(vec![u64::MAX; size.div_ceil(64)]);
        if let Some(last) = bits.0.last_mut()
            && !size.is_multiple_of(64)
        {
            *last = (1 << (size % 64)) - 1;
        }
        bits
    }

    pub(super) fn set(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub(super) fn clear(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    pub(super) fn has(&self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    pub(super) fn without(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & !b).collect())
    }

    pub(super) fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many words one pass over the set costs.
    pub(super) const fn words(&self) -> usize {
        self.0.len()
    }

    /// Its smallest member.
    pub(super) fn first(&self) -> Option<usize> {
        self.members().next()
    }

    /// Its members, smallest first.
    pub(super) fn members(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, &word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let bit = left.trailing_zeros() as usize;
                    left &= left - 1;
                    at * 64 + bit
                })
            })
        })
    }
}

/// Which hosts each host reaches: one set per host.
#[derive(Clone, Debug)]
pub(super) struct Matrix(Vec<Bits>);

impl Matrix {
    pub(super) fn empty(size: usize) -> Self {
        Self(vec![Bits::empty(size); size])
    }

    pub(super) fn set(&mut self, from: usize, to: usize) {
        self.0[from].set(to);
    }

    pub(super) fn row(&self, of: usize) -> &Bits {
        &self.0[of]
    }

    pub(super) fn size(&self) -> usize {
        self.0.len()
    }

    /// Only edges that lead both ways.
    pub(super) fn mutual(&self) -> Self {
        let mut both = self.clone();
        for (from, row) in self.0.iter().enumerate() {
            for to in row.members() {
                if to == from || !self.0[to].has(from) {
                    both.0[from].clear(to);
                }
            }
        }
        both
    }
}
