//! The largest set of hosts in which each host reaches every other.
//!
//! Finding it exactly is hard in general and easy for real networks, which are full or fall
//! into a few islands. Hosts that reach the very same hosts stand or fall together, so they are
//! taken as one with a weight; what is left is small and searched exactly: depth first in the
//! order of ids, which makes the first of equal answers the one with the smaller ids, and cut
//! off where even the best outcome could not win. A budget keeps hostile reports from burning
//! the machine; beyond it the best mesh found so far must do.

use std::collections::BTreeMap;

use super::bits::{Bits, Matrix};

/// Words of bits looked at before the search is given up; some tens of milliseconds.
const BUDGET: usize = 20_000_000;

/// Hosts that reach the same hosts.
struct Class {
    members: Vec<usize>,
    weight: usize,
}

struct Search {
    weights: Vec<usize>,
    /// Per class, the others it reaches.
    reach: Vec<Bits>,
    best: Vec<usize>,
    best_weight: usize,
    /// The best so far came from a guess; an equal one found in order is preferred.
    guessed: bool,
    budget: usize,
}

/// Members of the largest mesh of at least `least` hosts; a set bit says that two hosts reach
/// each other. Empty if there is none. Ties go to the smaller indices.
pub(super) fn largest(mutual: &Matrix, least: usize) -> Vec<usize> {
    let classes = classes(mutual, least);
    let mut search = Search::over(&classes, mutual);
    search.guess();
    search.explore(&mut Vec::new(), 0, Bits::full(classes.len()));
    if search.best_weight < least {
        return Vec::new();
    }
    let mut members: Vec<usize> = search
        .best
        .iter()
        .flat_map(|&class| classes[class].members.iter().copied())
        .collect();
    members.sort_unstable();
    members
}

/// Hosts by their circle (themselves and those they reach), in the order of their first member;
/// hosts whose circle is too small for any mesh are left out.
fn classes(mutual: &Matrix, least: usize) -> Vec<Class> {
    let mut by_circle: BTreeMap<Bits, Vec<usize>> = BTreeMap::new();
    for host in 0..mutual.size() {
        let mut circle = mutual.row(host).clone();
        circle.set(host);
        if circle.count() >= least.max(1) {
            by_circle.entry(circle).or_default().push(host);
        }
    }
    let mut classes: Vec<Class> = by_circle
        .into_values()
        .map(|members| Class {
            weight: members.len(),
            members,
        })
        .collect();
    classes.sort_by_key(|class| class.members[0]);
    classes
}

impl Search {
    fn over(classes: &[Class], mutual: &Matrix) -> Self {
        let count = classes.len();
        let reach = (0..count)
            .map(|me| {
                let mut peers = Bits::empty(count);
                let row = mutual.row(classes[me].members[0]);
                for (other, class) in classes.iter().enumerate() {
                    if other != me && row.has(class.members[0]) {
                        peers.set(other);
                    }
                }
                peers
            })
            .collect();
        Self {
            weights: classes.iter().map(|class| class.weight).collect(),
            reach,
            best: Vec::new(),
            best_weight: 0,
            guessed: false,
            budget: BUDGET,
        }
    }

    /// A good mesh at once: always add the class that leaves most hosts to choose from.
    fn guess(&mut self) {
        let mut open = Bits::full(self.weights.len());
        let mut left: Vec<usize> = (0..self.weights.len())
            .map(|class| self.weight(&self.reach[class]))
            .collect();
        let (mut chosen, mut weight) = (Vec::new(), 0);
        while let Some(next) = open
            .members()
            .max_by_key(|&c| (self.weights[c] + left[c], std::cmp::Reverse(c)))
        {
            chosen.push(next);
            weight += self.weights[next];
            let kept = open.and(&self.reach[next]);
            for gone in open.without(&kept).members() {
                for peer in kept.and(&self.reach[gone]).members() {
                    left[peer] -= self.weights[gone];
                }
            }
            open = kept;
        }
        (self.best, self.best_weight, self.guessed) = (chosen, weight, true);
    }

    fn weight(&self, classes: &Bits) -> usize {
        classes.members().map(|class| self.weights[class]).sum()
    }

    fn explore(&mut self, chosen: &mut Vec<usize>, weight: usize, mut open: Bits) {
        loop {
            let Some(first) = open.first() else {
                if weight > self.best_weight || (self.guessed && weight == self.best_weight) {
                    (self.best, self.best_weight) = (chosen.clone(), weight);
                    self.guessed = false;
                }
                return;
            };
            if self.budget == 0 {
                return;
            }
            let hope = weight + self.bound(&open);
            if hope < self.best_weight || (!self.guessed && hope == self.best_weight) {
                return;
            }
            chosen.push(first);
            let inside = open.and(&self.reach[first]);
            self.explore(chosen, weight + self.weights[first], inside);
            chosen.pop();
            // Without the first; a mesh that could hold it as well is never larger, so one of
            // those it does not reach must be in.
            open.clear(first);
            if open.is_within(&self.reach[first]) {
                return;
            }
        }
    }

    /// No mesh inside `open` weighs more: of classes that do not reach each other it holds one.
    fn bound(&mut self, open: &Bits) -> usize {
        let mut left = open.clone();
        let mut total = 0;
        while let Some(first) = left.first() {
            let mut strangers = left.clone();
            let mut heaviest = 0;
            let mut next = Some(first);
            while let Some(class) = next {
                self.spend(2 * left.words());
                heaviest = heaviest.max(self.weights[class]);
                left.clear(class);
                strangers.clear(class);
                strangers = strangers.without(&self.reach[class]);
                next = strangers.first();
            }
            total += heaviest;
        }
        total
    }

    const fn spend(&mut self, words: usize) {
        self.budget = self.budget.saturating_sub(words);
    }
}

#[cfg(test)]
mod tests;
