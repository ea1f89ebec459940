import { Link } from '@tanstack/react-router'
import type { Alert } from '../../api/_generated/schema'
import { alertState, urgency } from '../../lib/alerts'
import type { Column } from '../../ui/tables/column'
import { SeverityTag } from '../../ui/tags/SeverityTag'
import { ToneTag } from '../../ui/tags/ToneTag'
import { AcknowledgeControl } from './AcknowledgeControl'
import { AlertMarksOf } from './AlertMarksOf'
import { valueText } from './stateWords'
import { SubjectLink } from './SubjectLink'
import type { StateWords } from './useStateWords'
import { timeColumn } from '../../ui/tables/figureColumn'

function noted({ acknowledged, silenced_by: silences, inhibited_by: others, origin }: Alert): string {
  return [
    ...(acknowledged === null ? [] : [`acknowledged by ${acknowledged.by}`]),
    ...(silences.length === 0 ? [] : ['silenced']),
    ...(others.length === 0 ? [] : ['inhibited']),
    ...(origin === 'simulated' ? ['simulated'] : origin === 'import' ? ['imported'] : []),
  ].join(', ')
}

/** The columns of the list of alerts; ages are seen from `now`, states are named by `wordsOf`. */
export function alertColumns(now: Date, wordsOf: StateWords): Column<Alert>[] {
  return [
    {
      key: 'urgency',
      header: 'Severity',
      sortBy: urgency,
      cell: (row) => <SeverityTag severity={row.severity} />,
    },
    // Second, so that a narrow screen shows it.
    {
      key: 'state',
      header: 'State',
      sortBy: (row) => row.state,
      cell: (row) => <ToneTag {...alertState(row.state)} />,
    },
    {
      key: 'rule',
      header: 'Alert',
      sortBy: (row) => row.rule_name,
      cell: (row) => (
        <Link to="/alerts/$alertId" params={{ alertId: row.id }}>
          {row.rule_name}
        </Link>
      ),
    },
    {
      key: 'subject',
      header: 'Subject',
      sortBy: (row) => row.subject.name,
      cell: (row) => <SubjectLink subject={row.subject} />,
    },
    {
      key: 'value',
      header: 'Value (threshold)',
      numeric: true,
      cell: (row) => valueText(row, wordsOf(row.rule_id)),
    },
    timeColumn('since', 'Since', (row) => row.started_at, now),
    { key: 'marks', header: 'Notes', cell: (row) => <AlertMarksOf alert={row} />, value: noted },
    { key: 'do', header: '', cell: (row) => <AcknowledgeControl alert={row} /> },
  ]
}
