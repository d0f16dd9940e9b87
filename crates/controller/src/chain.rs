//! An error with its causes, for logs: each type prints only its own layer.

use std::{error::Error, fmt};

/// The error and what caused it, on one line.
pub fn chain(error: &dyn Error) -> impl fmt::Display {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_printed() {
        let cause = std::io::Error::other("no route");
        let error = crate::kube::AccessError::Read {
            path: "/ca".into(),
            cause,
        };
        assert_eq!(chain(&error).to_string(), "reading /ca: no route");
    }
}
