//! Whether the host is a virtual machine, or runs some.

use tierscope_rootfs::Reader;
use tierscope_sample::service::RuleKind;

use tierscope_host::services::Discovered;
use tierscope_sysfs::guest;

/// Beginnings of names of programs that run a virtual machine each.
const MONITORS: [&str; 4] = ["qemu-system", "qemu-kvm", "cloud-hypervis", "firecracker"];

/// `kvm-host` where virtual machines run on it, a kind of guest where it is one, `none` where the processor says that it
/// is neither, "" where nothing tells.
pub(super) fn describe(reader: &mut Reader, discovered: &Discovered) -> String {
    let is_host = discovered.processes.iter().any(|process| {
        process.rule == RuleKind::Libvirt || MONITORS.iter().any(|name| process.group.starts_with(name))
    });
    let guest = guest::kind(reader);
    match (is_host, guest) {
        (true, Some("none") | None) => "kvm-host".to_owned(),
        (true, Some(guest)) => format!("{guest}, kvm-host"),
        (false, guest) => guest.unwrap_or_default().to_owned(),
    }
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
