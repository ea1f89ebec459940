import type {
  Option,
  Price,
  ScenarioDefaults,
  ScenarioDocument,
  ScenarioItem,
  ScenarioPresets,
  TcoAnswer,
  TcoInput,
} from '../api/_generated/schema'
import { noneAway } from './fleet/hosts'

const dramPreset: Price = {
  id: 'preset-dram-2025-late',
  item: 'dram',
  label: 'DDR5 RDIMM, late 2025',
  value: 11,
  low: 9,
  high: 14,
  currency: 'USD',
  unit: 'per GB',
  source: 'market report',
  date: '2025-12-01',
  grounding: 'L',
  preset: true,
  confirmed_by: null,
  confirmed_at: null,
  in_force: false,
}

/** The mock price book: one published price of DRAM, one in another currency. */
export const prices: Price[] = [
  dramPreset,
  { ...dramPreset, id: 'p-eur', label: 'DRAM', currency: 'EUR', preset: false, source: 'contract 17' },
]

/** The scenario that the page starts from; without a price of DRAM. */
export const scenario: ScenarioDocument = {
  format: 'tierscope.scenario/1',
  name: 'A third behind CXL',
  description: '',
  currency: 'USD',
  skus: [{ name: 'two sockets', price: 10_000, watts: 0 }],
  baseline: { name: 'all DRAM', sku: 'two sockets', dram_gb: 768, loss: { kind: 'number', value: 0 }, other_capex: 0 },
  options: [
    {
      name: '2:1 with CXL',
      sku: 'two sockets',
      dram_gb: 512,
      cxl: { gb: 256, devices: 1 },
      ddr4_reused: null,
      swap: null,
      zswap: null,
      loss: { kind: 'number', value: 0.005, low: 0, high: 0.05 },
      other_capex: 0,
      capacity: 'same',
    },
  ],
  prices: {
    dram: null,
    electricity: { value: 0.09, low: 0.06, high: 0.19, source: 'EIA', date: '2023-12-31' },
    modules: [],
  },
  power: { pue: { value: 1.54, low: 1.1, high: 1.6 } },
  endurance: {},
  finance: { life_years: 5, discount_rate: 0.08, method: 'straight_line' },
  fleet: { hosts: 1000, growth_per_year: 0.1, years: 5 },
  memory: null,
}

const range = (path: string, label: string, highest: number, step: number, unit: string) => ({
  path,
  label,
  lowest: 0,
  highest,
  step,
  unit,
})

/** What the page starts from. */
export function scenarioDefaults(): ScenarioDefaults {
  return {
    spec: scenario,
    yaml: 'format: tierscope.scenario/1\n',
    ranges: [
      range('prices.dram.value', 'DRAM', 60, 0.5, 'per GB'),
      range('prices.electricity.value', 'Electricity', 0.5, 0.01, 'per kWh'),
      range('power.pue.value', 'PUE', 2.5, 0.01, 'ratio'),
      range('fleet.hosts', 'Hosts', 20_000, 1, 'hosts'),
      range('finance.life_years', 'Life of a host', 10, 0.5, 'years'),
      range('baseline.dram_gb', 'DRAM', 8192, 32, 'GB'),
      range('options[].dram_gb', 'DRAM', 8192, 32, 'GB'),
      range('options[].cxl.gb', 'Memory behind CXL', 8192, 32, 'GB'),
      range('options[].swap.gb', 'Swap drive', 32_000, 16, 'GB'),
      range('options[].loss.value', 'Lost throughput', 0.5, 0.001, 'ratio'),
    ],
    dram_presets: [dramPreset],
  }
}

/** Scenarios of the mock fleet or service: today and CXL can be costed, reused DDR4 cannot. */
export function scenarioPresets(service: string | null): ScenarioPresets {
  const [option] = scenario.options
  const of = (name: string, dram: number) => ({
    ...scenario,
    name,
    options: option === undefined ? [] : [{ ...option, name, dram_gb: dram, cxl: { gb: 768 - dram, devices: 1 } }],
    fleet: { hosts: 33, growth_per_year: 0.1, years: 5 },
  })
  return {
    subject: service === null ? 'fleet' : 'shop/web',
    simulated: false,
    n_hosts: 33,
    away: noneAway,
    n_hosts_known: 33,
    dram_gb: 700,
    slow_gb: 68,
    dram_ratio: 0.5,
    advice: 'mean by hosts of the advice for 4 services, those with the most hosts',
    presets: [
      { key: 'today', label: 'Today', spec: of('Today: fleet', 700), why_not: null },
      {
        key: 'cxl',
        label: 'CXL at the advised ratio',
        spec: of('CXL at the advised ratio: fleet', 384),
        why_not: null,
      },
      { key: 'ddr4', label: 'Reused DDR4 behind CXL', spec: null, why_not: 'no ratio advice' },
    ],
  }
}

/** A stored scenario in the list. */
export const scenarioItems: ScenarioItem[] = ['s-1', 's-2'].map((id, index) => ({
  id,
  name: index === 0 ? 'A third behind CXL' : 'With reused DDR4',
  version: 1,
  currency: 'USD',
  options: ['2:1 with CXL'],
  created_at: '2026-11-20T10:00:00Z',
  created_by: 'ana',
  changed_at: '2026-11-20T10:00:00Z',
  changed_by: 'ana',
}))

const input = (name: string, label: string, value: number, unit: string): TcoInput => ({
  name,
  label,
  value,
  low: value * 0.8,
  high: value * 1.3,
  unit,
  origin: 'default',
  source: 'survey',
  date: '2025-12-01',
  grounding: 'L',
})

const perHost = (annual: number, capex: number, dram: number, cxl: number, work: number) => ({
  parts: [
    { name: 'base' as const, capex: 10_000, annual: 2000, watts: 0 },
    { name: 'dram' as const, capex: dram * 10, annual: dram * 2, watts: dram * 0.15 },
    ...(cxl === 0 ? [] : [{ name: 'cxl_media' as const, capex: cxl * 4, annual: cxl * 0.8, watts: cxl * 0.15 }]),
  ],
  capex,
  annual,
  watts: (dram + cxl) * 0.15,
  kwh_per_year: 1500,
  memory_gb: dram + cxl,
  dram_price_per_gb: 11,
  dram_module_gb: null,
  loss: 1 - work,
  work,
  annual_per_work: annual / work,
  endurance: null,
})

const fleet = (hosts: number, annual: number, saving: number) => ({
  hosts,
  extra_hosts: hosts - 1000,
  capex: hosts * 17_000,
  annual: hosts * annual,
  watts: hosts * 120,
  saving,
  saving_p10: saving * 0.5,
  saving_p90: saving * 1.5,
  saving_ratio: saving / 3_672_235,
  saving_as_given: saving + 1000,
  years: [],
  total: hosts * annual * 5,
  total_saving: saving * 5,
  present_value: null,
})

const option: Option = {
  name: '2:1 with CXL',
  per_host: perHost(3448.68752, 16_444, 512, 256, 0.995),
  saving: 190,
  saving_ratio: 0.05174,
  saving_as_given: 206.217912,
  hosts_needed: 1006,
  fleet: fleet(1006, 3448.68752, 202_856),
  loss: {
    kind: 'number',
    value: 0.005,
    low: 0,
    high: 0.05,
    distribution: 'triangular',
    source: 'stated',
    simulated: false,
  },
  fit: null,
  break_even: { cxl_price: 8.007555, ddr4_price: null, dram_price: 6.1, loss: 0.06087518, why: [] },
  tornado: [{ input: 'dram', low: 9, high: 14, saving_low: 110, saving_high: 350 }],
  waterfall: [
    { part: 'dram', delta: -512 },
    { part: 'cxl_media', delta: 204.8 },
    { part: 'lost_throughput', delta: 100.98 },
  ],
  distribution: {
    p10: -40,
    p50: 190,
    p90: 330,
    p_positive: 0.83,
    bins: [
      { lo: -200, hi: 0, n: 1700 },
      { lo: 0, hi: 400, n: 8300 },
    ],
    draws: 10_000,
    seed: 1,
  },
  warnings: [],
}

/** The cost of the mock scenario: with a price of DRAM, or saying that it is missing. */
export function tcoAnswer(priced: boolean): TcoAnswer {
  return {
    name: scenario.name,
    currency: 'USD',
    price_date: priced ? '2025-12-01' : null,
    baseline: priced
      ? {
          name: 'all DRAM',
          per_host: perHost(3672.23552, 17_680, 768, 0, 1),
          fleet: fleet(1000, 3672.23552, 0),
          loss: {
            kind: 'number',
            value: 0,
            low: 0,
            high: 0,
            distribution: 'certain',
            source: 'stated',
            simulated: false,
          },
          fit: null,
        }
      : null,
    options: priced ? [option] : [],
    missing: priced
      ? []
      : [
          {
            what: 'dram price',
            path: 'prices.dram',
            why: 'the price of DRAM moved fivefold within a year: there is no default for it',
            next_step: 'State your contract price, or confirm one of the presets.',
            presets: [dramPreset],
          },
        ],
    inputs: [
      ...(priced ? [{ ...input('dram', 'DRAM', 11, 'USD per GB'), origin: 'scenario' as const }] : []),
      input('electricity', 'Electricity', 0.09, 'USD per kWh'),
      input('pue', 'PUE (power of the building over that of the machines)', 1.54, 'ratio'),
    ],
    memory: null,
    sanity: [{ source: 'Pond', what: 'cost of DRAM', low_ratio: 0.07, high_ratio: 0.07, year: 2023 }],
    notes: ['Money is in USD.'],
  }
}
