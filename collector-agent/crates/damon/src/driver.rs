//! Writes a plan to the kernel, switches it on and off, and reads what it found.

use std::ops::Range;
use std::time::Duration;

use tierscope_rootfs::Root;

use crate::DamonError;
use crate::plan::{Plan, Reading};
use crate::tree::{Directory, Files};

/// Time that processes' mappings may be out of date for DAMON, to which a session adds its mark.
pub(crate) const UPDATE_US: u64 = 60_000_000;
/// Modules of the kernel that cannot run beside a configuration in sysfs.
const MODULES: [&str; 3] = ["damon_stat", "damon_reclaim", "damon_lru_sort"];
/// How often regions are asked for when there are none: kernel 6.12 gives up waiting for a slow kernel thread.
const EMPTY_TRIES: u32 = 10;
/// How often, and at what distance, a command is tried again while the kernel is at another one.
const BUSY_TRIES: u32 = 100;
const BUSY_WAIT: Duration = Duration::from_millis(20);

/// What DAMON says of a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    /// Addresses.
    pub range: Range<u64>,
    /// Checks in the aggregation that found an access; `None` where it was not asked for, as are the two below.
    pub accesses: Option<u32>,
    /// Aggregations for which the region has been about as it is.
    pub age: Option<u32>,
    /// Bytes accessed since the aggregation before.
    pub young_bytes: Option<u64>,
}

/// The interface of one kernel.
#[derive(Debug)]
pub(crate) struct Driver {
    files: Box<dyn Files>,
    root: Root,
}

impl Driver {
    pub(crate) fn new(files: Box<dyn Files>, root: Root) -> Self {
        Self { files, root }
    }

    pub(crate) fn root(&self) -> &Root {
        &self.root
    }

    fn kdamonds(&self) -> Directory<'_> {
        Directory::kdamonds(&*self.files, &self.root)
    }

    fn kdamond(&self) -> Directory<'_> {
        self.kdamonds().below("0")
    }

    fn context(&self) -> Directory<'_> {
        self.kdamond().below("contexts/0")
    }

    fn scheme(&self) -> Directory<'_> {
        self.context().below("schemes/0")
    }

    /// Number of kdamonds that are configured.
    pub(crate) fn count(&self) -> Result<u64, DamonError> {
        let kdamonds = self.kdamonds();
        if !kdamonds.has("nr_kdamonds") {
            return Err(DamonError::NotSupported);
        }
        kdamonds.number("nr_kdamonds")
    }

    /// Whether the only kdamond runs.
    pub(crate) fn is_on(&self) -> bool {
        self.kdamond().read("state").is_ok_and(|state| state == "on")
    }

    /// The mark of the session that configured DAMON.
    pub(crate) fn mark(&self) -> Option<u64> {
        let intervals = self.context().below("monitoring_attrs/intervals");
        intervals.number("update_us").ok()?.checked_sub(UPDATE_US)
    }

    /// What can be said about who uses DAMON.
    pub(crate) fn describe_user(&self, count: u64) -> String {
        let text = |directory: &Directory<'_>, file: &str| directory.read(file).unwrap_or_default();
        let (kdamond, context) = (self.kdamond(), self.context());
        let schemes = context.below("schemes").numbered().unwrap_or_default();
        let actions: Vec<_> = schemes.iter().map(|scheme| text(scheme, "action")).collect();
        format!(
            "{count} kdamond, state {}, pid {}, operations {}, actions [{}]",
            text(&kdamond, "state"),
            text(&kdamond, "pid"),
            text(&context, "operations"),
            actions.join(", ")
        )
    }

    /// The module of the kernel that uses DAMON.
    pub(crate) fn active_module(&self) -> Option<&'static str> {
        MODULES.into_iter().find(|module| {
            let parameters = Directory::at(
                &*self.files,
                &self.root,
                &format!("/sys/module/{module}/parameters"),
            );
            parameters.read("enabled").is_ok_and(|enabled| enabled == "Y")
        })
    }

    /// Makes the one kdamond, with nothing in it.
    pub(crate) fn make(&self) -> Result<(), DamonError> {
        self.kdamonds().make("nr_kdamonds", 1)
    }

    /// Makes its context, with the mark of a session.
    pub(crate) fn leave_mark(&self, mark: u64) -> Result<(), DamonError> {
        self.kdamond().below("contexts").make("nr_contexts", 1)?;
        let intervals = self.context().below("monitoring_attrs/intervals");
        intervals.write("update_us", UPDATE_US + mark)
    }

    /// Switches DAMON off and takes all of the configuration away.
    pub(crate) fn remove(&self) -> Result<(), DamonError> {
        if self.count()? == 0 {
            return Ok(());
        }
        self.stop()?;
        retry(|| self.kdamonds().make("nr_kdamonds", 0))
    }

    /// Writes a plan and switches it on.
    pub(crate) fn start(&self, plan: &Plan) -> Result<(), DamonError> {
        let context = self.context();
        self.check_operations(plan)?;
        context.write("operations", plan.operations.name())?;
        let attributes = context.below("monitoring_attrs");
        let (intervals, limits) = (attributes.below("intervals"), attributes.below("nr_regions"));
        intervals.write("sample_us", plan.intervals.sample.as_micros())?;
        intervals.write("aggr_us", plan.intervals.aggregation.as_micros())?;
        limits.write("min", plan.limits.0)?;
        limits.write("max", plan.limits.1)?;
        self.write_targets(plan)?;
        self.write_scheme(plan)?;
        let scheme = self.scheme();
        if scheme.has("apply_interval_us") {
            // The same as the default, in words: kernel 6.12 gives up waiting for results after twice this time, or
            // after two checks when it is not given.
            scheme.write("apply_interval_us", plan.intervals.aggregation.as_micros())?;
        }
        let started = retry(|| self.kdamond().write("state", "on"));
        started.map_err(|error| match self.active_module() {
            Some(module) if error.is_busy() => DamonError::Module { module },
            _ => error,
        })
    }

    fn check_operations(&self, plan: &Plan) -> Result<(), DamonError> {
        let (context, wanted) = (self.context(), plan.operations.name());
        // Without the list, writing the name says whether it is known.
        if !context.has("avail_operations") {
            return Ok(());
        }
        let available = context.read("avail_operations")?;
        if available.split_ascii_whitespace().any(|name| name == wanted) {
            return Ok(());
        }
        Err(DamonError::Lacks {
            wanted,
            available: available.replace('\n', ", "),
        })
    }

    fn write_targets(&self, plan: &Plan) -> Result<(), DamonError> {
        let targets = self.context().below("targets");
        targets.make("nr_targets", plan.targets.len())?;
        for (target, directory) in plan.targets.iter().zip(targets.numbered()?) {
            if let Some(pid) = target.pid {
                directory.write("pid_target", pid)?;
            }
            let regions = directory.below("regions");
            regions.make("nr_regions", target.regions.len())?;
            for (number, range) in target.regions.iter().enumerate() {
                let region = regions.below(number.to_string());
                region.write("start", range.start)?;
                region.write("end", range.end)?;
            }
        }
        Ok(())
    }

    /// The scheme `stat` for all regions: it does nothing with them and makes the kernel list them.
    fn write_scheme(&self, plan: &Plan) -> Result<(), DamonError> {
        self.context().below("schemes").make("nr_schemes", 1)?;
        let scheme = self.scheme();
        scheme.write("action", "stat")?;
        let pattern = scheme.below("access_pattern");
        for (name, most) in [
            ("sz", u64::MAX),
            ("nr_accesses", u64::from(u32::MAX)),
            ("age", u64::from(u32::MAX)),
        ] {
            pattern.below(name).write("min", 0)?;
            pattern.below(name).write("max", most)?;
        }
        if plan.reading == Reading::Young {
            write_young_filter(&scheme)?;
        }
        Ok(())
    }

    /// Switches DAMON off; what is configured stays.
    pub(crate) fn stop(&self) -> Result<(), DamonError> {
        let stopped = retry(|| {
            if self.is_on() {
                self.kdamond().write("state", "off")
            } else {
                Ok(())
            }
        });
        match stopped {
            // It may have ended by itself in between.
            Err(_) if !self.is_on() => Ok(()),
            stopped => stopped,
        }
    }

    /// The id of the kernel thread; `None` while DAMON is off.
    pub(crate) fn kdamond_pid(&self) -> Option<u32> {
        self.kdamond().read("pid").ok()?.parse().ok()
    }

    /// Waits for the end of the running aggregation, and gives all regions as they are then, by target and address.
    pub(crate) fn regions(&self, reading: Reading) -> Result<Vec<Region>, DamonError> {
        for _ in 0..EMPTY_TRIES {
            retry(|| self.kdamond().write("state", "update_schemes_tried_regions"))?;
            let tried = self.scheme().below("tried_regions").numbered()?;
            let regions = tried.iter().map(|directory| read_region(directory, reading));
            let regions: Result<Vec<_>, _> = regions.collect();
            self.kdamond().write("state", "clear_schemes_tried_regions")?;
            let regions = regions?;
            if !regions.is_empty() {
                return Ok(regions);
            }
        }
        Err(DamonError::NoResult {
            reason: "the kernel lists no regions".to_owned(),
        })
    }
}

/// Keeps accessed pages only. Where kernels have filters of two kinds, this one is of the kind that looks at pages.
fn write_young_filter(scheme: &Directory<'_>) -> Result<(), DamonError> {
    // Kernels before 6.14 have the filter and do not say how many bytes pass it.
    if !scheme.below("stats").has("sz_ops_filter_passed") {
        return Err(DamonError::Lacks {
            wanted: "sz_ops_filter_passed",
            available: "filters without counts".to_owned(),
        });
    }
    let [of_pages, all] = ["ops_filters", "filters"].map(|name| scheme.below(name));
    let filters = if of_pages.exists() { of_pages } else { all };
    filters.make("nr_filters", 1)?;
    let filter = filters.below("0");
    filter.write("type", "young").map_err(|error| match error {
        DamonError::Io { .. } => DamonError::Lacks {
            wanted: "young",
            available: "older filters".to_owned(),
        },
        other => other,
    })?;
    // A filter rejects what it matches unless told otherwise: this one matches what is not young.
    filter.write("matching", "N")
}

fn read_region(directory: &Directory<'_>, reading: Reading) -> Result<Region, DamonError> {
    let small = |name| {
        let number = directory.number(name)?;
        Ok::<_, DamonError>(u32::try_from(number).unwrap_or(u32::MAX))
    };
    let start = directory.number("start")?;
    let end = match reading {
        Reading::Pages(page_bytes) => start.saturating_add(page_bytes),
        Reading::Young | Reading::Adaptive => directory.number("end")?,
    };
    let mut region = Region {
        range: start..end,
        accesses: None,
        age: None,
        young_bytes: None,
    };
    if reading == Reading::Young {
        region.young_bytes = Some(directory.number("sz_filter_passed")?);
    } else {
        region.accesses = Some(small("nr_accesses")?);
    }
    if reading == Reading::Adaptive {
        region.age = Some(small("age")?);
    }
    Ok(region)
}

/// Does something again while the kernel is busy with another command.
fn retry(mut attempt: impl FnMut() -> Result<(), DamonError>) -> Result<(), DamonError> {
    for _ in 0..BUSY_TRIES {
        match attempt() {
            Err(error) if error.is_busy() => std::thread::sleep(BUSY_WAIT),
            done => return done,
        }
    }
    attempt()
}
