// Written by contract/gen_terms.py from contract/terms.toml.

/** The field's terms in one line each, shown on hover. */
export const terms = {
  hot: "Accessed within the newest intervals; the scheme sets how many.",
  warm: "Accessed some time ago: between hot and cold.",
  cold: "Not accessed for longer than the scheme’s threshold.",
  tier: "A class of memory by distance and speed: HBM, DRAM, CXL, persistent memory, zswap, swap.",
  tierMove: "A page moving between memory tiers: a promotion towards DRAM or a demotion away from it.",
  promotion: "A page moving to a faster tier.",
  demotion: "A page moving to a slower tier.",
  psi: "Pressure stall information: the share of time in which at least one task waited for memory.",
  coverage: "The share of expected observations that arrived.",
  grade: "What the data can support: early (one host, raw), partial (a lower bound), good (a full claim).",
  hotOutside: "Hot bytes outside DRAM: each access pays the slower tier’s latency.",
  coldInside: "Cold bytes in DRAM: they could move to a slower tier.",
  pingPong: "Pages that are demoted and promoted again within a short time.",
  activeWithin: "The share of resident bytes accessed at least once in the last N intervals.",
  promotionRate: "Pages accessed again after at least 120 s idle, per minute and page of the working set: the cost of treating them as cold.",
  slowAccess: "The share of accesses served by slow memory.",
  slowResidency: "The share of the working set in slow memory.",
  elasticity: "Per cent change in throughput for 1 % more of that memory in DRAM.",
  jaccard: "Bytes hot at both times over bytes hot at either: 1 means the same hot set.",
  age: "Intervals since last access.",
  watermark: "Free-memory levels at which the kernel starts (low) and stops (high) reclaim or demotion.",
  resident: "Bytes in memory now.",
  stranded: "Free memory on hosts whose CPUs are fully used: no more work fits.",
  untouched: "Memory allocated but never accessed while observed.",
  dramNeed: "Memory that should stay in DRAM: from ratio advice, otherwise hot memory, otherwise all of it.",
} as const

export type TermName = keyof typeof terms
