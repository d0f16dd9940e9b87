//! Public SSH keys: one per line, each of a type that the hosts' SSH server knows.
//!
//! A key that looks right but does not decode would lock people out of hosts they can no
//! longer reach otherwise, so the key material is taken apart to its end.

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::Invalid;

/// Key types and how many fields follow the type name inside the key.
const TYPES: &[(&str, Fields)] = &[
    ("ssh-rsa", Fields::Numbers(2)),
    ("ssh-dss", Fields::Numbers(4)),
    ("ssh-ed25519", Fields::Bytes(32)),
    ("ecdsa-sha2-nistp256", Fields::Curve("nistp256", 65)),
    ("ecdsa-sha2-nistp384", Fields::Curve("nistp384", 97)),
    ("ecdsa-sha2-nistp521", Fields::Curve("nistp521", 133)),
];

/// What the binary part of a key consists of.
#[derive(Clone, Copy, Debug)]
enum Fields {
    /// This many positive numbers.
    Numbers(usize),
    /// One text of this many bytes.
    Bytes(usize),
    /// The name of a curve and an uncompressed point of this many bytes.
    Curve(&'static str, usize),
}

/// Checks a list of keys; returns it without surrounding spaces. The empty text means none.
pub fn check(member: &str, text: &str) -> Result<String, Invalid> {
    let keys = text.trim();
    if keys.is_empty() {
        return Ok(String::new());
    }
    for (index, line) in keys.lines().enumerate() {
        key(line.trim_end()).map_err(|why| format!("{member}, line {}: {why}", index + 1))?;
    }
    Ok(keys.to_owned())
}

fn key(line: &str) -> Result<(), Invalid> {
    if line.is_empty() {
        return Err("the line is empty; remove it".into());
    }
    let mut words = line.splitn(3, ' ');
    let (name, material) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let Some((_, fields)) = TYPES.iter().find(|(known, _)| *known == name) else {
        let known: Vec<_> = TYPES.iter().map(|(known, _)| *known).collect();
        return Err(format!("a key begins with its type, one of {}", known.join(", ")).into());
    };
    let bytes = STANDARD
        .decode(material)
        .map_err(|_| "the key itself is not base64; copy it again".to_owned())?;
    if is_key(&bytes, name, *fields) {
        Ok(())
    } else {
        Err(format!("this is not a whole {name} key; copy it again").into())
    }
}

fn is_key(bytes: &[u8], name: &str, fields: Fields) -> bool {
    let mut rest = bytes;
    if field(&mut rest) != Some(name.as_bytes()) {
        return false;
    }
    let complete = match fields {
        Fields::Numbers(count) => (0..count).all(|_| field(&mut rest).is_some_and(is_positive)),
        Fields::Bytes(length) => field(&mut rest).is_some_and(|bytes| bytes.len() == length),
        Fields::Curve(curve, length) => {
            field(&mut rest) == Some(curve.as_bytes())
                && field(&mut rest)
                    .is_some_and(|point| point.len() == length && point.first() == Some(&4))
        }
    };
    complete && rest.is_empty()
}

/// Takes a length-prefixed field off the front.
fn field<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, tail) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (field, tail) = tail.split_at_checked(length)?;
    *rest = tail;
    Some(field)
}

/// Numbers are signed: a set top bit would make them negative.
fn is_positive(number: &[u8]) -> bool {
    number.first().is_some_and(|top| *top < 0x80) && number.iter().any(|byte| *byte != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &str, fields: &[&[u8]]) -> String {
        let mut bytes = Vec::new();
        for field in [name.as_bytes()].iter().chain(fields) {
            bytes.extend(u32::try_from(field.len()).unwrap().to_be_bytes());
            bytes.extend(*field);
        }
        format!("{name} {}", STANDARD.encode(bytes))
    }

    fn ed25519() -> String {
        line("ssh-ed25519", &[&[7; 32]])
    }

    fn rsa() -> String {
        line("ssh-rsa", &[&[1, 0, 1], &[0x55; 256]])
    }

    #[test]
    fn keys_of_every_known_type_pass_with_or_without_a_comment() {
        let point = |length: usize| [vec![4], vec![9; length - 1]].concat();
        let keys = [
            ed25519(),
            rsa(),
            line("ssh-dss", &[&[1], &[2], &[3], &[4]]),
            line("ecdsa-sha2-nistp256", &[b"nistp256", &point(65)]),
            line("ecdsa-sha2-nistp384", &[b"nistp384", &point(97)]),
            line("ecdsa-sha2-nistp521", &[b"nistp521", &point(133)]),
        ];
        for key in &keys {
            assert_eq!(check("ssh_public_key", key).as_deref(), Ok(key.as_str()));
            assert!(check("ssh_public_key", &format!("{key} me@example.com at work")).is_ok());
        }
    }

    #[test]
    fn blanks_round_the_list_go_but_an_empty_line_inside_is_refused() {
        assert_eq!(check("k", &format!("  {}\n\n", rsa())), Ok(rsa()));
        assert_eq!(check("k", " \n"), Ok(String::new()));
        assert!(check("k", &format!("{}\r\n{}", rsa(), ed25519())).is_ok());
        let refusal = check("k", &format!("{}\n\n{}", rsa(), ed25519())).unwrap_err();
        assert!(refusal.starts_with("k, line 2:"), "{refusal}");
    }

    #[test]
    fn damaged_and_unknown_keys_are_refused() {
        let good = ed25519();
        let cut = &good[..good.len() - 8];
        let renamed = good.replacen("ssh-ed25519", "ssh-rsa", 1);
        let negative = line("ssh-rsa", &[&[1, 0, 1], &[0x95; 256]]);
        let long = line("ssh-ed25519", &[&[7; 32], &[1]]);
        for bad in [
            cut,
            &renamed,
            &negative,
            &long,
            "ssh-rsa",
            "ssh-rsa !!!",
            "no-pty ssh-rsa AAAA",
            "hello",
        ] {
            assert!(check("k", bad).is_err(), "{bad}");
        }
    }
}
