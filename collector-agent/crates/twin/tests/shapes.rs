//! The default laws have the shapes that the TPP paper (arXiv 2206.02878, sections 3 and 6) gives in its text.

use tierscope_twin::fleet;
use tierscope_twin::kind::Kind;
use tierscope_twin::laws::Laws;
use tierscope_twin::truth::KindTruth;

/// Memory by kind of the service of a host with DRAM alone, after three hours and a half.
fn kinds(name: &str) -> Vec<(Kind, KindTruth)> {
    let mut laws = Laws::parse(Laws::DEFAULT).expect("the default laws");
    laws.incidents.clear();
    laws.hosts.retain(|own| own.name == name);
    let truth = fleet::tell(&laws, 1, 30, |_| {});
    let last = truth.windows.last().expect("a window");
    last.kinds
        .iter()
        .map(|(kind, truth)| (*kind, truth.clone()))
        .collect()
}

/// Share touched within two minutes, and share of all memory, of the kinds that are anonymous or not.
fn shares(name: &str, is_anon: bool) -> (f64, f64) {
    let (mut hot, mut own, mut whole) = (0, 0, 0);
    for (kind, memory) in kinds(name) {
        whole += memory.placed_bytes.dram;
        if (kind == Kind::Anon) == is_anon {
            hot += memory.hot.dram;
            own += memory.placed_bytes.dram;
        }
    }
    (hot as f64 / own as f64, own as f64 / whole as f64)
}

#[test]
fn hot_shares_and_mixes_are_those_of_the_papers_text() {
    // Host, whether anonymous, hot within two minutes from and to, share of memory from and to.
    for (host, is_anon, hot, mix) in [
        ("web-1", true, (0.35, 0.60), (0.0, 1.0)),
        ("web-1", false, (0.03, 0.14), (0.0, 1.0)),
        ("cache-object-1", true, (0.35, 0.45), (0.18, 0.30)),
        ("cache-object-1", false, (0.20, 0.30), (0.70, 0.82)),
        ("warehouse-1", true, (0.28, 0.40), (0.80, 0.90)),
        ("warehouse-1", false, (0.0, 0.10), (0.10, 0.20)),
        ("ads-1", true, (0.22, 0.80), (0.0, 1.0)),
        ("ads-1", false, (0.0, 0.10), (0.0, 1.0)),
    ] {
        let (hot_share, mix_share) = shares(host, is_anon);
        assert!(
            (hot.0..=hot.1).contains(&hot_share),
            "{host}, anonymous {is_anon}: {hot_share} hot"
        );
        assert!(
            (mix.0..=mix.1).contains(&mix_share),
            "{host}, anonymous {is_anon}: {mix_share} of memory"
        );
    }
}
