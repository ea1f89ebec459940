import type { Backtest, Rule, RuleCheck, Vocabulary } from '../../api/_generated/schema'
import { mockNow, timeAxis } from '../figures'

const iso = (minutesAgo: number) => new Date((mockNow - minutesAgo * 60) * 1000).toISOString()

function rule(id: string, over: Partial<Rule>): Rule {
  return {
    id,
    name: 'Free DRAM',
    group: 'memory',
    origin: 'shipped',
    enabled: true,
    expression: 'free_dram_ratio < 5%',
    normal_form: 'free_dram_ratio < 5%',
    unit: 'ratio',
    threshold: 0.05,
    scope: { kind: 'host', hosts: [], services: [], labels: [] },
    for_seconds: 300,
    keep_firing_for_seconds: 0,
    recovery_expression: null,
    recovery_threshold: '8%',
    n_of_m: null,
    no_data: 'keep',
    no_data_after_seconds: 300,
    severity: 'warning',
    labels: { team: 'memory' },
    summary: '{{ subject }} has {{ value }} of its DRAM free',
    description: '',
    runbook_url: null,
    interval_seconds: 60,
    state_counts: { ok: 48, pending: 1, firing: 1, no_data: 0 },
    evaluated_to: iso(1),
    judged_after_seconds: 135,
    created_at: iso(9000),
    updated_at: iso(9000),
    author: null,
    ...over,
  }
}

/** Rules of the mock service: a shipped one, and an own one that is off. */
export const rules: Rule[] = [
  rule('rule-1', {}),
  rule('rule-2', {
    name: 'Ping-pong',
    origin: 'own',
    enabled: false,
    severity: 'critical',
    group: 'own',
    author: 'ana',
  }),
]

/** What conditions of the mock can name. */
export const vocabulary: Vocabulary = {
  series: [
    {
      name: 'free_dram_ratio',
      kind: 'derived',
      unit: 'ratio',
      scopes: ['host', 'fleet'],
      meaning: 'Free memory of the top tier.',
      words: [],
      expression: 'top_free_bytes / top_capacity_bytes',
      picks: [],
      in_catalogue: false,
    },
    {
      name: 'vmstat.pswpin',
      kind: 'flow',
      unit: 'pages_per_s',
      scopes: ['host'],
      meaning: 'Pages read from swap.',
      words: [],
      expression: null,
      picks: [],
      in_catalogue: true,
    },
  ],
  functions: [{ name: 'rate', meaning: 'rate(flow, window): the rate over the window' }],
  units: ['%', 'MB/s'],
  placeholders: ['value', 'subject'],
}

/** Conditions that compare are understood; others are refused at their second word. */
export function ruleCheck(expression: string): RuleCheck {
  const ok = expression.includes('<')
  return {
    ok,
    problems: ok
      ? []
      : [{ at: 'expression:6', message: 'There is no metric `dram`.', next_step: 'Did you mean `free_dram_ratio`?' }],
    normal_form: ok ? expression : null,
    unit: ok ? 'ratio' : null,
    threshold: ok ? 0.05 : null,
    inputs: [],
    lookback_seconds: 60,
  }
}

/** A backtest at two hosts; one of them fired once. */
export function backtest(): Backtest {
  const axis = timeAxis(6, 60)
  const subject = (id: string, fired: number): Backtest['subjects'][number] => ({
    kind: 'host',
    id,
    name: `host ${id}`,
    origin: 'simulated',
    values: [0.2, 0.1, 0.04, null, 0.03, 0.03],
    threshold: 0.05,
    recovery_threshold: 0.08,
    states: ['ok', 'ok', 'pending', null, 'firing', 'firing'],
    spans: [
      { state: 'ok', from: iso(6), to: iso(3), value: 0.2 },
      { state: 'firing', from: iso(3), to: null, value: 0.04 },
    ],
    fired,
    firing_seconds: fired * 180,
  })
  return {
    axis,
    unit: 'ratio',
    threshold: 0.05,
    subjects: [subject('h-1', 1), subject('h-2', 0)],
    n_subjects: 50,
    n_firing_subjects: 1,
    fired: 1,
    resolved: 0,
    firing_seconds: 180,
    coverage: 0.98,
    notes: [],
  }
}
