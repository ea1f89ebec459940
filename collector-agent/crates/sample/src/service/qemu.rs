//! The name of a virtual machine, from the command line of the program that runs it.

/// The guest of a QEMU process: `-name guest=web,debug-threads=on` or `-name web`. `None` for other programs, and for
/// machines without a name.
pub(super) fn guest(group: &str, cmdline: &str) -> Option<String> {
    if !["qemu-system-", "qemu-kvm", "kvm"]
        .iter()
        .any(|name| group.starts_with(name))
    {
        return None;
    }
    let (_, rest) = cmdline.split_once(" -name ")?;
    // A name may hold spaces; the next option ends it.
    let value = rest.split(" -").next()?;
    let mut parts = value.split(',');
    let named = parts.clone().find_map(|part| part.strip_prefix("guest="));
    let name = named
        .or_else(|| parts.next().filter(|part| !part.contains('=')))?
        .trim();
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_named_in_both_spellings() {
        let of = |line: &str| guest("qemu-system-x86_64", line);
        assert_eq!(
            of("qemu -name guest=web vm,debug-threads=on -S").as_deref(),
            Some("web vm")
        );
        assert_eq!(of("qemu -m 4096 -name db -nographic").as_deref(), Some("db"));
        assert_eq!(of("qemu -name debug-threads=on"), None);
        assert_eq!(of("qemu -nographic"), None);
        assert_eq!(guest("bash", "bash -name guest=x"), None);
    }
}
