//! Numbers as ISO 9660 writes them: often twice, once in each byte order.

/// Little-endian u16 at `at`; 0 when the bytes are not there.
pub fn le16(bytes: &[u8], at: usize) -> u16 {
    array(bytes, at).map_or(0, u16::from_le_bytes)
}

/// Little-endian u32 at `at`; 0 when the bytes are not there.
pub fn le32(bytes: &[u8], at: usize) -> u32 {
    array(bytes, at).map_or(0, u32::from_le_bytes)
}

/// Little-endian u64 at `at`; 0 when the bytes are not there.
pub fn le64(bytes: &[u8], at: usize) -> u64 {
    array(bytes, at).map_or(0, u64::from_le_bytes)
}

/// A u32 in both byte orders.
pub fn both32(value: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&value.to_le_bytes());
    bytes[4..].copy_from_slice(&value.to_be_bytes());
    bytes
}

/// A u16 in both byte orders.
pub fn both16(value: u16) -> [u8; 4] {
    let (little, big) = (value.to_le_bytes(), value.to_be_bytes());
    [little[0], little[1], big[0], big[1]]
}

/// Overwrites part of a buffer that is known to be long enough.
pub fn put(buffer: &mut [u8], at: usize, bytes: &[u8]) {
    buffer[at..at + bytes.len()].copy_from_slice(bytes);
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}
