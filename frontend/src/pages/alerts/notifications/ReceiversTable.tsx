import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import type { Receiver } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { testReceiver } from '../../../api/queries/alerts/routes'
import type { Column } from '../../../ui/tables/column'
import { DataTable } from '../../../ui/tables/DataTable'
import { ToneTag } from '../../../ui/tags/ToneTag'
import { Prose } from '../../../ui/text/Prose'
import classes from '../AlertsPage.module.css'

/** Settings of a receiver in one line; secrets are references. */
function settingsLine(receiver: Pick<Receiver, 'settings'>): string {
  return Object.entries(receiver.settings)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => `${name}: ${Array.isArray(value) ? value.join(', ') : String(value)}`)
    .join(' · ')
}

/** Receivers with their settings, whether their secrets are there, and a test each. */
export function ReceiversTable({ receivers }: { receivers: Receiver[] | undefined }) {
  const columns: Column<Receiver>[] = [
    { key: 'name', header: 'Receiver', cell: (row) => row.name },
    { key: 'kind', header: 'Kind', cell: (row) => row.kind },
    { key: 'settings', header: 'Settings', cell: (row) => <code>{settingsLine(row)}</code> },
    { key: 'secrets', header: 'Secrets', cell: (row) => <Secrets receiver={row} />, value: secretsLine },
    { key: 'test', header: '', cell: (row) => <TestButton receiver={row.name} /> },
  ]
  return (
    <DataTable
      label="Receivers"
      columns={columns}
      rows={receivers}
      rowKey={(row) => row.name}
      skeletonRows={2}
      empty={{ title: 'No receivers', next: 'Add a webhook, mail, Slack, PagerDuty or Alertmanager.' }}
    />
  )
}

function secretsLine({ secrets }: Receiver): string {
  return secrets.map(({ name, is_set: isSet }) => `${name}: ${isSet ? 'set' : 'not set'}`).join(', ') || 'none'
}

function Secrets({ receiver }: { receiver: Receiver }) {
  if (receiver.secrets.length === 0) return <span>none</span>
  return (
    <span className={classes.marks}>
      {receiver.secrets.map((secret) => (
        <ToneTag
          key={`${secret.field} ${secret.name}`}
          tone={secret.is_set ? 'good' : 'critical'}
          label={`${secret.name}: ${secret.is_set ? 'set' : 'not set'}`}
          meaning={
            secret.source === 'file'
              ? `A file in the secrets directory, for \`${secret.field}\`.`
              : `An environment variable of the service, for \`${secret.field}\`.`
          }
        />
      ))}
    </span>
  )
}

function TestButton({ receiver }: { receiver: string }) {
  const queries = useQueryClient()
  const testing = useMutation(testReceiver(queries))
  const said = testing.data?.said ?? null
  return (
    <span className={classes.marks}>
      <Button
        variant="default"
        size="compact-xs"
        loading={testing.isPending}
        aria-label={`Send a test to ${receiver}`}
        onClick={() => testing.mutate(receiver)}
      >
        Send a test
      </Button>
      {testing.data !== undefined && (
        <span role="status">
          <ToneTag
            tone={testing.data.delivered ? 'good' : 'critical'}
            label={testing.data.delivered ? 'delivered' : 'not delivered'}
          />
          {said !== null && <Prose text={said} />}
        </span>
      )}
      {testing.error !== null && (
        <span role="alert" className={classes.fault}>
          <Prose text={problemText(testing.error)} />
        </span>
      )}
    </span>
  )
}
