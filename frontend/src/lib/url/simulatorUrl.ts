import { gridMetrics, type GridMetric } from '../simulate'
import {
  oneOf,
  readListSearch,
  readTimeSearch,
  text,
  type ListSearch,
  type RawSearch,
  type TimeSearch,
} from './urlState'

/** Loads of which curves of swap devices are kept. */
export const swapLoads = ['read_mostly', 'mixed', 'write_heavy'] as const
export type SwapLoad = (typeof swapLoads)[number]

/** What of swap devices can be drawn against their use. */
export const swapQuantityNames = ['amplification', 'swapIn', 'swapOut', 'p99'] as const
export type SwapQuantity = (typeof swapQuantityNames)[number]

/** Parameters of the simulator's first page: the list's order, and the form for a new sweep. */
export interface SimulatorSearch extends ListSearch {
  /** Whether the form is open. */
  new?: 'on' | undefined
  /** The service whose sample is replayed. */
  service?: string | undefined
  /** The load of swap devices, and what of them is drawn. */
  swapLoad?: SwapLoad | undefined
  swapShow?: SwapQuantity | undefined
}

/** Parameters of a sweep: what the grid shows, the cell and the search that are opened. */
export interface SweepPageSearch extends TimeSearch {
  metric?: GridMetric | undefined
  run?: string | undefined
  /** Policy and DRAM share of the knob search that is shown. */
  knob?: string | undefined
}

/** The simulator's part of a URL. */
export function readSimulatorSearch(raw: RawSearch): SimulatorSearch {
  return {
    ...readListSearch(raw),
    new: oneOf(raw, 'new', ['on']),
    service: text(raw, 'service'),
    swapLoad: oneOf(raw, 'swapLoad', swapLoads),
    swapShow: oneOf(raw, 'swapShow', swapQuantityNames),
  }
}

/** A sweep's part of a URL. */
export function readSweepSearch(raw: RawSearch): SweepPageSearch {
  return {
    ...readTimeSearch(raw),
    metric: oneOf(raw, 'metric', gridMetrics),
    run: text(raw, 'run', 100),
    knob: text(raw, 'knob', 100),
  }
}
