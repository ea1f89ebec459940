/** What the URL carries. Anything unreadable in a link is dropped, so that a bad link opens the default view. */
import { fairBases, limitKinds, type FairBasis, type LimitKind, type TenantKind } from './fairnessUrl'
import { readComparison } from '../comparison'
import { isTime } from '../units/time'
import { readTags, writeTags } from './tagsUrl'

/** Parameters of every page: the time range, and whether it moves with the clock. */
export interface TimeSearch {
  from?: string | undefined
  to?: string | undefined
  live?: 'off' | undefined
  /** Whether events are marked on charts. */
  marks?: 'off' | undefined
  /** The page alone, on a screen on a wall: 1, or the seconds after which the next shared view follows. */
  kiosk?: number | undefined
  tags?: string | undefined
}

export const serviceTabs = [
  'overview',
  'heatmap',
  'revisit',
  'curve',
  'sensitivity',
  'moves',
  'fairness',
  'hosts',
  'advice',
] as const
export type ServiceTab = (typeof serviceTabs)[number]

export const hostTabs = ['overview', 'advice', 'moves', 'fairness', 'counters', 'hardware', 'setup'] as const
export type HostTab = (typeof hostTabs)[number]

export const schemes = ['recency', 'frequency', 'cold_age'] as const
export type SchemeName = (typeof schemes)[number]

export const pageKinds = ['anon', 'file', 'tmpfs'] as const
export type PageKindName = (typeof pageKinds)[number]

export const revisitClocks = ['last_access', 'turned_cold'] as const
type RevisitClock = (typeof revisitClocks)[number]

/** Loss targets that advice is offered for. */
export const lossTargets = [0.01, 0.02, 0.05, 0.1] as const

/** Growth of memory that advice may allow for. */
export const growthChoices = [0, 0.05, 0.1, 0.2, 0.5] as const

/** A rectangle of the heatmap: Unix seconds across, rows of the epoch down; `r1` is exclusive. */
export interface Box {
  t0: number
  t1: number
  r0: number
  r1: number
}

/** Parameters of a page whose charts can be compared. */
interface ComparedSearch extends TimeSearch {
  /** With what: `-1h`, `-1d`, `-7d`, `host:<id>`, `service:<id>` or `event:<id>`. */
  compare?: string | undefined
}

/** Parameters of the service page. */
export interface ServiceSearch extends ComparedSearch {
  tab?: ServiceTab | undefined
  scheme?: SchemeName | undefined
  threshold?: number | undefined
  host?: string | undefined
  group?: string | undefined
  kind?: PageKindName | undefined
  clock?: RevisitClock | undefined
  /** Idle intervals after which memory counts as cold. */
  idle?: number | undefined
  /** Acceptable loss of throughput, as a ratio. */
  loss?: number | undefined
  /** DRAM must hold the hot memory. */
  holdHot?: 'on' | undefined
  /** Growth of memory that DRAM must bear, as a ratio. */
  growth?: number | undefined
  device?: string | undefined
  zoom?: string | undefined
  sel?: string | undefined
  /** Colours over all activity, rather than from its 2nd to its 98th percentile in view. */
  scale?: 'full' | undefined
  /** Page kinds side by side. */
  kinds?: 'split' | undefined
  /** What is fair. */
  basis?: FairBasis | undefined
}

/** Parameters of the host page. */
export interface HostSearch extends ComparedSearch {
  tab?: HostTab | undefined
  counter?: string | undefined
  source?: string | undefined
  view?: 'rate' | 'value' | undefined
  /** Whose shares of the top tier are compared, and what is fair. */
  by?: TenantKind | undefined
  basis?: FairBasis | undefined
  /** What is replayed: the proposed protection, or so many MiB of `memory.low` or of the top tier for a service. */
  replay?: LimitKind | undefined
  tenant?: string | undefined
  mib?: number | undefined
}

/** Parameters of a list page. */
export interface ListSearch extends TimeSearch {
  q?: string | undefined
  sort?: string | undefined
  state?: string | undefined
}

/** Parameters of the fleet page: its list, and how the hosts' tiles are grouped, coloured and of which moment. */
export interface FleetSearch extends ListSearch, ComparedSearch {
  group?: string | undefined
  colour?: 'cold' | 'psi' | 'drift' | undefined
  at?: string | undefined
}

/** Parameters of the hosts page: its list, narrowed to chosen hosts, to a service or to a cause of trouble. */
export interface HostsSearch extends ListSearch {
  hosts?: string | undefined
  service?: string | undefined
  cause?: string | undefined
}

/** Parameters of the agents page: whether all hosts are listed or those that are behind. */
export interface AgentsSearch extends TimeSearch {
  show?: 'all' | undefined
}

/** Parameters of the data-quality page: the order, and from where on hosts are listed. */
export interface QualitySearch extends TimeSearch {
  sort?: string | undefined
  cursor?: string | undefined
}

/** Parameters of a new experiment: for which service, from which advice, or with which change of the plan. */
export interface NewExperimentSearch extends TimeSearch {
  service?: string | undefined
  advice?: string | undefined
  change?: string | undefined
}

/** What the router makes of a query string. */
export type RawSearch = Record<string, unknown>

/** A text that is not empty; numbers count as text. */
export function text(raw: RawSearch, key: string, maximum = 512): string | undefined {
  const value = raw[key]
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' && value.length <= maximum ? value : undefined
}

/** A whole number from 1 to `maximum`. */
export function whole(raw: RawSearch, key: string, maximum: number): number | undefined {
  const value = Number(raw[key])
  return Number.isInteger(value) && value >= 1 && value <= maximum ? value : undefined
}

/** One of the allowed words. */
export function oneOf<T extends string>(raw: RawSearch, key: string, allowed: readonly T[]): T | undefined {
  return allowed.find((value) => value === raw[key])
}

/** The time range of a URL. */
export function readTimeSearch(raw: RawSearch): TimeSearch {
  const from = text(raw, 'from', 40)
  const to = text(raw, 'to', 40)
  return {
    from: from !== undefined && isTime(from) ? from : undefined,
    to: to !== undefined && isTime(to) ? to : undefined,
    live: oneOf(raw, 'live', ['off']),
    marks: oneOf(raw, 'marks', ['off']),
    kiosk: whole(raw, 'kiosk', 3600),
    tags: writeTags(readTags(text(raw, 'tags', 1000))),
  }
}

function readComparedSearch(raw: RawSearch): ComparedSearch {
  const compare = text(raw, 'compare', 200)
  return { ...readTimeSearch(raw), compare: readComparison(compare) === null ? undefined : compare }
}

/** The service page's part of a URL. */
export function readServiceSearch(raw: RawSearch): ServiceSearch {
  const zoom = text(raw, 'zoom', 80)
  const sel = text(raw, 'sel', 80)
  return {
    ...readComparedSearch(raw),
    tab: oneOf(raw, 'tab', serviceTabs),
    scheme: oneOf(raw, 'scheme', schemes),
    threshold: whole(raw, 'threshold', 64),
    host: text(raw, 'host'),
    group: text(raw, 'group'),
    kind: oneOf(raw, 'kind', pageKinds),
    clock: oneOf(raw, 'clock', revisitClocks),
    idle: whole(raw, 'idle', 40),
    holdHot: oneOf(raw, 'holdHot', ['on']),
    growth: growthChoices.find((growth) => growth !== 0 && growth === Number(raw['growth'])),
    device: text(raw, 'device', 60),
    loss: lossTargets.find((target) => target === Number(raw['loss'])),
    zoom: readBox(zoom) === null ? undefined : zoom,
    sel: readBox(sel) === null ? undefined : sel,
    scale: oneOf(raw, 'scale', ['full']),
    kinds: oneOf(raw, 'kinds', ['split']),
    basis: oneOf(raw, 'basis', fairBases),
  }
}

/** The host page's part of a URL. */
export function readHostSearch(raw: RawSearch): HostSearch {
  return {
    ...readComparedSearch(raw),
    tab: oneOf(raw, 'tab', hostTabs),
    counter: text(raw, 'counter'),
    source: text(raw, 'source', 100),
    view: oneOf(raw, 'view', ['rate', 'value']),
    by: oneOf(raw, 'by', ['service', 'cgroup']),
    basis: oneOf(raw, 'basis', fairBases),
    replay: oneOf(raw, 'replay', limitKinds),
    tenant: text(raw, 'tenant', 100),
    mib: whole(raw, 'mib', 2 ** 30),
  }
}

/** A list page's part of a URL. */
export function readListSearch(raw: RawSearch): ListSearch {
  return { ...readTimeSearch(raw), q: text(raw, 'q', 200), sort: text(raw, 'sort', 40), state: text(raw, 'state', 20) }
}

/** The fleet page's part of a URL. */
export function readFleetSearch(raw: RawSearch): FleetSearch {
  const at = text(raw, 'at', 40)
  return {
    ...readListSearch(raw),
    ...readComparedSearch(raw),
    group: text(raw, 'group', 100),
    colour: oneOf(raw, 'colour', ['cold', 'psi', 'drift']),
    at: at !== undefined && isTime(at) ? at : undefined,
  }
}

/** The hosts page's part of a URL. */
export function readHostsSearch(raw: RawSearch): HostsSearch {
  return {
    ...readListSearch(raw),
    hosts: text(raw, 'hosts', mostChosenHosts * 64),
    service: text(raw, 'service'),
    cause: text(raw, 'cause', 100),
  }
}

/** The agents page's part of a URL. */
export function readAgentsSearch(raw: RawSearch): AgentsSearch {
  return { ...readTimeSearch(raw), show: oneOf(raw, 'show', ['all']) }
}

/** The data-quality page's part of a URL. */
export function readQualitySearch(raw: RawSearch): QualitySearch {
  return { ...readTimeSearch(raw), sort: text(raw, 'sort', 40), cursor: text(raw, 'cursor', 400) }
}

/** A new experiment's part of a URL. */
export function readNewExperimentSearch(raw: RawSearch): NewExperimentSearch {
  return {
    ...readTimeSearch(raw),
    service: text(raw, 'service'),
    advice: text(raw, 'advice'),
    change: text(raw, 'change', 200),
  }
}

/** A link names at most so many hosts. */
export const mostChosenHosts = 200

/** The URL form of chosen hosts: their ids, the first ones where there are too many. */
export function writeHosts(ids: readonly string[]): string {
  return ids.slice(0, mostChosenHosts).join(',')
}

/** The ids of chosen hosts from their URL form; null where none are. */
export function readHosts(value: string | undefined): ReadonlySet<string> | null {
  return value === undefined ? null : new Set(value.split(',').filter((id) => id !== ''))
}

/** A box from its URL form `t0~t1~r0~r1`; null when it is not one or is empty. */
export function readBox(value: string | undefined): Box | null {
  if (value === undefined) return null
  const parts = value.split('~').map(Number)
  const [t0 = NaN, t1 = NaN, r0 = NaN, r1 = NaN] = parts
  if (parts.length !== 4 || parts.some((part) => !Number.isFinite(part) || part < 0)) return null
  return t1 > t0 && r1 > r0 ? { t0, t1, r0, r1 } : null
}

/** The URL form of a box, in whole seconds and rows, so that links stay short and equal views have equal links. */
export function writeBox(box: Box): string {
  return [Math.floor(box.t0), Math.ceil(box.t1), Math.max(0, Math.floor(box.r0)), Math.ceil(box.r1)].join('~')
}
