//! Meshes of small, large and hostile networks.

use super::*;

fn without(count: usize, cut: &[(usize, usize)]) -> Matrix {
    let mut all = Matrix::empty(count);
    for me in 0..count {
        for peer in 0..count {
            if me != peer && !cut.contains(&(me, peer)) && !cut.contains(&(peer, me)) {
                all.set(me, peer);
            }
        }
    }
    all
}

fn with(count: usize, links: impl Iterator<Item = (usize, usize)>) -> Matrix {
    let mut some = Matrix::empty(count);
    for (a, b) in links {
        some.set(a, b);
        some.set(b, a);
    }
    some
}

/// Every subset is tried; the largest mesh with the smallest members.
fn by_force(mutual: &Matrix, least: usize) -> Vec<usize> {
    let mut best: Vec<usize> = Vec::new();
    for set in 0..1_u32 << mutual.size() {
        let members: Vec<usize> = (0..mutual.size()).filter(|i| set >> i & 1 == 1).collect();
        let meshed = members
            .iter()
            .all(|&a| members.iter().all(|&b| a == b || mutual.row(a).has(b)));
        let better = members.len() > best.len() || (members.len() == best.len() && members < best);
        if meshed && better {
            best = members;
        }
    }
    if best.len() < least { Vec::new() } else { best }
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
fn two_pairs_and_a_ring_have_no_majority_but_a_fenced_pair_has() {
    let pairs = without(4, &[(0, 2), (0, 3), (1, 2), (1, 3)]);
    assert!(largest(&pairs, 3).is_empty());
    assert_eq!(largest(&pairs, 2), [0, 1]);
    assert!(largest(&with(6, (0..6).map(|me| (me, (me + 1) % 6))), 3).is_empty());
    assert!(largest(&Matrix::empty(0), 3).is_empty());
}

#[test]
fn of_two_equal_islands_the_one_with_the_smaller_ids_wins_and_a_larger_one_beats_both() {
    let cut: Vec<(usize, usize)> = (0..3).flat_map(|a| (3..6).map(move |b| (a, b))).collect();
    assert_eq!(largest(&without(6, &cut), 3), [0, 1, 2]);
    let cut: Vec<(usize, usize)> = (0..3).flat_map(|a| (3..7).map(move |b| (a, b))).collect();
    assert_eq!(largest(&without(7, &cut), 3), [3, 4, 5, 6]);
}

#[test]
fn small_networks_get_what_trying_everything_would_find() {
    let mut seed = 7_u64;
    for round in 0..400 {
        let size = 3 + round % 8;
        let mut links = Vec::new();
        for a in 0..size {
            for b in a + 1..size {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(11);
                if (seed >> 33) % 10 < 3 + (round as u64) % 6 {
                    links.push((a, b));
                }
            }
        }
        let some = with(size, links.iter().copied());
        assert_eq!(largest(&some, 3), by_force(&some, 3), "{size}: {links:?}");
    }
}

#[test]
fn a_thousand_hosts_with_islands_and_broken_links_are_grouped_exactly() {
    // Two islands of 600 and 400; inside the larger one thirty links are broken.
    let mut some = with(
        1000,
        (0..1000)
            .flat_map(|a| (a + 1..1000).map(move |b| (a, b)))
            .filter(|(a, b)| (*a < 400) == (*b < 400))
            .filter(|(a, b)| !(b - a == 300 && *a >= 400 && *a < 430)),
    );
    let group = largest(&some, 3);
    assert_eq!(group.len(), 570);
    assert!(group.contains(&400) && !group.contains(&700));
    some.set(999, 0);
    assert_eq!(largest(&some.mutual(), 3), group, "one way is no way");
}

#[test]
fn a_tangle_of_many_hosts_still_gets_a_true_mesh() {
    let reach = with(
        400,
        (0..400_usize)
            .flat_map(|a| (a + 1..400).map(move |b| (a, b)))
            .filter(|(a, b)| (a * 31 + b * 17) % 5 != 0),
    );
    let group = largest(&reach, 3);
    assert!(group.len() >= 3);
    for a in &group {
        assert!(group.iter().all(|b| a == b || reach.row(*a).has(*b)));
    }
}
