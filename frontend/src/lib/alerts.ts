import { ruleStateColours, type ThemeName } from './palette'

/** Where an alert, or a rule at one subject, stands. */
export type AlertState = 'ok' | 'pending' | 'firing' | 'resolved' | 'no_data'
export type AlertSeverity = 'info' | 'warning' | 'critical'

interface StateText {
  label: string
  meaning: string
  tone: 'good' | 'info' | 'warning' | 'critical' | 'neutral'
}

const states: Record<AlertState, StateText> = {
  ok: { label: 'ok', meaning: 'The condition does not hold.', tone: 'good' },
  pending: { label: 'pending', meaning: 'The condition holds, but not for long enough yet.', tone: 'info' },
  firing: {
    label: 'firing',
    meaning: 'The condition has held for long enough; notifications are sent.',
    tone: 'critical',
  },
  resolved: { label: 'resolved', meaning: 'The condition no longer holds.', tone: 'good' },
  no_data: {
    label: 'no data',
    meaning: 'Not evaluated: the metrics in the condition are missing.',
    tone: 'neutral',
  },
}

/** The state of an alert in words. */
export function alertState(state: AlertState): StateText {
  return states[state]
}

const ranks: Record<AlertSeverity, number> = { critical: 0, warning: 1, info: 2 }
const msPerRank = 1e14

/** A number by which alerts are ordered: the most severe first, and of equal ones the longest going on. */
export function urgency(alert: { severity: AlertSeverity; started_at: string }): number {
  return ranks[alert.severity] * msPerRank + Date.parse(alert.started_at)
}

/** The colour of a state on charts. */
export function alertStateColour(state: AlertState, theme: ThemeName): string {
  return ruleStateColours[theme][state]
}

/** A matcher as it is written: `severity="critical"`. */
export interface LabelMatcher {
  name: string
  op: '=' | '!=' | '=~' | '!~'
  value: string
}

/** Matchers as one text: `alertname="ping-pong", service="checkout"`. */
export function matchersText(matchers: LabelMatcher[]): string {
  return matchers.map(({ name, op, value }) => `${name}${op}"${value}"`).join(', ')
}

const matcherPattern = /^\s*([A-Za-z_][\w.-]*)\s*(=~|!~|!=|=)\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]*))\s*(?:,|$)/

/** The matchers of a text; a text says what is wrong with it. */
export function readMatchers(typed: string): LabelMatcher[] | string {
  const found: LabelMatcher[] = []
  let rest = typed.trim()
  while (rest !== '') {
    const match = matcherPattern.exec(rest)
    if (match === null) return `Cannot parse “${rest.slice(0, 20)}”. Write label="value", separated by commas.`
    const [whole, name = '', op = '=', quoted, bare] = match
    found.push({ name, op: op as LabelMatcher['op'], value: quoted?.replaceAll(/\\(.)/g, '$1') ?? bare ?? '' })
    rest = rest.slice(whole.length).trim()
  }
  return found
}
