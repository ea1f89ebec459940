//! A batch as JSON, in the words of the contract: what any reader must find in it.

use serde_json::{Map, Value, json};
use tierscope_opened::Opened;
use tierscope_sample::heat::{Backend, ColumnValue, GapRow, Granularity, HeatRow};
use tierscope_sample::inventory::{CxlDevice, Inventory, NodeBench};
use tierscope_sample::page_sample::PageSample;
use tierscope_sample::tiles::{TileColumn, TileEpoch};
use tierscope_wire::{CounterRow, Layout, Origin, SelfReport};

pub(crate) fn batch(opened: &Opened) -> Value {
    let (header, content) = (&opened.header, &opened.content);
    json!({
        "host_id": header.host_id,
        "stream_id": format!("{:032x}", u128::from_be_bytes(header.stream_id)),
        "seq": header.seq,
        "boot_id": header.boot_id,
        "agent_version": header.agent_version,
        "origin": match header.origin {
            Origin::Live => "live",
            Origin::Import => "import",
            Origin::Simulated => "simulated",
        },
        "sealed_wall_ns": header.sealed_wall_ns,
        "sealed_boottime_ns": header.sealed_boottime_ns,
        "inventory": content.inventory.as_ref().map(inventory),
        "layouts": content.layouts.iter().map(|layout| self::layout(layout)).collect::<Vec<_>>(),
        "counters": content.counters.iter().map(counters).collect::<Vec<_>>(),
        "heat": content.heat.iter().map(heat).collect::<Vec<_>>(),
        "gaps": content.gaps.iter().map(gaps).collect::<Vec<_>>(),
        "tile_epochs": content.tile_epochs.iter().map(epoch).collect::<Vec<_>>(),
        "tile_columns": content.tile_columns.iter().map(column).collect::<Vec<_>>(),
        "page_samples": content.page_samples.iter().map(page_sample).collect::<Vec<_>>(),
        "self": content.self_report.as_ref().map(self_report),
    })
}

fn layout(layout: &Layout) -> Value {
    json!({ "hash": layout.hash_hex(), "keys": layout.keys() })
}

fn counters(row: &CounterRow) -> Value {
    let values: Map<String, Value> = row
        .layout
        .keys()
        .iter()
        .zip(&row.values)
        .map(|(key, value)| (key.to_string(), json!(value)))
        .collect();
    json!({
        "layout_hash": row.layout.hash_hex(),
        "end_wall_ns": row.end_wall_ns,
        "end_boottime_ns": row.end_boottime_ns,
        "boot_id": *row.boot_id,
        "values": values,
    })
}

fn backend(backend: Backend) -> &'static str {
    match backend {
        Backend::Pebs => "pebs",
        Backend::Ibs => "ibs",
        Backend::Spe => "spe",
        Backend::AbitWalk => "abit_walk",
        Backend::IdlePage => "idle_page",
        Backend::DamonPages => "damon_pages",
        Backend::DamonRegions => "damon_regions",
        Backend::Referenced => "referenced",
        Backend::Trace => "trace",
    }
}

fn granularity(granularity: Granularity) -> &'static str {
    match granularity {
        Granularity::Page => "page",
        Granularity::Region => "region",
        Granularity::Vma => "vma",
    }
}

fn heat(row: &HeatRow) -> Value {
    let mut view = json!({
        "backend": backend(row.backend),
        "granularity": granularity(row.granularity),
        "interval_ns": row.interval_ns,
        "end_wall_ns": row.end_wall_ns,
        "end_boottime_ns": row.end_boottime_ns,
        "service": *row.service,
        "group": *row.group,
        "kind": row.kind.name(),
        "page_size_bytes": row.page_size_bytes,
        "tier": row.tier.as_deref(),
        "validity": row.validity,
        "resident_bytes": row.resident_bytes,
        "age_bytes": row.age_bytes,
        "never_bytes": row.never_bytes,
        "active_count_bytes": row.active_count_bytes,
        "active_lo_bytes": row.active_lo_bytes,
        "active_hi_bytes": row.active_hi_bytes,
        "load_samples": row.samples.map(|samples| samples.loads),
        "store_samples": row.samples.map(|samples| samples.stores),
        "period_events": row.period_events,
        "duty_ratio": row.duty_ratio,
        "distinct_pages": row.distinct_pages,
        "f1_pages": row.f1_pages,
        "f2_pages": row.f2_pages,
        "hot_intersection_bytes": row.hot_overlap_bytes.map(|lags| lags.map(|(intersection, _)| intersection)),
        "hot_union_bytes": row.hot_overlap_bytes.map(|lags| lags.map(|(_, union)| union)),
        "bits_per_interval": row.bits_per_interval,
    });
    for (name, value) in row.beside.columns() {
        view[name] = match value {
            None => Value::Null,
            Some(ColumnValue::One(value)) => json!(value),
            Some(ColumnValue::Several(values)) => json!(values),
        };
    }
    view
}

fn gaps(row: &GapRow) -> Value {
    json!({
        "backend": backend(row.backend),
        "granularity": granularity(row.granularity),
        "interval_ns": row.interval_ns,
        "end_wall_ns": row.end_wall_ns,
        "intervals": row.intervals,
        "service": *row.service,
        "group": *row.group,
        "kind": row.kind.name(),
        "closed_bytes": row.closed_bytes.as_slice(),
        "freed_bytes": row.freed_bytes.as_slice(),
        "open_bytes": row.open_bytes.as_slice(),
        "censored_bytes": row.censored_bytes.as_slice(),
    })
}

fn epoch(epoch: &TileEpoch) -> Value {
    let row = |row: &tierscope_sample::tiles::TileRow| {
        json!({
            "kind": row.kind.name(),
            "mapping": *row.mapping,
            "offset_bytes": row.offset_bytes,
            "size_bytes": row.size_bytes,
        })
    };
    json!({
        "epoch_id": epoch.epoch_id,
        "service": *epoch.service,
        "group": *epoch.group,
        "backend": backend(epoch.backend),
        "granularity": granularity(epoch.granularity),
        "interval_ns": epoch.interval_ns,
        "region_bytes": epoch.region_bytes,
        "cell_log2_base": epoch.cell_log2_base,
        "cell_unit": epoch.cell_unit,
        "cell_measure": epoch.cell_measure,
        "rows": epoch.rows.iter().map(row).collect::<Vec<_>>(),
        "start_wall_ns": epoch.start_wall_ns,
    })
}

fn column(column: &TileColumn) -> Value {
    json!({ "epoch_id": column.epoch_id, "end_wall_ns": column.end_wall_ns, "cells": column.cells })
}

fn inventory(inventory: &Inventory) -> Value {
    let nodes = inventory.nodes.iter().map(|node| {
        json!({
            "id": node.id,
            "memory_bytes": node.memory_bytes,
            "cpulist": node.cpulist,
            "tier_class": node.tier_class,
            "tier_evidence": node.tier_evidence,
            "distances": node.distances,
            "read_latency_ns": node.read_latency_ns,
            "write_latency_ns": node.write_latency_ns,
            "read_bandwidth_mib_per_s": node.read_bandwidth_mib_per_s,
            "write_bandwidth_mib_per_s": node.write_bandwidth_mib_per_s,
            "tier_certainty": node.tier_certainty,
            "parts": node.parts.iter().map(|part| json!({
                "tier_class": part.tier_class, "bytes": part.bytes, "evidence": part.evidence,
            })).collect::<Vec<_>>(),
        })
    });
    let tiers = inventory
        .tiers
        .iter()
        .map(|tier| json!({ "kernel_number": tier.kernel_number, "rank": tier.rank, "nodes": tier.nodes }));
    let knobs = inventory
        .knobs
        .iter()
        .map(|knob| json!({ "path": knob.path, "value": knob.value, "unavailable": knob.unavailable }));
    let mut body = json!({
        "hostname": inventory.hostname,
        "kernel_release": inventory.kernel_release,
        "kernel_version": inventory.kernel_version,
        "architecture": inventory.architecture,
        "cpu_model": inventory.cpu_model,
        "cpus_online": inventory.cpus_online,
        "page_size_bytes": inventory.page_size_bytes,
        "dialect": inventory.dialect,
        "cgroup_version": inventory.cgroup_version,
        "nodes": nodes.collect::<Vec<_>>(),
        "tiers": tiers.collect::<Vec<_>>(),
        "knobs": knobs.collect::<Vec<_>>(),
        "collectors": inventory.collectors.iter().map(|collector| json!({
            "name": collector.name, "active": collector.active, "reason": collector.reason,
            "enable_hint": collector.enable_hint, "granularity": collector.granularity,
            "privilege": collector.privilege, "sees": collector.sees, "cost": collector.cost,
            "capabilities": collector.capabilities,
        })).collect::<Vec<_>>(),
        "services": inventory.services.iter().map(|service| json!({
            "namespace": service.namespace, "name": service.name, "rule": service.rule,
            "processes": service.processes, "heat_measured": service.heat_measured,
            "heat_reason": service.heat_reason,
        })).collect::<Vec<_>>(),
        "swaps": inventory.swaps.iter().map(|swap| json!({
            "name": swap.name, "kind": swap.kind, "size_bytes": swap.size_bytes,
            "used_bytes": swap.used_bytes, "priority": swap.priority, "zoned": swap.zoned,
            "discard": swap.discard, "rotational": swap.rotational,
        })).collect::<Vec<_>>(),
        "findings": inventory.findings.iter().map(|finding| json!({
            "id": finding.id, "severity": finding.severity, "cause": finding.cause,
            "fix": finding.fix, "confidence": finding.confidence,
        })).collect::<Vec<_>>(),
        "labels": inventory.labels.iter().map(|(key, value)| (key.clone(), json!(value)))
            .collect::<Map<_, _>>(),
        "kubernetes_labels": inventory.kubernetes_labels.iter().map(|(key, value)| (key.clone(), json!(value)))
            .collect::<Map<_, _>>(),
        "kubernetes_labels_partial": inventory.kubernetes_labels_partial,
        "labels_complete": inventory.labels_complete,
        "interval_seconds": inventory.interval_seconds,
        "cxl_devices": inventory.cxl_devices.iter().map(cxl_device).collect::<Vec<_>>(),
        "rdma_devices": inventory.rdma_devices,
        "running_as_uid": inventory.running_as_uid,
        "benches": inventory.benches.iter().map(bench).collect::<Vec<_>>(),
        "unmovable": inventory.unmovable.iter().map(|unmovable| json!({
            "node": unmovable.node, "hugetlb_bytes": unmovable.hugetlb_bytes,
            "mlocked_bytes": unmovable.mlocked_bytes, "pinned_pages": unmovable.pinned_pages,
        })).collect::<Vec<_>>(),
        "hypervisor": inventory.hypervisor,
        "pods": inventory.pods.as_ref().map(|list| json!({
            "pods": list.pods.iter().map(|pod| json!({
                "uid": pod.uid, "namespace": pod.namespace, "name": pod.name, "owner_kind": pod.owner_kind,
                "owner": pod.owner, "owner_source": pod.owner_source,
                "service_namespace": pod.service_namespace, "service": pod.service,
                "labels": pod.labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect::<Map<_, _>>(),
                "labels_known": pod.labels_known,
            })).collect::<Vec<_>>(),
            "left_out": list.left_out, "unavailable": list.unavailable,
        })),
    });
    body["tier_order"] = json!(inventory.tier_order);
    body["tree"] = json!(inventory.tree);
    body["huge_page_bytes"] = json!(inventory.huge_page_bytes);
    body
}

fn cxl_device(device: &CxlDevice) -> Value {
    json!({
        "name": device.name,
        "ram_bytes": device.ram_bytes,
        "numa_node": device.numa_node,
        "serial": device.serial,
        "pci_address": device.pci_address,
        "firmware_version": device.firmware_version,
        "link_decigigatransfers": device.link_decigigatransfers,
        "link_width": device.link_width,
        "max_link_decigigatransfers": device.max_link_decigigatransfers,
        "max_link_width": device.max_link_width,
        "aer_correctable": device.aer_correctable,
        "aer_nonfatal": device.aer_nonfatal,
        "aer_fatal": device.aer_fatal,
    })
}

fn bench(bench: &NodeBench) -> Value {
    json!({
        "measured_wall_ns": bench.measured_wall_ns,
        "cpu_node": bench.cpu_node,
        "memory_node": bench.memory_node,
        "figures": bench.figures.iter().map(|figure| json!({
            "name": figure.name, "unit": figure.unit, "threads": figure.threads,
            "block_bytes": figure.block_bytes, "pattern": figure.pattern, "median": figure.median,
            "p10": figure.p10, "p90": figure.p90, "repetitions": figure.repetitions,
            "disturbed": figure.disturbed,
        })).collect::<Vec<_>>(),
        "loaded": bench.loaded.iter().map(|point| json!({
            "bandwidth_bytes_per_s": point.bandwidth_bytes_per_s, "latency_ns": point.latency_ns,
            "threads": point.threads, "write_ratio": point.write_ratio,
            "utilisation_ratio": point.utilisation_ratio, "latency_p10_ns": point.latency_p10_ns,
            "latency_p90_ns": point.latency_p90_ns, "repetitions": point.repetitions,
            "disturbed": point.disturbed,
        })).collect::<Vec<_>>(),
        "method": bench.method,
        "buffer_bytes": bench.buffer_bytes,
        "huge_page_bytes": bench.huge_page_bytes,
        "skipped": bench.skipped.iter().map(|skip| json!({
            "name": skip.name, "reason": skip.reason,
        })).collect::<Vec<_>>(),
    })
}

fn page_sample(sample: &PageSample) -> Value {
    json!({
        "backend": backend(sample.backend),
        "granularity": granularity(sample.granularity),
        "interval_ns": sample.interval_ns,
        "service": *sample.service,
        "group": *sample.group,
        "sampled_ratio": sample.sampled_ratio,
        "counts": sample.counts,
        "period_events": sample.period_events,
        "duty_ratio": sample.duty_ratio,
        "intervals": sample.intervals.iter().map(|(end_wall_ns, observed)| json!({
            "end_wall_ns": end_wall_ns, "observed": observed,
        })).collect::<Vec<_>>(),
        "pages": sample.pages.iter().map(|page| json!({
            "id": page.id, "kind": page.kind.name(), "page_size_bytes": page.page_size_bytes,
            "first_interval": page.first_interval, "last_interval": page.last_interval,
        })).collect::<Vec<_>>(),
        "rows": sample.rows.iter().map(|row| json!({
            "interval": row.interval, "page": row.page, "loads": row.loads, "stores": row.stores,
        })).collect::<Vec<_>>(),
    })
}

fn self_report(report: &SelfReport) -> Value {
    json!({
        "end_wall_ns": report.end_wall_ns,
        "window_ns": report.window_ns,
        "cpu_ns": report.cpu_ns,
        "rss_bytes": report.rss_bytes,
        "spool_bytes": report.spool_bytes,
        "spool_batches": report.spool_batches,
        "dropped_batches": report.dropped_batches,
        "sent_bytes": report.sent_bytes,
        "counters_dropped": report.counters_dropped,
        "services_dropped": report.services_dropped,
        "collectors": report.collectors.iter().map(|cost| json!({
            "name": cost.name, "cpu_ns": cost.cpu_ns, "runs": cost.runs,
            "failures": cost.failures, "last_error": cost.last_error,
        })).collect::<Vec<_>>(),
        "budget_state": report.budget_state,
        "heat_rung": report.heat_rung,
        "budget_reason": report.budget_reason,
        "guard_paused_intervals": report.guard_paused_intervals,
        "samples_taken": report.samples_taken,
        "samples_lost": report.samples_lost,
        "throttles": report.throttles,
    })
}
