//! Arguments as words, and changes to them.

use crate::error::{Error, Result};

/// Changes to kernel arguments, carried out in the order of the fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    /// Words to remove wherever they stand.
    pub delete: Vec<String>,
    /// Words to add at the end.
    pub append: Vec<String>,
    /// Words to add at the end unless they are there.
    pub append_if_missing: Vec<String>,
    /// `KEY=OLD=NEW`: the word `KEY=OLD` becomes `KEY=NEW`.
    pub replace: Vec<String>,
}

impl Edits {
    /// Nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The arguments after the changes.
    ///
    /// # Errors
    ///
    /// When a replacement has not the form `KEY=OLD=NEW`.
    pub fn apply(&self, current: &str) -> Result<String> {
        let mut words: Vec<String> = split(current).map(str::to_owned).collect();
        words.retain(|word| !self.delete.contains(word));
        words.extend(self.append.iter().cloned());
        for word in &self.append_if_missing {
            if !words.contains(word) {
                words.push(word.clone());
            }
        }
        for replacement in &self.replace {
            let parts: Vec<&str> = replacement.split('=').collect();
            let [key, old, new] = parts.as_slice() else {
                return Err(Error::Refused(format!(
                    "`{replacement}`: a replacement has the form KEY=OLD=NEW"
                )));
            };
            let old = format!("{key}={old}");
            words
                .iter_mut()
                .filter(|word| **word == old)
                .for_each(|word| {
                    *word = format!("{key}={new}");
                });
        }
        Ok(words.join(" "))
    }
}

/// Words between blanks; blanks within double quotes belong to the word, as for the kernel.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c: char| {
        quoted ^= c == '"';
        c.is_whitespace() && !quoted
    })
    .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(change: impl FnOnce(&mut Edits)) -> Edits {
        let mut edits = Edits::default();
        change(&mut edits);
        edits
    }

    #[test]
    fn deleting_takes_whole_words_and_all_of_them() {
        let delete = edits(|edits| edits.delete = vec!["a".into()]);
        assert_eq!(delete.apply("a aa a=1 a").unwrap(), "aa a=1");
    }

    #[test]
    fn quoted_blanks_do_not_end_a_word() {
        let delete = edits(|edits| edits.delete = vec!["dyndbg=\"file a +p\"".into()]);
        assert_eq!(delete.apply("x dyndbg=\"file a +p\" y").unwrap(), "x y");
    }

    #[test]
    fn replacing_needs_three_parts_and_an_equal_word() {
        let replace = edits(|edits| edits.replace = vec!["m=auto=off".into()]);
        assert_eq!(replace.apply("m=auto n=auto").unwrap(), "m=off n=auto");
        assert!(
            edits(|edits| edits.replace = vec!["m=off".into()])
                .apply("m")
                .is_err()
        );
    }

    #[test]
    fn appending_if_missing_does_not_double() {
        let append = edits(|edits| {
            edits.append = vec!["a".into()];
            edits.append_if_missing = vec!["a".into(), "b".into()];
        });
        assert_eq!(append.apply("a").unwrap(), "a a b");
    }
}
