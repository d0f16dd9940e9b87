//! A JSON text an agent reported: large, rarely changed, read again and again.
//!
//! Records are copied for every decision, and every decision reads the reports of all hosts of
//! a cluster. So a report is shared between copies, and what it was read as stays with it: a
//! text is parsed once in its life, however many readers it has.

use std::{
    any::Any,
    fmt,
    ops::Deref,
    sync::{Arc, OnceLock},
};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The text, and what it was read as.
#[derive(Clone)]
pub struct Report(Arc<Shared>);

struct Shared {
    text: Box<str>,
    /// `None` inside: it was tried and cannot be read.
    reading: OnceLock<Option<Arc<dyn Any + Send + Sync>>>,
}

impl Report {
    /// The text as it was stored.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// What `read` makes of the text; `None` if it cannot be read.
    ///
    /// The first reading is kept. A reader of another type reads for itself: each report has
    /// one meaning, so that happens in tests only.
    pub fn reading<T: Any + Send + Sync>(
        &self,
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<Arc<T>> {
        let kept = self.0.reading.get_or_init(|| {
            let value: Arc<dyn Any + Send + Sync> = Arc::new(read(&self.0.text)?);
            Some(value)
        });
        let shared = Arc::clone(kept.as_ref()?);
        shared
            .downcast::<T>()
            .ok()
            .or_else(|| read(&self.0.text).map(Arc::new))
    }

    /// Both are the same copy; texts need not be compared then.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Report {
    type Target = str;
    fn deref(&self) -> &str {
        self.text()
    }
}

impl From<String> for Report {
    fn from(text: String) -> Self {
        Self(Arc::new(Shared {
            text: text.into(),
            reading: OnceLock::new(),
        }))
    }
}

impl From<&str> for Report {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<Report> for String {
    fn from(report: Report) -> Self {
        report.text().to_owned()
    }
}

impl PartialEq for Report {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.text() == other.text()
    }
}

impl Eq for Report {}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text(), f)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.text())
    }
}

impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn copies_share_one_reading() {
        let count = AtomicUsize::new(0);
        let read = |text: &str| {
            count.fetch_add(1, Ordering::Relaxed);
            text.parse::<i64>().ok()
        };
        let report = Report::from("42");
        let copy = report.clone();
        assert_eq!(report.reading(read).as_deref(), Some(&42));
        assert_eq!(copy.reading(read).as_deref(), Some(&42));
        assert_eq!(count.load(Ordering::Relaxed), 1);
        assert_eq!(
            copy.reading(|text| Some(text.len())).as_deref(),
            Some(&2),
            "another type reads for itself"
        );
    }

    #[test]
    fn what_cannot_be_read_is_not_tried_again() {
        let count = AtomicUsize::new(0);
        let report = Report::from("x");
        for _ in 0..3 {
            let read = |text: &str| {
                count.fetch_add(1, Ordering::Relaxed);
                text.parse::<i64>().ok()
            };
            assert_eq!(report.reading(read), None);
        }
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn it_is_stored_as_a_plain_text_and_compared_by_it() {
        let report: Report = serde_json::from_str("\"{}\"").unwrap();
        assert_eq!(report, Report::from("{}"));
        assert_eq!(serde_json::to_string(&report).unwrap(), "\"{}\"");
        assert_ne!(report, Report::from("[]"));
    }
}
