//! Counters of control groups, and of the services that own them.

use std::collections::{BTreeMap, BTreeSet};

use tierscope_host::services::FoundService;
use tierscope_rootfs::{Missing, Reader};
use tierscope_sample::catalogue;
use tierscope_sample::placement::{NodeClasses, Placement, has_several_classes, placed};
use tierscope_sysfs::cgroup::{self, File, Groups, Version};
use tierscope_sysfs::lru_gen::IdlePages;

use super::frame::Frame;
use super::notes::{Gone, Notes};
use super::processes;
use super::slow::{Generations, put_idle_pages};

/// About how many names a host prints for itself, for a node with its zones, for a group, and for a group on a node.
/// They decide early whether all names of all groups fit, so that the choice does not change with every group.
const NAMES_OF_HOST: usize = 420;
const NAMES_PER_NODE: usize = 360;
const NAMES_PER_GROUP: usize = 140;
const NAMES_PER_GROUP_AND_NODE: usize = 36;

/// Files whose values add up over groups, and so are given for services too.
const SUMMED: [&str; 9] = [
    "memory.stat",
    "memory.numa_stat",
    "memory.events",
    "memory.current",
    "memory.swap.current",
    "memory.usage_in_bytes",
    "cpu.stat",
    "io.stat",
    // Stall times do not add up: given for services with a single group.
    "memory.pressure",
];

/// Settings of a group, which say of a service what they say of its group where that is the only one.
const SETTINGS: [&str; 4] = ["memory.min", "memory.low", "memory.high", "memory.max"];

/// What is to be read of which group, and to which service it goes.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    version: Version,
    groups: &'a Groups,
    /// For each group the index of the service that owns it.
    owners: Vec<Option<usize>>,
    scopes: Vec<String>,
    /// Groups per service.
    counts: Vec<usize>,
    /// Classes of the nodes' memory.
    classes: &'a NodeClasses,
    /// Whether only names that are kept for long are read, because all names would not fit.
    essential: bool,
}

impl<'a> Plan<'a> {
    /// Plans for a host whose nodes have memory of these classes, and at most `max_names` names.
    pub(super) fn new(
        version: Version,
        groups: &'a Groups,
        services: &[FoundService],
        classes: &'a NodeClasses,
        max_names: usize,
    ) -> Self {
        let nodes = classes.len();
        let owner = |path: &String| services.iter().position(|service| service.cgroups.contains(path));
        let owners: Vec<Option<usize>> = groups.paths.iter().map(owner).collect();
        let mut counts = vec![0; services.len()];
        for index in owners.iter().flatten() {
            counts[*index] += 1;
        }
        let per_group = NAMES_PER_GROUP + nodes * NAMES_PER_GROUP_AND_NODE;
        let room = max_names.saturating_sub(NAMES_OF_HOST + nodes * NAMES_PER_NODE);
        Self {
            version,
            groups,
            owners,
            scopes: services
                .iter()
                .map(|service| format!("service:{}", service.id))
                .collect(),
            counts,
            classes,
            essential: groups.paths.len() * per_group > room,
        }
    }
}

/// Reads the files of all groups. `absent_files` holds a bit per file for each group, so that a file that a group lacks
/// is not tried again until groups are looked for again. The scopes of services whose placement was written are handed
/// back.
pub(super) fn read(
    reader: &mut Reader,
    frame: &mut Frame,
    notes: &mut Notes,
    plan: &Plan<'_>,
    absent_files: &mut [u32],
) -> BTreeSet<String> {
    let mut placements = Placements::new();
    // Services first: where names run out, theirs matter most.
    let mut order: Vec<usize> = (0..plan.groups.paths.len()).collect();
    order.sort_by_key(|index| plan.owners[*index].is_none());
    for index in order {
        for (bit, file) in plan.version.files().iter().enumerate() {
            let mask = 1_u32 << bit;
            if absent_files[index] & mask == 0
                && read_file(reader, frame, notes, plan, (index, file), &mut placements).is_err()
            {
                absent_files[index] |= mask;
            }
        }
    }
    for (owner, placement) in &placements {
        processes::put_placement(frame, &plan.scopes[*owner], placement);
    }
    placements
        .keys()
        .map(|owner| plan.scopes[*owner].clone())
        .collect()
}

/// Placement by index of the service.
type Placements = BTreeMap<usize, Placement>;

/// Writes the generations of the groups of each service, summed; the scopes that it wrote.
pub(super) fn put_generations(
    frame: &mut Frame,
    plan: &Plan<'_>,
    generations: &Generations,
) -> BTreeSet<String> {
    let mut sums: BTreeMap<(usize, u32), IdlePages> = BTreeMap::new();
    for (path, owner) in plan.groups.paths.iter().zip(&plan.owners) {
        let Some(owner) = owner else { continue };
        for ((_, node), pages) in generations.range((path.clone(), 0)..=(path.clone(), u32::MAX)) {
            sums.entry((*owner, *node)).or_default().add(pages);
        }
    }
    for ((owner, node), pages) in &sums {
        let section = frame.section(&plan.scopes[*owner], "lru_gen");
        put_idle_pages(frame, section, *node, pages);
    }
    sums.keys()
        .map(|(owner, _)| plan.scopes[*owner].clone())
        .collect()
}

/// Reads one file of one group; `Err` where the group has no such file.
fn read_file(
    reader: &mut Reader,
    frame: &mut Frame,
    notes: &mut Notes,
    plan: &Plan<'_>,
    (index, file): (usize, &File),
    placements: &mut Placements,
) -> Result<(), ()> {
    let path = &plan.groups.paths[index];
    let service = service_scope(plan, index, file).map(|scope| frame.section(scope, file.source));
    let section = frame.section(&format!("cgroup:{path}"), file.source);
    let is_placement = file.source == "memory.numa_stat" && has_several_classes(plan.classes);
    let is_setting = SETTINGS.contains(&file.name);
    let mut placement = plan.owners[index]
        .filter(|_| is_placement)
        .map(|owner| (owner, placements.remove(&owner).unwrap_or_default()));
    let outcome = cgroup::read(reader, plan.version, path, file, |name, value| {
        let rollup = (plan.essential || service.is_some())
            && catalogue::find(file.source, name).is_some_and(|metric| metric.rollup);
        if rollup || !plan.essential {
            frame.put(section, name, value);
        }
        if let Some((_, placement)) = &mut placement
            && let (Some(bytes), Some((node, kinds))) = (value, placed(name))
        {
            for (kind, sign) in kinds {
                placement.add(*kind, node, sign * bytes, plan.classes);
            }
        }
        match (service, value) {
            // No value is `max` here, which is a setting too.
            (Some(service), _) if is_setting => frame.put(service, name, value),
            (Some(service), Some(value)) if rollup => frame.add(service, name, value),
            _ => {}
        }
    });
    if outcome.is_ok() {
        placements.extend(placement);
    }
    let kernel_path = || {
        format!(
            "{}{}/{}",
            plan.version.base(),
            path.trim_end_matches('/'),
            file.name
        )
    };
    match outcome {
        Ok(_) => {}
        Err(Missing::Absent) => return Err(()),
        Err(missing) => notes.gone.push(Gone {
            path: kernel_path(),
            missing,
        }),
    }
    Ok(())
}

fn service_scope<'p>(plan: &'p Plan<'_>, index: usize, file: &File) -> Option<&'p str> {
    let owner = plan.owners[index]?;
    let is_only = plan.counts[owner] == 1;
    let adds_up = SUMMED.contains(&file.name) && (file.name != "memory.pressure" || is_only);
    (adds_up || (SETTINGS.contains(&file.name) && is_only)).then(|| plan.scopes[owner].as_str())
}
