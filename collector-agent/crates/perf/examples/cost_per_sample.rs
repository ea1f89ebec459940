//! What a sample costs: `cost_per_sample PID SECONDS` samples every page fault of a process on the path that hardware
//! samples take, and prints one JSON object: samples, lost, elapsed and processor time, peak memory. `make bench` runs it.

use std::error::Error;
use std::io::Write as _;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tierscope_perf::{EventSet, IntervalStats, Sampler, SamplerOptions, Scope};
use tierscope_rootfs::Root;

/// Length of an interval: as many samples as some minutes of hardware samples bring.
const INTERVAL: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let pid: u32 = arguments.next().ok_or("give a process id")?.parse()?;
    let seconds: u64 = arguments.next().ok_or("give a time in seconds")?.parse()?;
    let options = SamplerOptions::new(&Root::live(), EventSet::page_faults(), Scope::System)?;
    let mut sampler = Sampler::start(options)?;
    sampler.follow(Some(vec![pid]))?;
    let mut table = sampler.new_table();
    sampler.swap(&mut table)?;
    let (cpu_before, begin) = (process_cpu_ns(), Instant::now());
    let mut all = IntervalStats::default();
    let mut pages = 0;
    while begin.elapsed() < Duration::from_secs(seconds) {
        std::thread::sleep(INTERVAL);
        let stats = sampler.swap(&mut table)?;
        pages = pages.max(table.pages_of(pid).len());
        all.samples_taken += stats.samples_taken;
        all.samples_lost += stats.samples_lost;
        all.cpu_ns += stats.cpu_ns;
    }
    let elapsed_s = begin.elapsed().as_secs_f64();
    let mut out = std::io::stdout();
    writeln!(
        out,
        "{{\"samples\":{},\"lost\":{},\"elapsed_s\":{elapsed_s},\"process_cpu_ns\":{},\"thread_cpu_ns\":{},\
         \"pages\":{pages},\"peak_rss_bytes\":{}}}",
        all.samples_taken,
        all.samples_lost,
        process_cpu_ns() - cpu_before,
        all.cpu_ns,
        peak_rss_bytes()?,
    )?;
    Ok(())
}

fn process_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

fn peak_rss_bytes() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib
        .ok_or("no VmHWM in /proc/self/status")?
        .trim()
        .parse::<u64>()?
        << 10)
}
