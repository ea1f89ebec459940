import { Button } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState, type FormEvent } from 'react'
import type { AlertRouting } from '../../../api/_generated/schema'
import { problemText } from '../../../api/problem'
import { replaceAlertRoutes } from '../../../api/queries/alerts/routes'
import { Panel } from '../../../ui/layout/Panel'
import { Stack } from '../../../ui/layout/Stack'
import { Prose } from '../../../ui/text/Prose'
import classes from '../AlertsPage.module.css'
import { ReceiverRow } from './ReceiverRow'
import { RouteRow } from './RouteRow'
import { blankReceiver, blankRoute, entryOfRouting, requestOfRoutes, type RoutesEntry } from './routesEntry'

function replaced<T>(items: T[], index: number, change: Partial<T>): T[] {
  return items.map((item, place) => (place === index ? { ...item, ...change } : item))
}

/** Changes receivers and routes; inner routes and inhibitions stay as they are and are shown beside. */
export function RoutesEditor({ routing, onClose }: { routing: AlertRouting; onClose: () => void }) {
  const queries = useQueryClient()
  const [entry, setEntry] = useState(() => entryOfRouting(routing))
  const saving = useMutation(replaceAlertRoutes(queries))
  const set = (change: Partial<RoutesEntry>) => setEntry((before) => ({ ...before, ...change }))
  const request = requestOfRoutes(entry)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (typeof request !== 'string') saving.mutate(request, { onSuccess: onClose })
  }
  const names = entry.receivers.map(({ name }) => name).filter((name) => name !== '')
  return (
    <form onSubmit={submit} aria-label="Receivers and routes">
      <Stack>
        <Panel
          title="Receivers"
          hint={
            <Prose text="write secrets as `${TIERSCOPE_SECRET_NAME}`, an environment variable of the service, or name a file in its secrets directory" />
          }
          testId="edit-receivers"
          actions={
            <Button variant="default" onClick={() => set({ receivers: [...entry.receivers, blankReceiver()] })}>
              Add receiver
            </Button>
          }
        >
          {entry.receivers.map((receiver, index) => (
            <ReceiverRow
              key={index}
              receiver={receiver}
              onChange={(change) => set({ receivers: replaced(entry.receivers, index, change) })}
              onRemove={() => set({ receivers: entry.receivers.filter((_, place) => place !== index) })}
            />
          ))}
        </Panel>
        <Panel
          title="Routes"
          hint="the first match takes the alert unless it says continue; empty times use the defaults"
          testId="edit-routes"
          actions={
            <Button variant="default" onClick={() => set({ routes: [...entry.routes, blankRoute(names[0] ?? '')] })}>
              Add route
            </Button>
          }
        >
          {entry.routes.map((route, index) => (
            <RouteRow
              key={index}
              route={route}
              receivers={names}
              onChange={(change) => set({ routes: replaced(entry.routes, index, change) })}
              onRemove={() => set({ routes: entry.routes.filter((_, place) => place !== index) })}
            />
          ))}
        </Panel>
        <div className={classes.aside}>
          <Button type="submit" loading={saving.isPending} disabled={typeof request === 'string'}>
            Save
          </Button>
          <Button variant="default" onClick={onClose}>
            Discard
          </Button>
          {typeof request === 'string' && <span className={classes.fault}>{request}</span>}
          {saving.error !== null && (
            <p className={classes.fault} role="alert">
              <Prose text={problemText(saving.error)} />
            </p>
          )}
        </div>
      </Stack>
    </form>
  )
}
