import { oneOf, readTimeSearch, text, type RawSearch, type TimeSearch } from './urlState'

export const alertTabs = ['alerts', 'timeline', 'rules', 'silences', 'routes'] as const
export type AlertTab = (typeof alertTabs)[number]

/** `open` is all that is not resolved. */
export const alertStates = ['open', 'firing', 'pending', 'no_data', 'resolved'] as const
export type AlertStateChoice = (typeof alertStates)[number]

export const severities = ['critical', 'warning', 'info'] as const
export type SeverityChoice = (typeof severities)[number]

/** Parameters of the alerts page: its tab, the filters, the order, and what a silence is made from. */
export interface AlertsSearch extends TimeSearch {
  tab?: AlertTab | undefined
  state?: AlertStateChoice | undefined
  severity?: SeverityChoice | undefined
  rule?: string | undefined
  host?: string | undefined
  service?: string | undefined
  sort?: string | undefined
  q?: string | undefined
  /** Rows of the timeline. */
  by?: 'subject' | undefined
  /** The alert that a new silence is for. */
  alert?: string | undefined
}

/** Parameters of the rule editor: the rule that a new one begins as a copy of, and the subject of the chart. */
export interface RuleSearch extends TimeSearch {
  copy?: string | undefined
  subject?: string | undefined
}

/** The alerts page's part of a URL. */
export function readAlertsSearch(raw: RawSearch): AlertsSearch {
  return {
    ...readTimeSearch(raw),
    tab: oneOf(raw, 'tab', alertTabs),
    state: oneOf(raw, 'state', alertStates),
    severity: oneOf(raw, 'severity', severities),
    rule: text(raw, 'rule', 200),
    host: text(raw, 'host', 200),
    service: text(raw, 'service', 200),
    sort: text(raw, 'sort', 40),
    q: text(raw, 'q', 200),
    by: oneOf(raw, 'by', ['subject']),
    alert: text(raw, 'alert', 200),
  }
}

/** The rule editor's part of a URL. */
export function readRuleSearch(raw: RawSearch): RuleSearch {
  return { ...readTimeSearch(raw), copy: text(raw, 'copy', 200), subject: text(raw, 'subject', 200) }
}
