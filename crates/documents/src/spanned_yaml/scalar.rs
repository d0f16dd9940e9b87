//! What a scalar written without quotes means.
//!
//! The reference reads YAML 1.1, where `yes` and `on` are switches, `010` is eight and `1_000` a
//! thousand; so it is here.

use super::Scalar;

impl Scalar {
    /// Nothing: `~`, `null` or an empty place.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.plain && matches!(&*self.text, "" | "~" | "null" | "Null" | "NULL")
    }

    /// The switch it is, if it is one.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        if !self.plain {
            return None;
        }
        match &*self.text {
            "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
                Some(true)
            }
            "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False"
            | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// The whole number it is, if it is one.
    #[must_use]
    pub fn as_int(&self) -> Option<i64> {
        if !self.plain {
            return None;
        }
        let text = self.text.replace('_', "");
        let (negative, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text.strip_prefix('+').unwrap_or(&text)),
        };
        let (radix, digits) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
            [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
            [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
            [b'0', _, ..] => (8, &digits[1..]),
            _ => (10, digits),
        };
        if !digits.bytes().next()?.is_ascii_alphanumeric() {
            return None;
        }
        let size = i128::from(u64::from_str_radix(digits, radix).ok()?);
        i64::try_from(if negative { -size } else { size }).ok()
    }

    /// The number with a fraction it is, if it is one.
    #[must_use]
    pub fn as_float(&self) -> Option<f64> {
        let looks_like_one = self.plain
            && self.text.bytes().any(|byte| byte.is_ascii_digit())
            && self
                .text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
        let number: f64 = looks_like_one.then(|| self.text.parse().ok())??;
        number.is_finite().then_some(number)
    }

    /// What it is, in a word a user knows.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        if self.is_null() {
            "nothing"
        } else if self.as_bool().is_some() {
            "true or false"
        } else if self.as_int().is_some() || self.as_float().is_some() {
            "a number"
        } else {
            "a text"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> Scalar {
        Scalar {
            text: text.to_owned(),
            plain: true,
        }
    }

    #[test]
    fn numbers_are_read_in_every_base_of_yaml_1_1() {
        let cases = [
            ("3", Some(3)),
            ("-3", Some(-3)),
            ("+3", Some(3)),
            ("0", Some(0)),
            ("010", Some(8)),
            ("0x1F", Some(31)),
            ("0b101", Some(5)),
            ("0o17", Some(15)),
            ("1_000", Some(1000)),
            ("3.5", None),
            ("08", None),
            ("--3", None),
            ("-", None),
            ("", None),
            ("99999999999999999999", None),
            ("0x", None),
            ("0xé", None),
        ];
        for (text, wanted) in cases {
            assert_eq!(plain(text).as_int(), wanted, "{text}");
        }
    }

    #[test]
    fn quoted_texts_are_neither_numbers_nor_switches_nor_nothing() {
        for text in ["3", "true", "", "null", "1.5"] {
            let scalar = Scalar {
                text: text.to_owned(),
                plain: false,
            };
            assert_eq!(scalar.kind(), "a text", "{text}");
        }
        assert_eq!(plain("On").as_bool(), Some(true));
        assert_eq!(plain("~").kind(), "nothing");
    }
}
