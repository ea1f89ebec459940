//! Whether the host is a virtual machine, or runs some.

use tierscope_rootfs::Reader;
use tierscope_sample::service::RuleKind;

use tierscope_host::services::Discovered;

use super::container_view::OPENVZ;

/// Who made the machine, as firmware says, and what that means.
const MAKERS: [(&str, &str); 6] = [
    ("QEMU", "kvm-guest"),
    ("KVM", "kvm-guest"),
    ("Amazon EC2", "kvm-guest"),
    ("VMware", "vmware-guest"),
    ("Microsoft", "hyperv-guest"),
    ("Xen", "xen-guest"),
];
/// Beginnings of names of programs that run a virtual machine each.
const MONITORS: [&str; 4] = ["qemu-system", "qemu-kvm", "cloud-hypervis", "firecracker"];

/// `kvm-host` where virtual machines run on it, a kind of guest where it is one, `none` where the processor says that it
/// is neither, "" where nothing tells.
pub(super) fn describe(reader: &mut Reader, discovered: &Discovered) -> String {
    let is_host = discovered.processes.iter().any(|process| {
        process.rule == RuleKind::Libvirt || MONITORS.iter().any(|name| process.group.starts_with(name))
    });
    let guest = guest(reader);
    match (is_host, guest) {
        (true, Some("none") | None) => "kvm-host".to_owned(),
        (true, Some(guest)) => format!("{guest}, kvm-host"),
        (false, guest) => guest.unwrap_or_default().to_owned(),
    }
}

/// The kind of guest, `none` for a physical machine; `None` where nothing tells.
fn guest(reader: &mut Reader) -> Option<&'static str> {
    let has = |path: &str| reader.root().join(path).exists();
    // OpenVZ shows its containers the former, and its host both.
    if has("/proc/vz") && !has("/proc/bc") {
        return Some(OPENVZ);
    }
    let mut maker = String::new();
    for file in [
        "/sys/class/dmi/id/sys_vendor",
        "/sys/class/dmi/id/product_name",
        "/sys/hypervisor/type",
    ] {
        maker.push_str(reader.value(file).unwrap_or_default());
        maker.push(' ');
    }
    let known = MAKERS
        .iter()
        .find(|(name, _)| maker.to_lowercase().contains(&name.to_lowercase()));
    let flags = virtual_flag(reader);
    match (flags, known) {
        // Microsoft makes physical machines too; only the processor's flag says that this one is virtual.
        (Some(false), _) => Some("none"),
        (Some(true), Some((_, kind))) => Some(*kind),
        (Some(true), None) => Some("guest"),
        (None, Some((name, kind))) if *name != "Microsoft" => Some(*kind),
        (None, _) => None,
    }
}

/// Whether the processor says that a hypervisor is below it (x86); `None` where its flags are not shown.
fn virtual_flag(reader: &mut Reader) -> Option<bool> {
    let mut flags = None;
    let path = reader.root().join("/proc/cpuinfo");
    reader
        .each_line(&path, 64 << 10, |line| {
            if flags.is_none() && line.starts_with("flags") {
                flags = Some(line.split_ascii_whitespace().any(|flag| flag == "hypervisor"));
            }
        })
        .ok()?;
    flags
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root::FakeRoot;
    use tierscope_host::names::NamePolicy;
    use tierscope_host::services::{Rules, discover};

    fn of(root: &FakeRoot) -> String {
        let discovered = discover(&root.root(), &Rules::new(NamePolicy::plain()));
        describe(&mut Reader::new(root.root()), &discovered)
    }

    #[test]
    fn a_guest_a_host_and_a_machine_are_told_apart() {
        let root = FakeRoot::new();
        assert_eq!(of(&root), "", "nothing tells");
        root.write("sys/class/dmi/id/sys_vendor", "QEMU\n");
        assert_eq!(of(&root), "kvm-guest");
        root.write("proc/cpuinfo", "processor : 0\nflags\t: fpu hypervisor lm\n");
        assert_eq!(of(&root), "kvm-guest");
        root.write("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n");
        assert_eq!(of(&root), "hyperv-guest");
        root.write("proc/cpuinfo", "processor : 0\nflags\t: fpu lm\n");
        assert_eq!(of(&root), "none", "Microsoft makes machines, too");
        root.write(
            "proc/9/stat",
            "9 (qemu-system-x86) S 1 0 0 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 900 0 0",
        );
        root.write(
            "proc/9/cmdline",
            "/usr/bin/qemu-system-x86_64\0-name\0guest=web,debug-threads=on\0",
        );
        root.write("proc/9/cgroup", "0::/system.slice/libvirtd.service\n");
        assert_eq!(of(&root), "kvm-host");
    }
}
