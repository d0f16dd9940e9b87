//! Where the partition of container storage begins.

/// A place that `sfdisk` understands.
///
/// # Errors
/// The text is no place, or the disk is too small for it.
pub fn start(text: &str, disk_bytes: u64, sector: u64) -> Result<String, String> {
    let Some(size) = text.strip_prefix('-') else {
        return Ok(text.to_owned());
    };
    let bytes = bytes(size).ok_or_else(|| format!("extraPartitionStart {text} is no size"))?;
    let sector = sector.max(512);
    let Some(left) = disk_bytes.checked_sub(bytes) else {
        return Err(format!(
            "a partition of {size} does not fit on a disk of {} MiB",
            disk_bytes >> 20
        ));
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
    use super::start;

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
        assert!(start("-40G", 20 << 30, 512).is_err());
        assert!(start("-many", 20 << 30, 512).is_err());
    }
}
