import { Button, Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Incident, KnobAdvice } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { knobAdviceQuery } from '../../../api/queries/knobs'
import { Panel } from '../../../ui/layout/Panel'
import { EmptyState } from '../../../ui/states/EmptyState'
import { ProblemState } from '../../../ui/states/ProblemState'
import { NotesList } from '../../../ui/text/NotesList'
import { Prose } from '../../../ui/text/Prose'
import { AgentFix, CapacityFix, FreeMemory } from './FixByKind'
import { AdviceFiles } from '../../knobs/AdviceFiles'
import classes from './Incident.module.css'

/**
 * What helps against the kind of incident: a plan, free memory, a mended agent; else the first advice on the worst host,
 * judged over the time of the incident: what to change, back, and how to check.
 */
export function FixPanel({ incident, runbook }: { incident: Incident | undefined; runbook: string | null }) {
  const hostId = incident?.cause.host_id ?? null
  if (incident?.kind === 'capacity' && incident.subject.kind === 'service') return <CapacityFix incident={incident} />
  if (incident?.kind === 'agent') return <AgentFix incident={incident} />
  if (incident !== undefined && hostId === null) {
    return (
      <Panel title="Do this" testId="incident-fix">
        <EmptyState title="No host to advise on" next="No host of this alert sent counters. See the runbook." />
      </Panel>
    )
  }
  if (incident === undefined || hostId === null) {
    return (
      <Panel title="Do this" testId="incident-fix">
        <Skeleton height={150} />
      </Panel>
    )
  }
  return (
    <>
      {incident.kind === 'spill' && <FreeMemory hostId={hostId} name={incident.cause.host_name} />}
      <HostFix incident={incident} hostId={hostId} runbook={runbook} />
    </>
  )
}

function HostFix({ incident, hostId, runbook }: { incident: Incident; hostId: string; runbook: string | null }) {
  const { start, end } = incident.judged
  const query = useQuery(knobAdviceQuery(hostId, { from: start, to: end, refreshMs: null }))
  const load = loadStateOf(query)
  const first = query.data?.advice[0] ?? query.data?.nothing_to_do ?? null
  const others = (query.data?.advice.length ?? 0) + (query.data?.waiting.length ?? 0) - 1
  const service = incident.subject.kind === 'service' ? incident.subject.id : incident.services[0]?.service_id
  return (
    <Panel
      title={first === null ? 'Do this' : `Do this: ${first.title}`}
      hint={
        <>
          for{' '}
          <Link to="/hosts/$hostId" params={{ hostId }} search={{ tab: 'advice' }}>
            {incident.cause.host_name}
          </Link>
          {others > 0 && `, first of ${others + 1}`}
        </>
      }
      testId="incident-fix"
    >
      {query.data === undefined && load.problem !== null ? (
        <ProblemState problem={load.problem} onRetry={load.retry} />
      ) : query.data === undefined ? (
        <Skeleton height={150} />
      ) : first === null ? (
        <>
          <p className={classes.text}>
            <strong>No change of settings advised.</strong>{' '}
            {query.data.withheld.map(({ rule, why }) => (
              <span key={rule}>
                {rule} is not given: <Prose text={why} />{' '}
              </span>
            ))}
            {query.data.unknown.length > 0
              ? `Rules that lack data: ${query.data.unknown.map(({ rule }) => rule).join(', ')}. The host’s Advice tab says what is missing.`
              : query.data.withheld.length === 0 && 'No rule matches what was measured.'}
          </p>
          <NotesList notes={query.data.notes} />
          {runbook !== null && (
            <div className={classes.buttons}>
              <Button component="a" href={runbook} rel="noreferrer noopener" target="_blank" variant="default">
                What the runbook advises
              </Button>
            </div>
          )}
        </>
      ) : (
        <Advice advice={first} service={service} quiet={first === query.data.nothing_to_do} />
      )}
    </Panel>
  )
}

interface AdviceProps {
  advice: KnobAdvice
  service: string | undefined
  /** It advises to change nothing: there is nothing to verify or to risk. */
  quiet: boolean
}

function Advice({ advice, service, quiet }: AdviceProps) {
  const [opened, setOpened] = useState(false)
  const { changes } = advice
  const facts: [string, string][] = [
    ...(advice.note === null || changes.length > 0 ? [] : ([['Do', advice.note]] satisfies [string, string][])),
    ['Expected', advice.effect],
    ...(quiet
      ? []
      : ([
          ['Verify', advice.verify],
          ['Risk', advice.risk],
        ] satisfies [string, string][])),
  ]
  return (
    <>
      <dl className={classes.facts}>
        {changes.map(({ path, current, proposed, rollback }) => (
          <div key={path}>
            <dt>Set</dt>
            <dd>
              <span className="ts-mono">{path}</span>: <span className="ts-mono">{current}</span>{' '}
              <strong className="ts-mono">→ {proposed}</strong> (roll back to{' '}
              <span className="ts-mono">{rollback}</span>)
            </dd>
          </div>
        ))}
        {facts
          .filter(([, text]) => text !== '')
          .map(([name, text]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <Prose text={text} />
              </dd>
            </div>
          ))}
      </dl>
      {changes.length > 0 && (
        <div className={classes.buttons}>
          <Button
            renderRoot={(props) => (
              <Link {...props} to="/experiments/new" search={{ advice: advice.advice_id ?? undefined, service }} />
            )}
          >
            Apply as an experiment
          </Button>
          <Button variant="default" aria-expanded={opened} onClick={() => setOpened(!opened)}>
            {opened ? 'Close files' : 'Files and commands'}
          </Button>
        </div>
      )}
      {opened && (
        <div className={classes.files}>
          <AdviceFiles rule={advice.rule} files={advice.files} />
        </div>
      )}
    </>
  )
}
