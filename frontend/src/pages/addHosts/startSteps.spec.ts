import { describe, expect, it } from 'vitest'
import type { HostDetail, HostSummary } from '../../api/_generated/schema'
import { recorded } from '../../mock-api/answer'
import { mockNow } from '../../mock-api/figures'
import { firstValueAt, startSteps, type StartFacts, type StartStep } from './startSteps'

const hosts = recorded('/v1/hosts').items

const at = (minutes: number): string => new Date((mockNow + minutes * 60) * 1000).toISOString()
const clockAt = (minutes: number): Date => new Date((mockNow + minutes * 60) * 1000)

const base = hosts[1] as HostSummary
const host: HostSummary = { ...base, enrolled_at: at(0), last_seen: null, findings: [] }
const empty: StartFacts = {
  host,
  detail: undefined,
  firstLedgerAt: undefined,
  firstHeatAt: undefined,
  advice: undefined,
  card: undefined,
  ratioOf: new Set(),
}

function detailOf(over: Partial<HostDetail>): HostDetail {
  const known = recorded('/v1/hosts/{host_id}', 'h-2') as HostDetail
  const pause = { ...known.agent.pause, paused: false, heat_paused: false, everywhere: false }
  return { ...known, agent: { ...known.agent, pause }, collectors: [], services: [], ...over }
}

const step = (key: StartStep['key'], facts: StartFacts, minutes = 1): StartStep =>
  startSteps(facts, clockAt(minutes)).find((found) => found.key === key) as StartStep

describe('the start of a host', () => {
  it('waits for the first report, and says when none comes', () => {
    expect(step('connected', empty).state).toBe('waiting')
    const late = step('connected', empty, 11)
    expect(late.state).toBe('blocked')
    expect(late.fix).toContain('journalctl')
    const seen = { ...empty, host: { ...host, last_seen: at(1) } }
    expect(step('connected', seen)).toMatchObject({ state: 'done', at: at(0) })
  })

  it('says when reports came and stopped', () => {
    const silent = { ...empty, host: { ...host, last_seen: at(1), state: 'silent' as const } }
    expect(step('connected', silent, 60)).toMatchObject({ state: 'blocked', text: expect.stringContaining('stopped') })
    expect(step('connected', { ...silent, host: { ...silent.host, state: 'reporting' } }, 60).state).toBe('done')
    const agentless = { ...silent, host: { ...silent.host, agent_version: null } }
    expect(step('connected', agentless, 60).fix).not.toContain('journalctl')
  })

  it('promises no ratio for later where the services of the host have one', () => {
    const service = { id: 's', namespace: 'shop', name: 'cache', rule: '', processes: 1 }
    const detail = detailOf({ services: [{ ...service, heat_measured: true, heat_reason: null }] })
    const judged = { ...empty, host: { ...host, last_seen: at(1) }, firstLedgerAt: at(2), firstHeatAt: at(3), detail }
    expect(step('advice', { ...judged, card: null }).text).toContain('a day of page samples: expected')
    const known = step('advice', { ...judged, card: null, ratioOf: new Set(['s']) }).text
    expect(known).toContain('The DRAM:CXL ratio of shop/cache is judged already.')
    expect(known).not.toContain('a day of page samples')
  })

  it('counts the first row of the ledger, and names the finding that is in the way', () => {
    const seen = { ...empty, host: { ...host, last_seen: at(1) }, firstLedgerAt: null }
    expect(step('counters', seen).text).toMatch(/two reports a minute apart: expected about \d\d:\d\d\./)
    expect(step('counters', { ...seen, firstLedgerAt: at(2) })).toMatchObject({ state: 'done', at: at(2) })
    const found = {
      id: 'x',
      severity: 'warning',
      cause: 'No vmstat.',
      fix: 'Mount /proc.',
      confidence: 'certain',
      since: null,
    }
    const stuck = { ...seen, host: { ...seen.host, findings: [found as HostSummary['findings'][number]] } }
    expect(step('counters', stuck, 11)).toMatchObject({ state: 'blocked', text: 'No vmstat.', fix: 'Mount /proc.' })
  })

  it('does not expect heat of Prometheus', () => {
    const sampled = { ...empty, host: { ...host, last_seen: at(1), agent_version: null } }
    expect(step('heat', sampled)).toMatchObject({ state: 'none', fix: 'Install the agent on this host too.' })
  })

  it('says why heat is not measured, and how it would be', () => {
    const seen = { ...empty, host: { ...host, last_seen: at(1) } }
    expect(step('heat', { ...seen, detail: detailOf({}) }).fix).toContain('programs = ')
    const service = { id: 's', namespace: 'shop', name: 'cache', rule: '', processes: 1 }
    const unlisted = detailOf({ services: [{ ...service, heat_measured: false, heat_reason: 'not listed' }] })
    expect(step('heat', { ...seen, detail: unlisted })).toMatchObject({ state: 'blocked', text: 'not listed' })
    const measured = detailOf({ services: [{ ...service, heat_measured: true, heat_reason: null }] })
    expect(step('heat', { ...seen, detail: measured }).state).toBe('waiting')
    const paused = { ...measured, agent: { ...measured.agent, pause: { ...measured.agent.pause, heat_paused: true } } }
    expect(step('heat', { ...seen, detail: paused }).text).toBe('Heat is paused.')
    expect(step('heat', { ...seen, detail: measured, firstHeatAt: at(4) })).toMatchObject({ state: 'done', at: at(4) })
  })

  it('says when advice is due, and when none is', () => {
    const seen = { ...empty, host: { ...host, last_seen: at(1) } }
    expect(step('advice', seen)).toMatchObject({ state: 'waiting', at: null })
    const judged = { ...seen, firstLedgerAt: at(2), card: null }
    expect(step('advice', judged).text).toMatch(/judged within minutes: expected about \d\d:\d\d\./)
    const view = recorded('/v1/hosts/{host_id}/knob-advice')
    expect(step('advice', { ...judged, advice: view })).toMatchObject({ state: 'done', text: view.advice[0]?.title })
    const fine = { ...view, advice: [], nothing_to_do: view.advice[0] ?? null }
    expect(step('advice', { ...judged, advice: fine }).text).toContain('No change of settings is needed.')
    expect(step('advice', judged).text).toContain('needs a day of page samples.')
    expect(step('advice', { ...judged, firstHeatAt: at(3) }).text).toMatch(
      /page samples: expected \d+ Nov, \d\d:\d\d\./,
    )
    const sampled = { ...judged, host: { ...judged.host, agent_version: null } }
    expect(step('advice', sampled).text).not.toContain('page samples')
    const oneTier = { ...judged, host: { ...judged.host, tiers: ['dram'] }, advice: { ...view, advice: [] } }
    expect(step('advice', oneTier)).toMatchObject({ state: 'none' })
  })

  it('finds the first interval with a value; a zero is one', () => {
    const axis = { times: [60, 120, 180], step_seconds: 60, resolution: '1m' as const, window: { start: '', end: '' } }
    const series = (values: (number | null)[]) => ({ key: 'a', label: 'a', unit: 'pages', values })
    expect(firstValueAt(axis, [series([null, null, 3]), series([null, 0, 3])])).toBe('1970-01-01T00:02:00Z')
    expect(firstValueAt(axis, [series([null, null, null])])).toBeNull()
  })
})
