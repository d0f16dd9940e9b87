//! Where the partition of container storage begins.

/// Why the partition cannot begin there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// The text is no place.
    #[error("extraPartitionStart {0} is no size")]
    NoSize(String),
    /// The disk is smaller.
    #[error("a partition of {size} does not fit on a disk of {disk_mib} MiB")]
    TooLarge {
        /// As it was asked for.
        size: String,
        /// Size of the disk.
        disk_mib: u64,
    },
}

/// A place that `sfdisk` understands.
///
/// # Errors
/// The text is no place, or the disk is too small for it.
pub fn start(text: &str, disk_bytes: u64, sector: u64) -> Result<String, PartitionError> {
    let Some(size) = text.strip_prefix('-') else {
        return Ok(text.to_owned());
    };
    let bytes = bytes(size).ok_or_else(|| PartitionError::NoSize(text.to_owned()))?;
    let sector = sector.max(512);
    let Some(left) = disk_bytes.checked_sub(bytes) else {
        return Err(PartitionError::TooLarge {
            size: size.to_owned(),
            disk_mib: disk_bytes >> 20,
        });
    };
    let aligned = (1 << 20) / sector;
    Ok((left / sector / aligned.max(1) * aligned.max(1)).to_string())
}

/// `40G`, `1.5T`, `512MB`; binary multiples.
fn bytes(text: &str) -> Option<u64> {
    let text = text.strip_suffix('B').unwrap_or(text);
    let unit = text.chars().last()?;
    let (number, shift) = match "KMGTP".find(unit) {
        Some(at) => (&text[..text.len() - 1], 10 * (at + 1)),
        None => (text, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = whole.parse().ok()?;
    let mut bytes = whole.checked_mul(1 << shift)?;
    if !part.is_empty() {
        let digits = part.get(..part.len().min(6))?;
        let numerator: u64 = digits.parse().ok()?;
        let denominator = 10_u64.pow(u32::try_from(digits.len()).ok()?);
        bytes = bytes.checked_add((1_u64 << shift) / denominator * numerator)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{PartitionError, start};

    #[test]
    fn places_from_the_end_are_aligned_sectors() {
        assert_eq!(
            start("-40G", 100 << 30, 512).unwrap(),
            ((60_u64 << 30) / 512).to_string()
        );
        assert_eq!(
            start("-1M", (10 << 20) + 1000, 512).unwrap(),
            ((9_u64 << 20) / 512).to_string()
        );
        assert_eq!(
            start("-40G", 100 << 30, 4096).unwrap(),
            ((60_u64 << 30) / 4096).to_string()
        );
        assert_eq!(
            start("-1.5G", 2 << 30, 512).unwrap(),
            ((512_u64 << 20) / 512).to_string()
        );
        assert_eq!(
            start("50G", 1, 512).unwrap(),
            "50G",
            "others go to sfdisk unchanged"
        );
        assert_eq!(
            start("-40G", 20 << 30, 512),
            Err(PartitionError::TooLarge {
                size: "40G".into(),
                disk_mib: 20 << 10
            })
        );
        assert_eq!(
            start("-many", 20 << 30, 512),
            Err(PartitionError::NoSize("-many".into()))
        );
    }
}
