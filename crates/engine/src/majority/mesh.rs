//! The largest set of hosts in which everybody reaches everybody.
//!
//! Finding it exactly is hard in general and easy for real networks, which are full or fall
//! into a few islands. The search starts from each host's circle (itself and whom it reaches)
//! and cuts the largest set with the circles until all members vouch for it. A budget keeps
//! hostile reports from burning the machine; beyond it a greedy answer must do.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

/// Sets looked at, times hosts, before the greedy answer is taken.
const BUDGET: usize = 20_000;

/// Hosts as bits, so that cutting and comparing sets is cheap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Bits(Vec<u64>);

impl Bits {
    fn of(members: impl Iterator<Item = usize>, size: usize) -> Self {
        let mut bits = Self(vec![0; size.div_ceil(64)]);
        for member in members {
            bits.0[member / 64] |= 1 << (member % 64);
        }
        bits
    }

    fn cut(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    fn is_within(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| a & !b == 0)
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    fn members(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| at * 64 + bit)
        })
    }
}

/// Members of the largest mesh of at least `least` hosts; `reach[i]` are the peers that `i`
/// reaches and is reached by. Empty if there is none. Ties go to the smaller indices.
pub(super) fn largest(reach: &[BTreeSet<usize>], least: usize) -> Vec<usize> {
    let size = reach.len();
    let circles: Vec<Bits> = reach
        .iter()
        .enumerate()
        .map(|(me, peers)| Bits::of(peers.iter().copied().chain([me]), size))
        .collect();
    let vouchers = |set: &Bits| {
        set.members()
            .filter(|&m| set.is_within(&circles[m]))
            .count()
    };
    let mut pool: BTreeMap<Bits, (usize, usize)> = BTreeMap::new();
    for circle in circles.iter().filter(|circle| circle.len() >= least) {
        pool.entry(circle.clone())
            .or_insert_with(|| (circle.len(), vouchers(circle)));
    }
    let originals: Vec<Bits> = pool.keys().cloned().collect();
    for _ in 0..(BUDGET / size.max(1)).max(1) {
        let Some((best, (members, vouching))) = best_of(&pool) else {
            return Vec::new();
        };
        if vouching == members {
            return best.members().collect();
        }
        pool.remove(&best);
        for circle in &originals {
            let smaller = best.cut(circle);
            let count = smaller.len();
            if count < members && count >= least && !pool.contains_key(&smaller) {
                let vouching = vouchers(&smaller);
                pool.insert(smaller, (count, vouching));
            }
        }
    }
    greedy(&circles, least)
}

fn best_of(pool: &BTreeMap<Bits, (usize, usize)>) -> Option<(Bits, (usize, usize))> {
    let rank = |(a, x): &(&Bits, &(usize, usize)), (b, y): &(&Bits, &(usize, usize))| -> Ordering {
        x.cmp(y).then_with(|| b.members().cmp(a.members()))
    };
    let (set, counts) = pool.iter().max_by(rank)?;
    Some((set.clone(), *counts))
}

/// A mesh grown from the best connected hosts; good, not always the largest.
fn greedy(circles: &[Bits], least: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..circles.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(circles[i].len()), i));
    let mut chosen: Vec<usize> = Vec::new();
    for candidate in order {
        let circle = Bits::of(chosen.iter().copied(), circles.len());
        if circle.is_within(&circles[candidate]) {
            chosen.push(candidate);
        }
    }
    chosen.sort_unstable();
    if chosen.len() >= least {
        chosen
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(count: usize, cut: &[(usize, usize)]) -> Vec<BTreeSet<usize>> {
        (0..count)
            .map(|me| {
                (0..count)
                    .filter(|&peer| peer != me)
                    .filter(|&peer| !cut.contains(&(me, peer)) && !cut.contains(&(peer, me)))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn an_isolated_host_is_outside_the_majority() {
        assert_eq!(
            largest(&without(4, &[(3, 0), (3, 1), (3, 2)]), 3),
            [0, 1, 2]
        );
    }

    #[test]
    fn one_broken_link_costs_the_host_with_the_larger_id() {
        assert_eq!(largest(&without(4, &[(0, 3)]), 3), [0, 1, 2]);
    }

    #[test]
    fn two_pairs_and_a_ring_have_no_majority() {
        assert!(largest(&without(4, &[(0, 2), (0, 3), (1, 2), (1, 3)]), 3).is_empty());
        let ring: Vec<BTreeSet<usize>> = (0..6)
            .map(|me| BTreeSet::from([(me + 1) % 6, (me + 5) % 6]))
            .collect();
        assert!(largest(&ring, 3).is_empty());
    }

    #[test]
    fn of_two_equal_islands_the_one_with_the_smaller_ids_wins_and_a_larger_one_beats_both() {
        let cut: Vec<(usize, usize)> = (0..3).flat_map(|a| (3..6).map(move |b| (a, b))).collect();
        assert_eq!(largest(&without(6, &cut), 3), [0, 1, 2]);
        let cut: Vec<(usize, usize)> = (0..3).flat_map(|a| (3..7).map(move |b| (a, b))).collect();
        assert_eq!(largest(&without(7, &cut), 3), [3, 4, 5, 6]);
    }

    #[test]
    fn a_tangle_of_many_hosts_still_gets_a_true_mesh() {
        let cut: Vec<(usize, usize)> = (0..150_usize)
            .flat_map(|a| (a + 1..150).map(move |b| (a, b)))
            .filter(|(a, b)| (a * 31 + b * 17) % 5 == 0)
            .collect();
        let reach = without(150, &cut);
        let group = largest(&reach, 3);
        assert!(group.len() >= 3);
        for a in &group {
            assert!(group.iter().all(|b| a == b || reach[*a].contains(b)));
        }
    }
}
