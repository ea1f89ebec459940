//! Whether the kernel runs on a physical machine, in a virtual one or in a partition of one.

use tierscope_rootfs::Reader;

/// Said of a container of `OpenVZ`, whose kernel shows it its share of the host.
pub const OPENVZ: &str = "openvz-container";
/// Said of a container over some of whose files lxcfs has mounted its own.
pub const LXCFS: &str = "lxcfs-container";
/// Said of a partition of POWER.
pub const POWERVM: &str = "powervm-guest";
const NONE: &str = "none";
/// Who made the machine, as firmware says, and what that means.
const MAKERS: [(&str, &str); 8] = [
    ("QEMU", "kvm-guest"),
    ("KVM", "kvm-guest"),
    ("Amazon EC2", "kvm-guest"),
    ("Alibaba Cloud ECS", "kvm-guest"),
    ("Google Compute Engine", "kvm-guest"),
    ("OpenStack", "kvm-guest"),
    ("VMware", "vmware-guest"),
    ("Xen", "xen-guest"),
];
/// Microsoft makes physical machines too: the processor's flag or the name of the model says that one is virtual.
const MICROSOFT: &str = "microsoft";
const HYPERV: &str = "microsoft corporation virtual machine";
/// Of the size of a machine that Amazon lets as a whole, with its maker's name unchanged.
const METAL: &str = ".metal";
/// Where SMBIOS says that it describes a virtual machine: the second extension byte of BIOS characteristics, bit 4 (DMTF
/// DSP0134, 7.1.2.2). Root may read it.
const SMBIOS_BIOS: &str = "/sys/firmware/dmi/entries/0-0/raw";
const SMBIOS_EXTENSION: usize = 0x13;
const SMBIOS_VIRTUAL: u8 = 1 << 4;

/// The kind of guest, such as `kvm-guest`, [`OPENVZ`] or [`LXCFS`]; `none` for a physical machine; `None` where nothing tells.
pub fn kind(reader: &mut Reader) -> Option<&'static str> {
    let has = |path: &str| reader.root().join(path).exists();
    // OpenVZ shows its containers the former, and its host both.
    if has("/proc/vz") && !has("/proc/bc") {
        return Some(OPENVZ);
    }
    if has_lxcfs_over_proc(reader) {
        return Some(LXCFS);
    }
    if let Some(kind) = of_power(reader).or_else(|| of_z(reader)) {
        return Some(kind);
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
    let maker = maker.to_lowercase();
    let mut makers = MAKERS.iter();
    let known = makers.find(|(name, _)| maker.contains(&name.to_lowercase()));
    let by_name = known.map(|(_, kind)| *kind);
    match virtual_flag(reader) {
        Some(false) => Some(NONE),
        Some(true) if maker.contains(MICROSOFT) => Some("hyperv-guest"),
        Some(true) => by_name.or(Some("guest")),
        // Without a flag of the processor (arm64) the names alone tell.
        None if maker.contains(METAL) => Some(NONE),
        None if maker.contains(HYPERV) => Some("hyperv-guest"),
        None => by_name.or_else(|| smbios_says_virtual(reader).then_some("guest")),
    }
}

/// Whether lxcfs has mounted its own over `/proc/meminfo`. What the first process sees mounted is what the root is of; others
/// may have an own `/proc` beside it.
fn has_lxcfs_over_proc(reader: &mut Reader) -> bool {
    const FIRST: &str = "/proc/1";
    const MOUNTS_BYTES: u64 = 4 << 20;
    let mut is_there = false;
    let mut look = |reader: &mut Reader, path: &str| {
        let path = reader.root().join(path);
        reader.each_line(&path, MOUNTS_BYTES, |line| {
            let mut words = line.split(' ').skip(1);
            is_there |= words.next() == Some("/proc/meminfo") && words.next() == Some("fuse.lxcfs");
        })
    };
    let of_first = look(reader, "/proc/1/mounts").is_ok();
    let is_own = reader.root().is_live() || !reader.root().join(FIRST).exists();
    if !of_first && is_own {
        // Without this file nothing is mounted, as far as this shows.
        let _absent = look(reader, "/proc/mounts");
    }
    is_there
}

/// Of POWER, by what firmware puts into the device tree. Xen puts a hypervisor there as well, on arm64.
fn of_power(reader: &mut Reader) -> Option<&'static str> {
    const TREE: &str = "/proc/device-tree";
    let hypervisor = reader.read(&format!("{TREE}/hypervisor/compatible"));
    if hypervisor.is_ok_and(|names| names.contains("linux,kvm")) {
        return Some("kvm-guest");
    }
    let has = |name: &str| reader.root().join(&format!("{TREE}/{name}")).exists();
    match (has("ibm,opal"), has("ibm,partition-name")) {
        (true, _) => Some(NONE),
        (false, true) => Some(POWERVM),
        (false, false) => None,
    }
}

/// Of IBM Z: whether there is a control program between the kernel and its partition. A partition alone has memory of its
/// own.
fn of_z(reader: &mut Reader) -> Option<&'static str> {
    const PROGRAM: &str = "VM00 Control Program:";
    let text = reader.read("/proc/sysinfo").ok()?;
    let program = text.lines().find_map(|line| line.strip_prefix(PROGRAM));
    Some(match program.map(str::trim) {
        Some(program) if program.starts_with("KVM") => "kvm-guest",
        Some(program) if program.starts_with("z/VM") => "zvm-guest",
        Some(_) => "guest",
        None => NONE,
    })
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

fn smbios_says_virtual(reader: &Reader) -> bool {
    let raw = tierscope_rootfs::read_plain(&reader.root().join(SMBIOS_BIOS)).unwrap_or_default();
    raw.get(SMBIOS_EXTENSION)
        .is_some_and(|byte| byte & SMBIOS_VIRTUAL != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake_root;

    fn of(files: &[(&str, &str)]) -> Option<&'static str> {
        let (_directory, mut reader) = fake_root::reader(files);
        kind(&mut reader)
    }

    #[test]
    fn without_a_flag_of_the_processor_firmware_tells() {
        const ARM: (&str, &str) = ("proc/cpuinfo", "processor : 0\nFeatures : fp asimd\n");
        let by_names = |vendor: &str, product: &str| {
            of(&[
                ARM,
                ("sys/class/dmi/id/sys_vendor", vendor),
                ("sys/class/dmi/id/product_name", product),
            ])
        };
        assert_eq!(by_names("Amazon EC2\n", "m7g.16xlarge\n"), Some("kvm-guest"));
        assert_eq!(by_names("Amazon EC2\n", "m7g.metal\n"), Some("none"));
        assert_eq!(by_names("Amazon EC2\n", "c8g.metal-48xl\n"), Some("none"));
        assert_eq!(
            by_names("Alibaba Cloud\n", "Alibaba Cloud ECS\n"),
            Some("kvm-guest")
        );
        assert_eq!(
            by_names("Microsoft Corporation\n", "Virtual Machine\n"),
            Some("hyperv-guest")
        );
        assert_eq!(by_names("Microsoft Corporation\n", "Surface Pro\n"), None);
        let bios = "\0".repeat(SMBIOS_EXTENSION) + "\u{10}";
        assert_eq!(
            of(&[ARM, ("sys/firmware/dmi/entries/0-0/raw", &bios)]),
            Some("guest")
        );
    }

    #[test]
    fn files_of_lxcfs_over_those_of_the_kernel_tell_a_container() {
        const OVER: &str = "lxcfs /proc/meminfo fuse.lxcfs rw,nosuid,nodev,relatime 0 0\n";
        const HOST: &str = "lxcfs /var/lib/lxcfs fuse.lxcfs rw,nosuid,nodev,relatime 0 0\n";
        assert_eq!(of(&[("proc/mounts", OVER)]), Some(LXCFS));
        assert_eq!(of(&[("proc/1/mounts", OVER)]), Some(LXCFS));
        assert_eq!(of(&[("proc/mounts", HOST)]), None);
        assert_eq!(
            of(&[("proc/mounts", OVER), ("proc/1/mounts", HOST)]),
            None,
            "a container with the files of its host"
        );
        assert_eq!(
            of(&[("proc/mounts", OVER), ("proc/1/stat", "1 (init) S")]),
            None,
            "whose mounts these are is not known"
        );
    }

    #[test]
    fn partitions_and_guests_of_other_architectures_are_told_apart() {
        assert_eq!(of(&[("proc/device-tree/ibm,opal/compatible", "x")]), Some("none"));
        let name = ("proc/device-tree/ibm,partition-name", "lpar1");
        assert_eq!(of(&[name]), Some("powervm-guest"));
        assert_eq!(
            of(&[name, ("proc/device-tree/hypervisor/compatible", "linux,kvm")]),
            Some("kvm-guest")
        );
        let xen = ("proc/device-tree/hypervisor/compatible", "xen,xen-4.19");
        assert_eq!(of(&[xen]), None, "a host of Xen on arm64 has it, too");
        let partition = "Manufacturer: IBM\nLPAR Number: 29\n";
        assert_eq!(of(&[("proc/sysinfo", partition)]), Some("none"));
        let guest = format!("{partition}VM00 Control Program: z/VM    7.3.0\n");
        assert_eq!(of(&[("proc/sysinfo", &guest)]), Some("zvm-guest"));
        let guest = format!("{partition}VM00 Control Program: KVM/Linux\n");
        assert_eq!(of(&[("proc/sysinfo", &guest)]), Some("kvm-guest"));
    }
}
