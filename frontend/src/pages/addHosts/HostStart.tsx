import { useQuery } from '@tanstack/react-query'
import type { HostSummary } from '../../api/_generated/schema'
import { adviceQuery } from '../../api/queries/advice'
import { firstAdviceQuery, newHostsRefreshMs } from '../../api/queries/fleet/newHosts'
import { hostQuery } from '../../api/queries/fleet/hosts'
import { heatQuery } from '../../api/queries/heat/heat'
import { knobAdviceQuery } from '../../api/queries/knobs'
import { hostLedgerQuery } from '../../api/queries/ledger/tierMoves'
import { toRfc3339 } from '../../lib/units/time'
import { ToneTag, type Tone } from '../../ui/tags/ToneTag'
import { Prose } from '../../ui/text/Prose'
import { Timestamp } from '../../ui/text/Timestamp'
import { HostStateTag } from '../hosts/HostStateTag'
import { useNow } from '../shell/time/useNow'
import classes from './AddHosts.module.css'
import { firstValueAt, startSteps, type StartFacts, type StartState, type StartStep } from './startSteps'
import { HostLink } from '../shell/links'

const states: Record<StartState, { tone: Tone; label: string }> = {
  done: { tone: 'good', label: 'done' },
  waiting: { tone: 'info', label: 'waiting' },
  blocked: { tone: 'warning', label: 'blocked' },
  none: { tone: 'neutral', label: 'not expected' },
}

/** What a new host has sent so far, from its enrolment to its first advice. */
export function HostStart({ host }: { host: HostSummary }) {
  const now = useNow()
  const steps = startSteps(useStartFacts(host), now)
  return (
    <li className={classes.host} data-testid={`start-${host.id}`}>
      <div className={classes.hostHead}>
        <HostLink id={host.id}>{host.name}</HostLink>
        <HostStateTag state={host.state} />
        <span className={classes.where}>
          enrolled <Timestamp at={host.enrolled_at} now={now} />
        </span>
      </div>
      <ol className={classes.checklist}>
        {steps.map((step) => (
          <Step key={step.key} step={step} />
        ))}
      </ol>
    </li>
  )
}

function Step({ step }: { step: StartStep }) {
  const { tone, label } = states[step.state]
  return (
    <li className={classes.check} data-testid={`step-${step.key}`} data-state={step.state}>
      <strong>{step.label}</strong>
      <ToneTag tone={tone} label={label} />
      <span>
        {step.at !== null && (
          <>
            <Timestamp at={step.at} />
            {' · '}
          </>
        )}
        <Prose text={step.text} />
        {step.fix !== null && (
          <>
            {' '}
            <strong>Fix:</strong> <Prose text={step.fix} />
          </>
        )}
      </span>
    </li>
  )
}

/** What the steps are made of. What has come once is not asked for again. */
function useStartFacts(host: HostSummary): StartFacts {
  const from = toRfc3339(Date.parse(host.enrolled_at) / 1000 - 60)
  const range = { from, to: undefined, refreshMs: newHostsRefreshMs }
  const detail = useQuery(hostQuery(host.id, newHostsRefreshMs)).data
  const ledger = useQuery({
    ...hostLedgerQuery(host.id, range),
    select: (answer) => firstValueAt(answer.axis, answer.series),
    refetchInterval: ({ state }) =>
      state.data !== undefined && firstValueAt(state.data.axis, state.data.series) !== null ? false : newHostsRefreshMs,
    enabled: host.last_seen !== null,
  }).data
  const measured = detail?.services.find((service) => service.heat_measured)
  const heat = useQuery({
    ...heatQuery(measured?.id ?? '', { scheme: 'recency', host: host.id, max_hosts: 1 }, range),
    select: (answer) => firstValueAt(answer.axis, answer.series),
    refetchInterval: ({ state }) =>
      state.data !== undefined && firstValueAt(state.data.axis, state.data.series) !== null ? false : newHostsRefreshMs,
    enabled: measured !== undefined,
  })
  const judged = ledger != null
  const card = useQuery({ ...firstAdviceQuery(host.id, newHostsRefreshMs), enabled: judged }).data
  const advice = useQuery({
    ...knobAdviceQuery(host.id, { ...range, refreshMs: 60_000 }),
    enabled: judged && card === null,
  }).data
  const ratios = useQuery(adviceQuery({ kind: 'ratio', status: 'open' }, 60_000)).data
  const ratioOf = new Set(ratios?.items.flatMap(({ service_id: id }) => id ?? []))
  return { host, detail, firstLedgerAt: ledger, firstHeatAt: heat.data, advice, card, ratioOf }
}
