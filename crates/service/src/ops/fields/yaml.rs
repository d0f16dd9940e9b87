//! YAML of users: what must be asked before the parser of the rest of the service sees it.

use saphyr_parser::{Event as YamlEvent, Parser};

/// Deepest nesting of YAML.
const DEEPEST: usize = 200;
/// Brackets that may be open at once without making a parser slow.
const FEW_BRACKETS: usize = 2000;

/// Refuses deep nesting, with which the time of `serde_yaml_ng` grows by the square. This one
/// reads event by event and can stop in time, but is stricter; where it gives up, few enough
/// brackets do no harm either.
pub fn check_depth(text: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for event in Parser::new_from_str(text) {
        let (event, place) = match event {
            Ok(event) => event,
            Err(_) if text.matches(['[', '{']).count() <= FEW_BRACKETS => return Ok(()),
            Err(cause) => return Err(format!("the content is not YAML: {cause}")),
        };
        match event {
            YamlEvent::SequenceStart(..) | YamlEvent::MappingStart(..) => depth += 1,
            YamlEvent::SequenceEnd | YamlEvent::MappingEnd => depth = depth.saturating_sub(1),
            YamlEvent::Nothing
            | YamlEvent::StreamStart
            | YamlEvent::StreamEnd
            | YamlEvent::DocumentStart(_)
            | YamlEvent::DocumentEnd
            | YamlEvent::Alias(_)
            | YamlEvent::Scalar(..) => {}
        }
        if depth > DEEPEST {
            return Err(format!(
                "the content is nested more than {DEEPEST} levels deep at line {}",
                place.start.line()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_nesting_passes_and_a_tower_of_brackets_does_not() {
        assert_eq!(check_depth("a: {b: [1, {c: 2}]}\n"), Ok(()));
        assert!(check_depth(&"[".repeat(100_000)).is_err());
        assert!(check_depth(&"{a: ".repeat(100_000)).is_err());
    }
}
