//! Which rows were used, so that a test can name those that never are. In the product this is
//! nothing at all.

/// A row: machine, trigger, name.
#[cfg(test)]
pub(crate) type Hit = (&'static str, &'static str, &'static str);

#[cfg(test)]
thread_local! {
    static HITS: std::cell::RefCell<std::collections::BTreeSet<Hit>> =
        const { std::cell::RefCell::new(std::collections::BTreeSet::new()) };
}

/// Notes that a row was chosen, also if it says to stay.
#[cfg(test)]
pub(crate) fn hit(machine: &'static str, trigger: &'static str, rule: &'static str) {
    HITS.with_borrow_mut(|hits| hits.insert((machine, trigger, rule)));
}

#[cfg(not(test))]
pub(crate) const fn hit(_: &'static str, _: &'static str, _: &'static str) {}

/// All rows chosen so far on this thread.
#[cfg(test)]
pub(crate) fn hits() -> std::collections::BTreeSet<Hit> {
    HITS.with_borrow(Clone::clone)
}
