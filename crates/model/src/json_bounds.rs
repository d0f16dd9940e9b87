//! How many values a JSON text has, counted without parsing it.
//!
//! Two characters of JSON can become hundreds of bytes in memory, so texts from outside are
//! counted first and parsed only if they are within limits.

/// What a text holds, roughly; never less than a parser would find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JsonSize {
    /// Objects and lists.
    pub containers: usize,
    /// Members of objects and elements of lists.
    pub values: usize,
}

/// Counts what a JSON text holds. Any bytes will do; what is no JSON is left to the parser.
#[must_use]
pub fn json_size(text: &[u8]) -> JsonSize {
    let mut size = JsonSize::default();
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                size.containers += 1;
                size.values += 1;
            }
            b',' => size.values += 1,
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(text: &str) -> (usize, usize) {
        let JsonSize { containers, values } = json_size(text.as_bytes());
        (containers, values)
    }

    #[test]
    fn containers_and_values_are_counted_outside_texts() {
        assert_eq!(size("1"), (0, 0));
        assert_eq!(size("[{},{},{}]"), (4, 6));
        assert_eq!(size(r#"{"a": 1, "b": [2, 3]}"#), (2, 4));
        assert_eq!(size(r#"{"a": "[{,\"[{,", "b\\": "x"}"#), (1, 2));
        assert_eq!(size(r#"{"a": "unfinished [[[["#), (1, 1));
        assert_eq!(size(""), (0, 0));
    }
}
