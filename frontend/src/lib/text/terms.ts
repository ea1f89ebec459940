/** The field's terms in one line each, shown on hover. */
export const terms = {
  hot: 'Active within the newest intervals; the scheme in force says how many.',
  warm: 'Active some time ago: between hot and cold.',
  cold: 'Not active for longer than the threshold of the scheme.',
  tier: 'A class of memory by distance and speed: HBM, DRAM, CXL, persistent memory, zswap, swap.',
  tierMove: 'A page moving between memory tiers: a promotion towards DRAM or a demotion away from it.',
  promotion: 'A page moving to a faster tier.',
  demotion: 'A page moving to a slower tier.',
  psi: 'Pressure stall information: the share of time in which some task waited for memory.',
  coverage: 'The share of what should have been observed that was.',
  grade: 'What the data can support: early (one host, raw), partial (a lower bound), good (a full claim).',
  hotOutside: 'Bytes that are hot but not in DRAM: they pay the slower tier’s latency.',
  coldInside: 'Bytes that are cold but occupy DRAM: they could move to a slower tier.',
  pingPong: 'Pages that are demoted and promoted again within a short time.',
  tieringOff: 'Hosts that have a slower tier while nothing moves pages between the tiers.',
  activeWithin: 'The share of resident bytes that was active at least once within that many intervals.',
  promotionRate:
    'Pages accessed again after 120 s of idleness or more, per minute and page of the working set: what taking them for cold would cost.',
  slowAccess: 'The share of accesses that slow memory serves.',
  slowResidency: 'The share of the working set that lies in slow memory.',
  elasticity: 'Per cent of throughput that go with one per cent more of that memory in DRAM.',
  jaccard: 'Bytes hot at both moments, over bytes hot at either: 1 is the same hot set.',
  age: 'Intervals since last activity.',
  watermark: 'Free-memory levels at which the kernel begins (low) and stops (high) to reclaim or demote.',
  resident: 'Bytes that occupy memory now.',
  stranded: 'Free memory of hosts whose processors are all in use: nothing more fits beside it.',
  untouched: 'Memory that was allocated and never accessed while it was watched.',
  dramNeed: 'Memory that should stay in DRAM: by ratio advice where there is some, else what is hot, else all of it.',
} as const

export type TermName = keyof typeof terms
