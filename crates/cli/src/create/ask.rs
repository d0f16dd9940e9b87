//! Questions on a terminal.

use std::io::{self, BufRead, IsTerminal, Write};

use anyhow::{Context, bail};
use clap::ValueEnum;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

/// Whether there is a person to ask.
pub fn is_interactive() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until `good` accepts the answer; an empty one means the default.
pub fn line(
    question: &str,
    default: &str,
    mut good: impl FnMut(&str) -> Result<(), String>,
) -> anyhow::Result<String> {
    loop {
        let hint = if default.is_empty() {
            String::new()
        } else {
            format!(" [{default}]")
        };
        say(&format!("{question}{hint}: "));
        let answer = read()?;
        let answer = if answer.is_empty() { default } else { &answer };
        match good(answer) {
            Ok(()) => return Ok(answer.to_owned()),
            Err(reason) => say(&format!("  {reason}\n")),
        }
    }
}

/// The same for secrets: it is not shown while it is typed.
pub fn secret(
    question: &str,
    mut good: impl FnMut(&str) -> Result<(), String>,
) -> anyhow::Result<String> {
    loop {
        say(&format!("{question} (not shown): "));
        let answer = edited(&unseen(read_exactly)?);
        say("\n");
        match good(&answer) {
            Ok(()) => return Ok(answer),
            Err(reason) => say(&format!("  {reason}\n")),
        }
    }
}

/// Asks for one of a few words, by name or number.
pub fn choice<T: ValueEnum + Copy>(question: &str, default: T, offered: &[T]) -> anyhow::Result<T> {
    let name = |value: &T| {
        let value = value.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    };
    say(&format!("{question}\n"));
    for (index, value) in offered.iter().enumerate() {
        let help = value
            .to_possible_value()
            .and_then(|value| Some(value.get_help()?.to_string()));
        say(&format!(
            "  {}) {:<17} {}\n",
            index + 1,
            name(value),
            help.unwrap_or_default()
        ));
    }
    let found = |answer: &str| {
        let by_number = answer
            .parse::<usize>()
            .ok()
            .and_then(|n| offered.get(n.checked_sub(1)?));
        by_number
            .or_else(|| offered.iter().find(|value| name(value) == answer))
            .copied()
    };
    let answer = line("choose", &name(&default), |answer| match found(answer) {
        Some(_) => Ok(()),
        None => Err(format!("answer by name, or 1 to {}", offered.len())),
    })?;
    found(&answer).context("an answer that was accepted is one of the words")
}

fn say(text: &str) {
    let mut err = io::stderr().lock();
    // If the question cannot be shown, reading the answer fails and says so.
    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
}

fn read() -> anyhow::Result<String> {
    Ok(read_exactly()?.trim().to_owned())
}

/// A line without its end; spaces may belong to a password.
fn read_exactly() -> anyhow::Result<String> {
    let mut line = String::new();
    if io::stdin()
        .lock()
        .read_line(&mut line)
        .context("reading the answer")?
        == 0
    {
        bail!("the input ended before every question was answered");
    }
    Ok(line.trim_end_matches(['\n', '\r']).to_owned())
}

/// What was typed, with the keys applied that the terminal does not handle while lines may be long:
/// backspace takes a letter back, Ctrl-U all of them.
fn edited(typed: &str) -> String {
    let mut answer = String::new();
    for letter in typed.chars() {
        match letter {
            '\u{8}' | '\u{7f}' => _ = answer.pop(),
            '\u{15}' => answer.clear(),
            '\u{4}' => {}
            letter => answer.push(letter),
        }
    }
    answer
}

/// Runs with echo off, and on again afterwards whatever happens.
fn unseen(read: impl FnOnce() -> anyhow::Result<String>) -> anyhow::Result<String> {
    let input = io::stdin();
    let Ok(before) = tcgetattr(&input) else {
        return read();
    };
    let mut silent = before.clone();
    // Without canonical mode a line may be longer than 4096 bytes, as pull secrets are; line ends
    // still arrive as they are.
    silent.local_modes &= !(LocalModes::ECHO | LocalModes::ICANON);
    tcsetattr(&input, OptionalActions::Flush, &silent).context("switching the echo off")?;
    let answer = read();
    tcsetattr(&input, OptionalActions::Flush, &before).context("switching the echo on")?;
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_correct_a_secret_are_no_part_of_it() {
        assert_eq!(edited("secrex\u{7f}t"), "secret");
        assert_eq!(edited("wrong\u{15}right "), "right ");
        assert_eq!(edited("\u{7f}\u{8}"), "");
    }
}
