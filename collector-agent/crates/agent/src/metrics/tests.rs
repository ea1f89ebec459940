use super::*;
use tierscope_sample::counters::{Key, Scope};
use tierscope_sample::fold::Folded;
use tierscope_sample::inventory::{Node, Tier};

type Value = (Scope, &'static str, &'static str, Option<i64>);

fn sample(values: Vec<Value>) -> CounterSample {
    CounterSample {
        end_wall_ns: 0,
        end_boottime_ns: None,
        boot_id: Arc::from(""),
        values: values
            .into_iter()
            .map(|(scope, source, name, value)| (Key::new(&scope, source, name), value))
            .collect(),
    }
}

fn inventory(dialect: &str) -> Inventory {
    let node = |id, class: &str, cpulist: &str| Node {
        id,
        tier_class: class.to_owned(),
        cpulist: cpulist.to_owned(),
        ..Node::default()
    };
    Inventory {
        page_size_bytes: 4096,
        dialect: dialect.to_owned(),
        nodes: vec![node(0, "dram", "0-7"), node(1, "cxl", "")],
        tiers: vec![Tier {
            kernel_number: 4,
            rank: 0,
            nodes: vec![0],
        }],
        ..Inventory::default()
    }
}

fn shown(dialect: &str, values: Vec<Value>) -> Shown {
    let shown = Shown::default();
    shown.keep(&Collection {
        sample: sample(values),
        inventory: Arc::new(inventory(dialect)),
        heat: Folded::default(),
        gone: vec![Gone {
            path: "/proc/pressure/irq".to_owned(),
            missing: Missing::Absent,
        }],
        pods: FoundPods::default(),
        counters_dropped: 0,
        services_dropped: 0,
        costs: Vec::new(),
        heat_cost: tierscope_heat::order::HeatCost::default(),
        warnings: Vec::new(),
        heat_services: Vec::new(),
    });
    shown
}

fn tiered() -> Vec<Value> {
    vec![
        (Scope::Host, "vmstat", "pgpromote_success", Some(7)),
        (Scope::Node(1), "vmstat", "pgpromote_success", Some(3)),
        (Scope::Host, "vmstat", "pgdemote_kswapd", Some(2)),
        (Scope::Host, "vmstat", "pgdemote_direct", None),
        (Scope::Host, "vmstat", "kpromoted_dropped", Some(6)),
        (Scope::Host, "vmstat", "pgfault", Some(9)),
        (Scope::Host, "meminfo", "numa_like", Some(1)),
        (Scope::Node(0), "meminfo", "MemTotal", Some(1 << 30)),
        (Scope::Node(1), "meminfo", "MemFree", Some(4096)),
        (Scope::Host, "pressure.memory", "some_total_us", Some(1_500_000)),
        (
            Scope::Host,
            "damos",
            "sz_applied[k0.c0.s1.migrate_cold.N1]",
            Some(64),
        ),
        (Scope::Host, "damos", "sz_applied[k0.c0.s2.pageout]", None),
        (
            Scope::Service("shop/cache".to_owned()),
            "placement",
            "anon[cxl]",
            Some(5),
        ),
    ]
}

#[test]
fn figures_of_the_host_stand_beside_the_agents_health() {
    let status = Status {
        state: "running",
        server: Some("https://tierscope.example".to_owned()),
        last_delivered_wall_ns: Some(1_500_000_000),
        heat_rung: Some("referenced"),
        ..Status::default()
    };
    let page = shown("mainline", tiered()).render(&status);
    for line in [
        "tierscope_agent_state{state=\"running\"} 1",
        "tierscope_agent_state{state=\"paused\"} 0",
        "tierscope_agent_last_delivery_timestamp_seconds 1.5",
        "tierscope_agent_heat_backend{name=\"referenced\"} 1",
        "# TYPE tierscope_vmstat_pgpromote_success_total counter",
        "tierscope_vmstat_pgpromote_success_total{scope=\"host\",node=\"\"} 7",
        "tierscope_vmstat_pgpromote_success_total{scope=\"node\",node=\"1\"} 3",
        "tierscope_vmstat_kpromoted_dropped_total{scope=\"host\",node=\"\"} 6",
        "tierscope_tier_moves_bytes_total{direction=\"promoted\",by=\"numa_balancing\",dialect=\"mainline\",trust=\"exact\"} \
         28672",
        "tierscope_node_info{node=\"0\",tier=\"dram\",kernel_tier_rank=\"0\",cpus=\"yes\"} 1",
        "tierscope_node_info{node=\"1\",tier=\"cxl\",kernel_tier_rank=\"\",cpus=\"no\"} 1",
        "tierscope_node_memory_size_bytes{node=\"0\",tier=\"dram\"} 1073741824",
        "tierscope_node_memory_free_bytes{node=\"1\",tier=\"cxl\"} 4096",
        "tierscope_damon_scheme_applied_bytes_total{kdamond=\"0\",context=\"0\",scheme=\"1\",action=\"migrate_cold\",\
         node=\"1\",tier=\"cxl\"} 64",
        "tierscope_pressure_stalled_seconds_total{resource=\"memory\",tasks=\"some\"} 1.5",
        "tierscope_service_memory_bytes{namespace=\"shop\",service=\"cache\",tier=\"cxl\",kind=\"anon\"} 5",
        "tierscope_agent_missing_files{path=\"/proc/pressure/irq\",reason=\"absent\"} 1",
    ] {
        assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
    }
    assert!(!page.contains("pgfault") && !page.contains("numa_like"));
    assert!(
        !page.contains("pgdemote_direct"),
        "what the kernel lacks is not a zero"
    );
    assert!(!page.contains("pageout"), "what nobody refreshed is not a zero");
    assert!(!page.contains("last_collection"), "nothing was collected yet");
}

#[test]
fn each_dialect_has_its_own_counters_of_moves() {
    let values = || {
        vec![
            (Scope::Host, "vmstat", "pgpromote_success", Some(7)),
            (Scope::Host, "vmstat", "pgpromote_anon", Some(5)),
            (Scope::Host, "vmstat", "pgdemote_file", Some(3)),
        ]
    };
    let moves = |dialect| {
        let page = shown(dialect, values()).render(&Status::default());
        let lines = page
            .lines()
            .filter(|line| line.starts_with("tierscope_tier_moves_bytes_total{"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(
        moves("tpp"),
        [
            "tierscope_tier_moves_bytes_total{direction=\"promoted\",by=\"anon\",dialect=\"tpp\",trust=\"bound\"} 20480",
            "tierscope_tier_moves_bytes_total{direction=\"demoted\",by=\"file\",dialect=\"tpp\",trust=\"exact\"} 12288",
        ]
    );
    assert_eq!(moves("mainline").len(), 1);
    assert_eq!(moves("unknown"), Vec::<String>::new());
}

#[test]
fn without_a_service_nothing_is_said_of_delivery_and_a_rest_shows_nothing() {
    let shown = shown("mainline", tiered());
    let page = shown.render(&Status::default());
    assert!(!page.contains("spool") && !page.contains("delivery"), "{page}");
    shown.clear();
    let page = shown.render(&Status::default());
    assert!(page.contains("tierscope_agent_info") && !page.contains("tierscope_node"));
}

/// A node with a stateful pod of two containers, and one pod of a deployment whose name the kubelet does not show.
fn node_with_pods() -> Shown {
    let container = |pod: &str, id: &str| Scope::Cgroup(format!("/kubepods/burstable/pod{pod}/{id}"));
    let values = vec![
        (container("aa-1", "c1"), "memory.numa_stat", "anon[N0]", Some(100)),
        (container("aa-1", "c1"), "memory.numa_stat", "anon[N1]", Some(10)),
        (container("aa-1", "c2"), "memory.numa_stat", "anon[N0]", Some(5)),
        (container("aa-1", "c2"), "memory.numa_stat", "file[N0]", Some(30)),
        (container("aa-1", "c2"), "memory.numa_stat", "shmem[N0]", Some(20)),
        (
            container("aa-1", "c2"),
            "memory.numa_stat",
            "slab_reclaimable[N0]",
            Some(7),
        ),
        (container("aa-1", "c1"), "memory.stat", "pgdemote_kswapd", Some(3)),
        (container("aa-1", "c2"), "memory.stat", "pgdemote_kswapd", Some(2)),
        (container("bb-1", "c1"), "memory.numa_stat", "anon[N1]", Some(9)),
        (
            Scope::Cgroup("/system.slice".to_owned()),
            "memory.numa_stat",
            "anon[N0]",
            Some(1),
        ),
    ];
    let shown = shown("mainline", values);
    let mut newest = shown.lock();
    let mut inventory = inventory("mainline");
    inventory.hostname = "node-7".to_owned();
    newest.inventory = Arc::new(inventory);
    let pod = tierscope_sample::inventory::Pod {
        namespace: "shop".to_owned(),
        name: "db-0".to_owned(),
        owner_kind: "StatefulSet".to_owned(),
        owner: "db".to_owned(),
        ..tierscope_sample::inventory::Pod::default()
    };
    newest.pods.by_uid.insert("aa-1".to_owned(), pod);
    newest
        .pods
        .of_services
        .insert("shop/cache".to_owned(), "aa-1".to_owned());
    newest.heat = vec![services::tests::row(u64::MAX)];
    drop(newest);
    shown
}

#[test]
fn pods_have_memory_by_tier_moves_by_container_and_the_heat_of_a_service_of_their_own() {
    let page = node_with_pods().render(&Status::default());
    let pod = "namespace=\"shop\",pod=\"db-0\",uid=\"aa-1\",owner_kind=\"StatefulSet\",owner=\"db\",node=\"node-7\"";
    let unnamed = "namespace=\"\",pod=\"\",uid=\"bb-1\",owner_kind=\"\",owner=\"\",node=\"node-7\"";
    for line in [
        format!("tierscope_pod_memory_bytes{{{pod},tier=\"dram\",kind=\"anon\"}} 105"),
        format!("tierscope_pod_memory_bytes{{{pod},tier=\"cxl\",kind=\"anon\"}} 10"),
        format!("tierscope_pod_memory_bytes{{{pod},tier=\"dram\",kind=\"file\"}} 10"),
        format!("tierscope_pod_memory_bytes{{{pod},tier=\"dram\",kind=\"tmpfs\"}} 20"),
        format!("tierscope_pod_memory_bytes{{{unnamed},tier=\"cxl\",kind=\"anon\"}} 9"),
        format!(
            "tierscope_pod_tier_moves_bytes_total{{{pod},container_cgroup=\"c2\",direction=\"demoted\",by=\"kswapd\"}} 8192"
        ),
        format!("tierscope_pod_heat_bytes{{{pod},tier=\"unknown\",kind=\"anon\",class=\"hot\"}} 3"),
    ] {
        assert!(page.lines().any(|found| found == line), "{line} in\n{page}");
    }
    let samples = page
        .lines()
        .filter(|line| line.starts_with("tierscope_pod_memory_bytes{"));
    assert_eq!(samples.count(), 5, "no pod, no sample");
}

#[test]
fn containers_that_make_groups_of_their_own_are_told_apart() {
    let group = |path: &str| Scope::Cgroup(format!("/kubepods/burstable/podaa-1/{path}"));
    let values = vec![
        (group("c1/init"), "memory.stat", "pgdemote_kswapd", Some(3)),
        (group("c2/init"), "memory.stat", "pgdemote_kswapd", Some(2)),
        (group("c3"), "memory.stat", "pgdemote_kswapd", Some(1)),
    ];
    let page = shown("mainline", values).render(&Status::default());
    let series: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("tierscope_pod_tier_moves_bytes_total{"))
        .filter_map(|line| line.split_once("container_cgroup=")?.1.split_once(','))
        .map(|(container, _)| container)
        .collect();
    assert_eq!(series, ["\"c1/init\"", "\"c2/init\"", "\"c3\""]);
}

#[test]
fn the_swap_cache_of_a_pod_is_not_among_its_files() {
    let group = || Scope::Cgroup("/kubepods/podaa-1/c1".to_owned());
    let values = vec![
        (group(), "memory.numa_stat", "file[N0]", Some(30)),
        (group(), "memory.numa_stat", "swapcached[N0]", Some(4)),
    ];
    let page = shown("mainline", values).render(&Status::default());
    let files = "tier=\"dram\",kind=\"file\"} 26";
    assert!(page.lines().any(|line| line.ends_with(files)), "{page}");
}

#[test]
fn every_metric_is_announced_once_and_before_its_samples() {
    let pages = [shown("mainline", tiered()), node_with_pods()];
    for page in pages.map(|shown| shown.render(&Status::default())) {
        assert_announced(&page);
    }
}

fn assert_announced(page: &str) {
    let mut announced: Vec<&str> = Vec::new();
    for line in page.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(rest) => {
                let name = rest.split(' ').next().expect("a name");
                assert!(!announced.contains(&name), "{name}");
                announced.push(name);
            }
            None if line.starts_with('#') => {}
            None => {
                let name = line.split(['{', ' ']).next().expect("a name");
                assert_eq!(announced.last(), Some(&name), "{line}");
            }
        }
    }
}
