//! What is mounted where, as the first process of the machine sees it.

use crate::Machine;

/// One mount.
#[derive(Debug, PartialEq, Eq)]
pub struct Mount {
    /// Major and minor number of the device, as in sysfs `dev` files.
    pub device: String,
    /// What is mounted, often a path under `/dev`.
    pub source: String,
    /// Where.
    pub target: String,
}

/// The mounts of the machine, oldest first.
pub fn mounts(machine: &dyn Machine) -> Vec<Mount> {
    // Our own view may be that of a container.
    ["/proc/1/mountinfo", "/proc/self/mountinfo"]
        .iter()
        .find_map(|path| machine.text(path))
        .map(|text| text.lines().filter_map(mount).collect())
        .unwrap_or_default()
}

fn mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(2);
    let (device, target) = (before.next()?, before.nth(1)?);
    Some(Mount {
        device: device.to_owned(),
        source: unescaped(after.split(' ').nth(1)?),
        target: unescaped(target),
    })
}

/// The kernel writes blanks and the like as a backslash and three octal digits.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = match first {
            b'\\' => after
                .get(..3)
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 8).ok()),
            _ => None,
        };
        bytes.push(octal.unwrap_or(*first));
        rest = match octal {
            Some(_) => &after[3..],
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_kernel_is_taken_apart() {
        let line =
            r"36 25 8:1 / /run/my\040iso ro,relatime shared:1 master:2 - iso9660 /dev/sda1 ro";
        let expected = Mount {
            device: "8:1".into(),
            source: "/dev/sda1".into(),
            target: "/run/my iso".into(),
        };
        assert_eq!(mount(line), Some(expected));
        assert_eq!(mount("36 25 8:1"), None);
    }
}
