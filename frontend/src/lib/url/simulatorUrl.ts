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

/** Parameters of the simulator's first page: the list's order, and the form for a new sweep. */
export interface SimulatorSearch extends ListSearch {
  /** Whether the form is open. */
  new?: 'on' | undefined
  /** The service whose sample is replayed. */
  service?: string | undefined
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
  return { ...readListSearch(raw), new: oneOf(raw, 'new', ['on']), service: text(raw, 'service') }
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
