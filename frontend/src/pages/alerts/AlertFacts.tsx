import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Alert } from '../../api/_generated/schema'
import { FactList } from '../../ui/layout/FactList'
import { Timestamp } from '../../ui/text/Timestamp'
import { valueText } from './stateWords'
import { SubjectLink } from './SubjectLink'
import { useStateWords } from './useStateWords'

/** What an alert is about, since when, and what it carries. */
export function AlertFacts({ alert }: { alert: Alert }) {
  const wordsOf = useStateWords()
  const rows: [string, ReactNode][] = [
    ['Subject', <SubjectLink key="subject" subject={alert.subject} />],
    [
      'Rule',
      alert.rule_id === null ? (
        `${alert.rule_name} (removed)`
      ) : (
        <Link key="rule" to="/alerts/rules/$ruleId" params={{ ruleId: alert.rule_id }}>
          {alert.rule_name}
        </Link>
      ),
    ],
    ['Value (threshold)', valueText(alert, wordsOf(alert.rule_id))],
    ['Opened', <Timestamp key="started" at={alert.started_at} />],
    ['Fired', <Timestamp key="fired" at={alert.fired_at} />],
    ...(alert.resolved_at === null
      ? []
      : [['Resolved', <Timestamp key="resolved" at={alert.resolved_at} />] satisfies [string, ReactNode]]),
    ['Last seen', <Timestamp key="seen" at={alert.last_seen_at} />],
    ...(alert.acknowledged === null
      ? []
      : [
          [
            'Acknowledged by',
            `${alert.acknowledged.by}${alert.acknowledged.note === '' ? '' : `: ${alert.acknowledged.note}`}`,
          ] satisfies [string, ReactNode],
        ]),
    ['Labels', <code key="labels">{labelsText(alert.labels)}</code>],
  ]
  return <FactList facts={rows} />
}

function labelsText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`)
  return pairs.length === 0 ? 'none' : pairs.join(', ')
}
