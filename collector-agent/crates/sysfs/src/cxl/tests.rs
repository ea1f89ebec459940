#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use super::*;
use crate::fake_root;

#[test]
fn devices_and_regions_are_read_and_other_objects_of_the_bus_are_not() {
    let (_directory, mut reader) = fake_root::reader(&[
        ("sys/bus/cxl/devices/region0/resource", "0x5e0000000\n"),
        ("sys/bus/cxl/devices/region0/size", "0x40000000\n"),
        ("sys/bus/cxl/devices/region0/commit", "1\n"),
        ("sys/bus/cxl/devices/region0/mode", "ram\n"),
        ("sys/bus/cxl/devices/region0/interleave_ways", "2\n"),
        ("sys/bus/cxl/devices/region0/interleave_granularity", "256\n"),
        ("sys/bus/cxl/devices/region0/access0/read_latency", "250\n"),
        ("sys/bus/cxl/devices/region0/target0", "decoder2.0\n"),
        ("sys/bus/cxl/devices/region0/target1", "\n"),
        ("sys/bus/cxl/devices/mem0/serial", "0x1234\n"),
        ("sys/bus/cxl/devices/mem0/numa_node", "-1\n"),
        ("sys/bus/cxl/devices/mem0/ram/size", "0x40000000\n"),
        ("sys/bus/cxl/devices/dax_region0/modalias", "cxl:t8\n"),
    ]);
    let regions = regions(&mut reader);
    assert_eq!(regions.len(), 1);
    assert_eq!(
        (
            regions[0].resource,
            regions[0].committed,
            regions[0].interleave_ways
        ),
        (Some(0x5_e000_0000), Some(true), Some(2))
    );
    assert_eq!(regions[0].targets, ["decoder2.0"]);
    assert_eq!(regions[0].ratings.read_latency_ns, Some(250));
    let memory = memory(&mut reader);
    assert_eq!((memory[0].ram_bytes, memory[0].numa_node), (Some(1 << 30), None));
    assert_eq!(memory[0].pci, None, "a recording without links");
}

#[test]
fn the_link_is_that_of_the_pci_function_above_the_device() {
    let function = "sys/devices/pci0000:34/0000:34:00.0/0000:35:00.0";
    let file = |name: &str| format!("{function}/{name}");
    let (directory, mut reader) = fake_root::reader(&[
        (&file("current_link_speed"), "16.0 GT/s PCIe\n"),
        (&file("current_link_width"), "8\n"),
        (&file("max_link_speed"), "32.0 GT/s PCIe\n"),
        (&file("max_link_width"), "16\n"),
        (
            &file("aer_dev_correctable"),
            "RxErr 2\nBadTLP 1\nTOTAL_ERR_COR 3\n",
        ),
        (&file("aer_dev_fatal"), "Undefined 0\nTOTAL_ERR_FATAL 0\n"),
        (&file("mem0/serial"), "0x1\n"),
        ("sys/devices/pci0000:34/0000:34:00.0/max_link_speed", "Unknown\n"),
        ("sys/devices/pci0000:34/0000:34:00.0/max_link_width", "8\n"),
        ("sys/bus/cxl/devices/root0/devtype", "cxl_port\n"),
    ]);
    std::os::unix::fs::symlink(
        "../../../devices/pci0000:34/0000:34:00.0/0000:35:00.0/mem0",
        directory.path().join("sys/bus/cxl/devices/mem0"),
    )
    .unwrap();
    let memory = memory(&mut reader);
    assert_eq!(memory[0].serial, "0x1");
    let pci = memory[0].pci.as_ref().unwrap();
    assert_eq!(pci.address, "0000:35:00.0");
    assert_eq!(
        (pci.current.decigigatransfers, pci.current.width),
        (Some(160), Some(8))
    );
    assert_eq!((pci.max.decigigatransfers, pci.max.width), (Some(320), Some(16)));
    assert_eq!(
        (pci.port_max.decigigatransfers, pci.port_max.width),
        (None, Some(8))
    );
    assert_eq!(
        (pci.errors.correctable, pci.errors.nonfatal, pci.errors.fatal),
        (Some(3), None, Some(0))
    );
}

#[test]
fn speeds_are_tenths_of_a_gigatransfer() {
    assert_eq!(decigigatransfers("2.5 GT/s PCIe"), Some(25));
    assert_eq!(decigigatransfers("64.0 GT/s PCIe"), Some(640));
    assert_eq!(decigigatransfers("Unknown"), None);
}
