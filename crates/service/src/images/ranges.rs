//! Which bytes a request asks for: `Range` and the conditional headers.

use http::{HeaderMap, header};

/// More ranges than this do not come from a download manager; they get the whole.
const MOST_RANGES: usize = 64;

/// The answer to a request's headers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of it.
    Whole,
    /// These parts, as first byte and length.
    Parts(Vec<(u64, u64)>),
    /// Parts that do not exist.
    Unsatisfiable,
    /// Nothing: the client has it already.
    NotModified,
    /// Nothing: the client wants another version than there is.
    PreconditionFailed,
}

/// What is asked for of content with this tag (with quotes), date and length.
pub fn wanted(headers: &HeaderMap, tag: &str, modified: &str, len: u64, may_range: bool) -> Wanted {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if text(header::IF_MATCH).is_some_and(|list| !lists(list, tag)) {
        return Wanted::PreconditionFailed;
    }
    let same = match (text(header::IF_NONE_MATCH), text(header::IF_MODIFIED_SINCE)) {
        (Some(list), _) => lists(list, tag),
        // Clients give back the date they got; any other is as good as none.
        (None, Some(date)) => date == modified,
        (None, None) => false,
    };
    if same {
        return Wanted::NotModified;
    }
    let still_valid = text(header::IF_RANGE).is_none_or(|mark| mark == tag || mark == modified);
    match text(header::RANGE) {
        Some(range) if may_range && still_valid => parse(range, len),
        Some(_) | None => Wanted::Whole,
    }
}

/// Whether a list of tags has this one. A cache may have made a tag weak on the way.
fn lists(list: &str, tag: &str) -> bool {
    list.split(',')
        .map(str::trim)
        .any(|item| item == "*" || item.strip_prefix("W/").unwrap_or(item) == tag)
}

/// Malformed ranges are ignored, as the standard wants it.
fn parse(text: &str, len: u64) -> Wanted {
    let Some(list) = text.trim().strip_prefix("bytes=") else {
        return Wanted::Whole;
    };
    let mut parts = Vec::new();
    for item in list
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
    {
        let Some((first, last)) = item.split_once('-') else {
            return Wanted::Whole;
        };
        let (Some(first), Some(last)) = (number(first), number(last)) else {
            return Wanted::Whole;
        };
        let (start, end) = match (first, last) {
            (Some(first), Some(last)) if first > last => return Wanted::Whole,
            (Some(first), Some(last)) => (first, len.min(last.saturating_add(1))),
            (Some(first), None) => (first, len),
            (None, Some(count)) => (len.saturating_sub(count), len),
            (None, None) => return Wanted::Whole,
        };
        if start < end {
            parts.push((start, end - start));
        }
    }
    let total = parts
        .iter()
        .try_fold(0u64, |sum, (_, len)| sum.checked_add(*len));
    match parts.len() {
        0 => Wanted::Unsatisfiable,
        // Overlapping parts could ask for many times the whole.
        count if count > MOST_RANGES || total.is_none_or(|total| total > len) => Wanted::Whole,
        _ => Wanted::Parts(parts),
    }
}

/// `None` for what is no number, `Some(None)` for nothing.
fn number(text: &str) -> Option<Option<u64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| Some(text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    const TAG: &str = "\"abc\"";
    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    fn ask(headers: &[(HeaderName, &'static str)]) -> Wanted {
        let map = headers
            .iter()
            .map(|(name, value)| (name.clone(), HeaderValue::from_static(value)))
            .collect();
        wanted(&map, TAG, DATE, 1000, true)
    }

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let table = [
            ("bytes=0-99", Wanted::Parts(vec![(0, 100)])),
            ("bytes=900-", Wanted::Parts(vec![(900, 100)])),
            ("bytes=-10", Wanted::Parts(vec![(990, 10)])),
            ("bytes=-5000", Wanted::Parts(vec![(0, 1000)])),
            ("bytes=990-5000", Wanted::Parts(vec![(990, 10)])),
            (
                "bytes=0-0, 5-6 ,-1",
                Wanted::Parts(vec![(0, 1), (5, 2), (999, 1)]),
            ),
            ("bytes=1000-", Wanted::Unsatisfiable),
            ("bytes=-0", Wanted::Unsatisfiable),
            ("bytes=2000-2001,5-5", Wanted::Parts(vec![(5, 1)])),
            ("bytes=5-2", Wanted::Whole),
            ("bytes=x-2", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
            ("bytes=0-,0-", Wanted::Whole),
            (
                "bytes=0-99999999999999999999999",
                Wanted::Parts(vec![(0, 1000)]),
            ),
        ];
        for (text, expected) in table {
            assert_eq!(ask(&[(header::RANGE, text)]), expected, "{text}");
        }
    }

    #[test]
    fn a_part_of_another_version_is_not_mixed_in() {
        let range = (header::RANGE, "bytes=1-2");
        let part = Wanted::Parts(vec![(1, 2)]);
        for (mark, expected) in [
            (TAG, part.clone()),
            (DATE, part),
            ("\"other\"", Wanted::Whole),
            ("W/\"abc\"", Wanted::Whole),
            ("Mon, 07 Nov 1994 08:49:37 GMT", Wanted::Whole),
        ] {
            assert_eq!(
                ask(&[range.clone(), (header::IF_RANGE, mark)]),
                expected,
                "{mark}"
            );
        }
    }

    #[test]
    fn conditions_come_before_ranges() {
        let range = (header::RANGE, "bytes=1-2");
        for (name, value, expected) in [
            (
                header::IF_NONE_MATCH,
                "\"x\", W/\"abc\"",
                Wanted::NotModified,
            ),
            (header::IF_NONE_MATCH, "*", Wanted::NotModified),
            (header::IF_MODIFIED_SINCE, DATE, Wanted::NotModified),
            (header::IF_MATCH, "\"x\"", Wanted::PreconditionFailed),
            (header::IF_MATCH, TAG, Wanted::Parts(vec![(1, 2)])),
        ] {
            assert_eq!(ask(&[range.clone(), (name, value)]), expected, "{value}");
        }
    }

    #[test]
    fn only_a_get_has_ranges() {
        let headers = [(header::RANGE, HeaderValue::from_static("bytes=1-2"))];
        let map = headers.into_iter().collect();
        assert_eq!(wanted(&map, TAG, DATE, 1000, false), Wanted::Whole);
    }
}
