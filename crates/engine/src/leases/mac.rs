//! The MAC address under which a virtual address is leased.
//!
//! Every host asks the DHCP server in the name of the same card, so every request gets the same
//! address. The card's number follows from the cluster's id: a prefix of the vendor's range and
//! three bytes of Pearson's hash with the table of RFC 3074.

use muster_model::ClusterId;

use super::Kind;

const PREFIX: [u8; 3] = [0x00, 0x1a, 0x4a];

/// The permutation of RFC 3074, section 6.
#[rustfmt::skip]
const SHUFFLE: [u8; 256] = [
    251, 175, 119, 215, 81, 14, 79, 191, 103, 49, 181, 143, 186, 157, 0, 232,
    31, 32, 55, 60, 152, 58, 17, 237, 174, 70, 160, 144, 220, 90, 57, 223,
    59, 3, 18, 140, 111, 166, 203, 196, 134, 243, 124, 95, 222, 179, 197, 65,
    180, 48, 36, 15, 107, 46, 233, 130, 165, 30, 123, 161, 209, 23, 97, 16,
    40, 91, 219, 61, 100, 10, 210, 109, 250, 127, 22, 138, 29, 108, 244, 67,
    207, 9, 178, 204, 74, 98, 126, 249, 167, 116, 34, 77, 193, 200, 121, 5,
    20, 113, 71, 35, 128, 13, 182, 94, 25, 226, 227, 199, 75, 27, 41, 245,
    230, 224, 43, 225, 177, 26, 155, 150, 212, 142, 218, 115, 241, 73, 88, 105,
    39, 114, 62, 255, 192, 201, 145, 214, 168, 158, 221, 148, 154, 122, 12, 84,
    82, 163, 44, 139, 228, 236, 205, 242, 217, 11, 187, 146, 159, 64, 86, 239,
    195, 42, 106, 198, 118, 112, 184, 172, 87, 2, 173, 117, 176, 229, 247, 253,
    137, 185, 99, 164, 102, 147, 45, 66, 231, 52, 141, 211, 194, 206, 246, 238,
    56, 110, 78, 248, 63, 240, 189, 93, 92, 51, 53, 183, 19, 171, 72, 50,
    33, 104, 101, 69, 8, 252, 83, 120, 76, 135, 85, 54, 202, 125, 188, 213,
    96, 235, 136, 208, 162, 129, 190, 132, 156, 38, 47, 1, 7, 254, 24, 4,
    216, 131, 89, 21, 28, 133, 37, 153, 149, 80, 170, 68, 6, 169, 234, 151,
];

/// The MAC address under which the address of one kind is leased.
pub(super) fn of(cluster: ClusterId, kind: Kind) -> String {
    let name = format!("{cluster}-{kind}");
    let [a, b, c] = PREFIX;
    let [d, e, f] = [0, 1, 2].map(|salt| hash(name.as_bytes(), salt));
    format!("{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{f:02x}")
}

fn hash(text: &[u8], salt: u8) -> u8 {
    let first = text.first().copied().unwrap_or(0).wrapping_add(salt);
    let start = SHUFFLE[usize::from(first)];
    text.iter()
        .fold(start, |so_far, byte| SHUFFLE[usize::from(so_far ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_a_permutation() {
        let mut all = SHUFFLE;
        all.sort_unstable();
        assert!(
            all.iter()
                .enumerate()
                .all(|(i, &byte)| i == usize::from(byte))
        );
    }

    #[test]
    fn each_kind_of_each_cluster_has_a_card_of_its_own_that_never_changes() {
        let one = ClusterId(uuid::Uuid::from_u128(0xC));
        let other = ClusterId(uuid::Uuid::from_u128(0xD));
        let macs = [
            of(one, Kind::Api),
            of(one, Kind::Ingress),
            of(other, Kind::Api),
        ];
        assert!(
            macs.iter()
                .all(|mac| mac.starts_with("00:1a:4a:") && mac.len() == 17)
        );
        assert!(macs[0] != macs[1] && macs[0] != macs[2]);
        assert_eq!(macs[0], of(one, Kind::Api));
    }

    #[test]
    fn the_hash_is_pearsons() {
        // By hand: start T['a' + 0] = T[97]; then T[T[97] ^ 'a'].
        let start = SHUFFLE[97];
        assert_eq!(hash(b"a", 0), SHUFFLE[usize::from(start ^ 97)]);
        assert_eq!(start, 113);
        assert_eq!(hash(b"a", 0), SHUFFLE[16]);
    }
}
