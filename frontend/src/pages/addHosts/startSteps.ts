import type { AdviceCard, HostDetail, HostKnobAdvice, HostSummary, Series, TimeAxis } from '../../api/_generated/schema'
import { worstFinding } from '../../lib/fleet/findings'
import { formatClock, toRfc3339 } from '../../lib/units/time'

/** What is known of a host that was just enrolled; undefined while it is not loaded. */
export interface StartFacts {
  host: HostSummary
  detail: HostDetail | undefined
  /** RFC 3339; null where there is none yet. */
  firstLedgerAt: string | null | undefined
  firstHeatAt: string | null | undefined
  advice: HostKnobAdvice | undefined
  card: AdviceCard | null | undefined
  /** Ids of services that have ratio advice. */
  ratioOf: ReadonlySet<string>
}

/** `none`: it will not come on this host, and why. */
export type StartState = 'done' | 'waiting' | 'blocked' | 'none'

/** One line of the checklist. */
export interface StartStep {
  key: 'connected' | 'counters' | 'heat' | 'advice'
  label: string
  state: StartState
  /** When it was done; null where it is not. */
  at: string | null
  text: string
  fix: string | null
}

const minute = 60
/** Two reports a minute apart, their upload, and the rebuild. */
const ledgerDueSeconds = 3 * minute
/** New hosts are looked for every five minutes. */
const adviceDueSeconds = 6 * minute
/** Later than this something is in the way. */
const overdueSeconds = 10 * minute
const daySeconds = 86_400

const seconds = (at: string): number => Date.parse(at) / 1000

/** The start of the first interval in which any series has a value; null where none has. */
export function firstValueAt(axis: TimeAxis, series: Series[]): string | null {
  const index = axis.times.findIndex((_, at) => series.some(({ values }) => values[at] != null))
  const start = axis.times[index]
  return start === undefined ? null : toRfc3339(start)
}

/** The steps from enrolment to the first advice, with what each waits for. */
export function startSteps(facts: StartFacts, now: Date): StartStep[] {
  return [connected(facts, now), counters(facts, now), heat(facts), advice(facts)]
}

function connected({ host }: StartFacts, now: Date): StartStep {
  const step = { key: 'connected', label: 'Connected' } as const
  if (host.last_seen !== null && host.state === 'silent') {
    const text = 'Enrolled, and its reports have stopped.'
    const fix = host.agent_version === null ? 'See whether what sends its series still runs.' : agentSays
    return { ...step, state: 'blocked', at: null, text, fix }
  }
  if (host.last_seen !== null) {
    return { ...step, state: 'done', at: host.enrolled_at, text: 'Enrolled, and its reports arrive.', fix: null }
  }
  if (now.getTime() / 1000 - seconds(host.enrolled_at) < overdueSeconds) {
    return { ...step, state: 'waiting', at: null, text: 'Enrolled; its first report takes a minute or two.', fix: null }
  }
  return {
    ...step,
    state: 'blocked',
    at: null,
    text: 'Enrolled, but no report has arrived.',
    fix: agentSays,
  }
}

const agentSays =
  'See why on the host: `journalctl -u tierscope-agent`; `delivery_error` in /var/lib/tierscope-agent/status.json.'

function counters({ host, firstLedgerAt }: StartFacts, now: Date): StartStep {
  const step = { key: 'counters', label: 'Counters' } as const
  if (firstLedgerAt != null) {
    return { ...step, state: 'done', at: firstLedgerAt, text: 'First row of the ledger of tier moves.', fix: null }
  }
  const age = now.getTime() / 1000 - seconds(host.enrolled_at)
  if (age < overdueSeconds || firstLedgerAt === undefined) {
    const text = `The first row needs two reports a minute apart: ${dueText(host.enrolled_at, ledgerDueSeconds)}`
    return { ...step, state: 'waiting', at: null, text, fix: null }
  }
  const finding = worstFinding(host.findings)
  return {
    ...step,
    state: 'blocked',
    at: null,
    text: finding?.cause ?? 'No row of the ledger yet, although it is due.',
    fix: finding?.fix ?? 'See on the page Status whether the worker is behind.',
  }
}

function heat({ host, detail, firstHeatAt }: StartFacts): StartStep {
  const step = { key: 'heat', label: 'Heat', at: null } as const
  if (firstHeatAt != null) {
    return { ...step, state: 'done', at: firstHeatAt, text: 'First measured interval.', fix: null }
  }
  if (host.last_seen !== null && host.agent_version === null) {
    const text = 'Not collected: Prometheus has no page heat.'
    return { ...step, state: 'none', text, fix: 'Install the agent on this host too.' }
  }
  if (detail === undefined || host.last_seen === null) {
    return { ...step, state: 'waiting', text: 'Measured once a listed program runs.', fix: null }
  }
  if (detail.agent.pause.heat_paused) {
    return { ...step, state: 'blocked', text: 'Heat is paused.', fix: 'Resume it on the page Agents.' }
  }
  const finding = host.findings.find(({ id }) => id.startsWith('heat'))
  if (finding !== undefined) return { ...step, state: 'blocked', text: finding.cause, fix: finding.fix }
  if (detail.services.some(({ heat_measured: measured }) => measured)) {
    return { ...step, state: 'waiting', text: 'Measuring; the first interval is about to arrive.', fix: null }
  }
  const reason = detail.services.find((service) => service.heat_reason !== null)?.heat_reason
  const off = detail.collectors.find(({ active, enable_hint: hint }) => !active && hint !== null)
  if (reason == null && off === undefined) {
    return { ...step, state: 'waiting', text: 'Measured once a listed program runs.', fix: listPrograms }
  }
  return {
    ...step,
    state: 'blocked',
    text: reason ?? `${off?.name} is off: ${off?.reason ?? 'the agent does not say why'}`,
    fix: reason == null ? (off?.enable_hint ?? null) : listPrograms,
  }
}

const listPrograms = 'List programs under `[heat]` in /etc/tierscope/agent.toml: `programs = ["redis-server"]`.'

function advice(facts: StartFacts): StartStep {
  const { host, firstLedgerAt, advice: view, card } = facts
  const step = { key: 'advice', label: 'First advice', at: null, fix: null } as const
  const ratio = ratioText(facts)
  if (card != null) return { ...step, state: 'done', at: card.created_at, text: card.title }
  const first = view?.advice[0]
  if (first !== undefined) return { ...step, state: 'done', at: null, text: first.title }
  if (view?.nothing_to_do != null && firstLedgerAt != null) {
    return { ...step, state: 'done', text: `No change of settings is needed. ${ratio}` }
  }
  if (firstLedgerAt != null && host.tiers.length === 1) {
    return { ...step, state: 'none', text: `No settings advice: one memory tier. ${ratio}` }
  }
  if (firstLedgerAt == null) return { ...step, state: 'waiting', text: `Judged after the first counters. ${ratio}` }
  const due = dueText(firstLedgerAt, adviceDueSeconds)
  return { ...step, state: 'waiting', text: `Settings are judged within minutes: ${due} ${ratio}` }
}

/** Whether the ratio of the host's services is judged, or when it can be; nothing where its pages are never sampled. */
function ratioText({ host, detail, firstHeatAt, ratioOf }: StartFacts): string {
  if (host.last_seen !== null && host.agent_version === null) return ''
  const judged = detail?.services.find(({ id }) => ratioOf.has(id))
  if (judged !== undefined) return `The DRAM:CXL ratio of ${judged.namespace}/${judged.name} is judged already.`
  const text = 'A DRAM:CXL ratio for its services needs a day of page samples'
  return firstHeatAt == null ? `${text}.` : `${text}: ${dueText(firstHeatAt, daySeconds)}`
}

/** When something is expected, by the viewer's clock; with the date where it is another day. */
function dueText(from: string, afterSeconds: number): string {
  const due = new Date(Date.parse(from) + afterSeconds * 1000)
  const clock = formatClock(due)
  const day = due.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  return afterSeconds >= daySeconds ? `expected ${day}, ${clock}.` : `expected about ${clock}.`
}
