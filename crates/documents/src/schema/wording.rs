//! Paths and values as messages show them.

/// A path without the numbers of list entries.
pub fn plain_path(path: &str) -> String {
    let mut plain = String::with_capacity(path.len());
    let mut inside = false;
    for c in path.chars() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            c if !inside => plain.push(c),
            _ => {}
        }
    }
    plain
}

/// Words as an English list.
pub fn one_of(words: &[&str]) -> String {
    match words {
        [] => "nothing".to_owned(),
        [word] => format!("`{word}`"),
        [most @ .., last] => {
            let most: Vec<String> = most.iter().map(|word| format!("`{word}`")).collect();
            format!("{} or `{last}`", most.join(", "))
        }
    }
}

/// A value of the user as a message may quote it.
pub fn shown(text: &str) -> String {
    const ENOUGH: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(ENOUGH).collect();
    if short.len() < text.trim_end().len() {
        short.push('…');
    }
    format!("`{short}`")
}
