//! Joliet: the second tree, with names in UCS-2.

/// Whether a supplementary descriptor announces one of the three Joliet levels.
pub fn is_joliet(descriptor: &[u8]) -> bool {
    descriptor
        .get(88..91)
        .is_some_and(|escape| matches!(escape, b"%/@" | b"%/C" | b"%/E"))
}

/// Big-endian UCS-2 without the version suffix.
pub fn decode(bytes: &[u8]) -> String {
    let units = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_be_bytes([pair[0], pair[1]]));
    let name: String = char::decode_utf16(units)
        .map(|unit| unit.unwrap_or('\u{fffd}'))
        .collect();
    let name = name.trim_end_matches([' ', '\0']);
    name.strip_suffix(";1").unwrap_or(name).to_owned()
}

/// A name in big-endian UCS-2, cut to `most` characters.
pub fn encode(name: &str, most: usize) -> Vec<u8> {
    name.encode_utf16()
        .take(most)
        .flat_map(u16::to_be_bytes)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_survive_the_way_there_and_back() {
        for name in ["initrd.addrsize", "Übung.txt", "a"] {
            assert_eq!(decode(&encode(name, 64)), name);
        }
        assert_eq!(decode(&encode("kargs.json;1", 64)), "kargs.json");
    }
}
