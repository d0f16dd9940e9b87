//! Boot loader files as text, for images without areas for kernel arguments.
//!
//! GRUB has them behind the kernel's path on the `linux` line, isolinux on the `append` line
//! together with the list of initrds.

use crate::{
    edit::Editor,
    error::{Error, Result},
    iso9660::{Iso, Kind},
    kargs::words::split,
    view::View,
};

const LARGEST: u64 = 1024 * 1024;

/// The boot loader files an image has.
pub(super) fn files(iso: &Iso) -> Result<Vec<String>> {
    let mut candidates = Vec::new();
    match iso.find("EFI") {
        Ok(efi) if efi.kind == Kind::Directory => {
            let vendors = iso.list(&efi)?;
            candidates.extend(
                vendors
                    .iter()
                    .map(|vendor| format!("EFI/{}/grub.cfg", vendor.name)),
            );
        }
        Ok(_) | Err(Error::NotFound { .. }) => {}
        Err(error) => return Err(error),
    }
    candidates.extend(["boot/grub/grub.cfg".into(), "isolinux/isolinux.cfg".into()]);
    let mut found = Vec::new();
    for path in candidates {
        if text(iso, &path)?.is_some_and(|text| text.lines().any(|line| arguments(line).is_some()))
        {
            found.push(path);
        }
    }
    Ok(found)
}

/// The arguments in the first file.
pub(super) fn current(iso: &Iso, files: &[String]) -> Result<Option<String>> {
    let Some(first) = files.first() else {
        return Ok(None);
    };
    Ok(text(iso, first)?.and_then(|text| text.lines().find_map(arguments)))
}

pub(super) fn agree(iso: &Iso, files: &[String]) -> Result<()> {
    let mut seen: Option<(&String, String)> = None;
    for file in files {
        let text = text(iso, file)?.unwrap_or_default();
        for here in text.lines().filter_map(arguments) {
            match &seen {
                Some((first, there)) if *there != here => {
                    let (first, second) = ((*first).clone(), file.clone());
                    return Err(Error::KernelArgumentsDiffer { first, second });
                }
                Some(_) => {}
                None => seen = Some((file, here)),
            }
        }
    }
    Ok(())
}

pub(super) fn write(editor: &mut Editor, files: &[String], arguments: &str) -> Result<()> {
    for file in files {
        let old = text(editor.iso(), file)?.unwrap_or_default();
        let new: String = old
            .split_inclusive('\n')
            .map(|line| rewritten(line, arguments))
            .collect();
        editor.replace_file(file, &View::bytes(new.into_bytes()))?;
    }
    Ok(())
}

fn text(iso: &Iso, path: &str) -> Result<Option<String>> {
    let bytes = iso.small_file(path, LARGEST)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// The words of a line that are not kernel arguments, and those that are.
fn parts(line: &str) -> Option<(Vec<&str>, Vec<&str>)> {
    let mut words = split(line);
    match words.next()? {
        command @ ("linux" | "linuxefi" | "linux16") => {
            Some((vec![command, words.next()?], words.collect()))
        }
        command if command.eq_ignore_ascii_case("append") => {
            let (initrds, arguments) = words.partition(|word| word.starts_with("initrd="));
            let fixed: Vec<&str> = initrds;
            Some(([vec![command], fixed].concat(), arguments))
        }
        _ => None,
    }
}

fn arguments(line: &str) -> Option<String> {
    parts(line).map(|(_, arguments)| arguments.join(" "))
}

fn rewritten(line: &str, arguments: &str) -> String {
    let Some((fixed, _)) = parts(line) else {
        return line.to_owned();
    };
    let body = line.trim_start();
    let indent = &line[..line.len() - body.len()];
    let end = &body[body.trim_end().len()..];
    format!("{indent}{} {arguments}{end}", fixed.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_arguments_of_a_line_change() {
        for (line, new) in [
            ("  linux /vmlinuz a b\n", "  linux /vmlinuz NEW\n"),
            (
                "\tappend initrd=/i.img,/j.img a\r\n",
                "\tappend initrd=/i.img,/j.img NEW\r\n",
            ),
            ("  initrd /i.img\n", "  initrd /i.img\n"),
            ("\n", "\n"),
        ] {
            assert_eq!(rewritten(line, "NEW"), new);
        }
        assert_eq!(arguments("linux /vmlinuz a  b").as_deref(), Some("a b"));
        assert_eq!(arguments("initrd /i.img"), None);
    }
}
