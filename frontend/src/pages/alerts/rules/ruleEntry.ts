import type { Rule, RuleRequest } from '../../../api/_generated/schema'
import { matchersText, readMatchers } from '../../../lib/alerts'

/** What the editor holds. Lengths of time are minutes; lists are texts. Empty number fields are texts. */
export interface RuleEntry {
  name: string
  group: string
  enabled: boolean
  expression: string
  kind: 'host' | 'service' | 'fleet'
  hosts: string
  services: string
  /** Matchers on labels of the host. */
  matchers: string
  forMinutes: number | string
  keepMinutes: number | string
  recovery: 'none' | 'threshold' | 'expression'
  recoveryThreshold: string
  recoveryExpression: string
  counted: boolean
  n: number | string
  m: number | string
  noData: 'keep' | 'alert' | 'ok'
  noDataMinutes: number | string
  severity: 'info' | 'warning' | 'critical'
  /** Labels that are added: `team="memory"`. */
  labels: string
  summary: string
  description: string
  runbook: string
}

/** What a part of the editor shows, and what it changes of it. */
export interface RuleFieldsProps {
  entry: RuleEntry
  onChange: (change: Partial<RuleEntry>) => void
}

/** The editor as it opens for a new rule. */
export function blankRule(): RuleEntry {
  return {
    name: '',
    group: 'own',
    enabled: true,
    expression: 'free_dram_ratio < 5%',
    kind: 'host',
    hosts: '',
    services: '',
    matchers: '',
    forMinutes: 5,
    keepMinutes: 0,
    recovery: 'none',
    recoveryThreshold: '',
    recoveryExpression: '',
    counted: false,
    n: 3,
    m: 5,
    noData: 'keep',
    noDataMinutes: 5,
    severity: 'warning',
    labels: '',
    summary: '',
    description: '',
    runbook: '',
  }
}

/** A stored rule in the editor. */
export function entryOfRule(rule: Rule): RuleEntry {
  const labels = Object.entries(rule.labels).map(([name, value]) => ({ name, op: '=' as const, value }))
  return {
    name: rule.name,
    group: rule.group,
    enabled: rule.enabled,
    expression: rule.expression,
    kind: rule.scope.kind,
    hosts: rule.scope.hosts.join(', '),
    services: rule.scope.services.join(', '),
    matchers: matchersText(rule.scope.labels),
    forMinutes: rule.for_seconds / 60,
    keepMinutes: rule.keep_firing_for_seconds / 60,
    recovery:
      rule.recovery_expression !== null ? 'expression' : rule.recovery_threshold !== null ? 'threshold' : 'none',
    recoveryThreshold: rule.recovery_threshold ?? '',
    recoveryExpression: rule.recovery_expression ?? '',
    counted: rule.n_of_m !== null,
    n: rule.n_of_m?.n ?? 3,
    m: rule.n_of_m?.m ?? 5,
    noData: rule.no_data,
    noDataMinutes: rule.no_data_after_seconds / 60,
    severity: rule.severity,
    labels: matchersText(labels),
    summary: rule.summary,
    description: rule.description,
    runbook: rule.runbook_url ?? '',
  }
}

/** A stored rule as a request that would leave it as it is. */
export function requestOfRule(rule: Rule): RuleRequest {
  return {
    name: rule.name,
    group: rule.group,
    enabled: rule.enabled,
    expression: rule.expression,
    scope: rule.scope,
    for_seconds: rule.for_seconds,
    keep_firing_for_seconds: rule.keep_firing_for_seconds,
    recovery_expression: rule.recovery_expression,
    recovery_threshold: rule.recovery_threshold,
    n_of_m: rule.n_of_m,
    no_data: rule.no_data,
    no_data_after_seconds: rule.no_data_after_seconds,
    severity: rule.severity,
    labels: rule.labels,
    summary: rule.summary,
    description: rule.description,
    runbook_url: rule.runbook_url,
  }
}

function list(typed: string): string[] {
  return typed
    .split(/[,\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function seconds(minutes: number | string): number {
  return Math.round((Number(minutes) || 0) * 60)
}

/** The request of the editor; a text says which field cannot be read. The service judges all else. */
export function requestOfEntry(entry: RuleEntry): RuleRequest | string {
  const matchers = readMatchers(entry.matchers)
  if (typeof matchers === 'string') return `Labels of the scope: ${matchers}`
  const labels = readMatchers(entry.labels)
  if (typeof labels === 'string') return `Labels: ${labels}`
  if (labels.some(({ op }) => op !== '=')) return 'Labels: a label has one value, so write label="value".'
  return {
    name: entry.name.trim(),
    group: entry.group.trim() || 'own',
    enabled: entry.enabled,
    expression: entry.expression.trim(),
    scope: { kind: entry.kind, hosts: list(entry.hosts), services: list(entry.services), labels: matchers },
    for_seconds: seconds(entry.forMinutes),
    keep_firing_for_seconds: seconds(entry.keepMinutes),
    recovery_expression: entry.recovery === 'expression' ? entry.recoveryExpression.trim() || null : null,
    recovery_threshold: entry.recovery === 'threshold' ? entry.recoveryThreshold.trim() || null : null,
    n_of_m: entry.counted ? { n: Number(entry.n) || 1, m: Number(entry.m) || 1 } : null,
    no_data: entry.noData,
    no_data_after_seconds: Math.max(60, seconds(entry.noDataMinutes)),
    severity: entry.severity,
    labels: Object.fromEntries(labels.map(({ name, value }) => [name, value])),
    summary: entry.summary.trim(),
    description: entry.description.trim(),
    runbook_url: entry.runbook.trim() || null,
  }
}

/** The column of a problem in the expression, from 1; null where it is about something else. */
export function problemColumn(at: string): number | null {
  const match = /^expression:(\d+)/.exec(at)
  return match === null ? null : Number(match[1])
}
