//! Tags: words people sort their clusters by.

use crate::Invalid;

/// Checks comma-separated tags: words of letters, digits and underscores, with single spaces
/// inside. The empty text means none.
pub fn check(tags: &str) -> Result<(), Invalid> {
    if tags.is_empty() {
        return Ok(());
    }
    for tag in tags.split(',') {
        let is_word = |word: &str| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        if !tag.split(' ').all(is_word) {
            return Err(format!(
                "tags: {tag:?} is not a tag; use letters, digits and underscores, single spaces inside, and commas between tags"
            ).into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn tags_are_words_separated_by_commas() {
        for good in ["", "lab", "lab,blue team,x_1", "a b c"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["a, b", "a,", "a  b", " a", "a-b", "ä"] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
