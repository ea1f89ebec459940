import type { AgentInfo, HostDetail } from '../../../api/_generated/schema'
import { methodName } from '../../../lib/units/figure'
import { EmptyState } from '../../../ui/states/EmptyState'
import { Panel } from '../../../ui/layout/Panel'
import { Prose } from '../../../ui/text/Prose'
import { Stat } from '../../../ui/figures/Stat'
import { StatStrip } from '../../../ui/figures/StatStrip'
import { Timestamp } from '../../../ui/text/Timestamp'
import { PauseControl } from '../../agents/PauseControl'
import { ToneTag, type Tone } from '../../../ui/tags/ToneTag'
import classes from './AgentPanel.module.css'

const budgetTones: Record<string, { tone: Tone; label: string }> = {
  within: { tone: 'good', label: 'within its budget' },
  backed_off: { tone: 'warning', label: 'backed off' },
  stopped: { tone: 'critical', label: 'stopped itself' },
}

function Budget({ agent }: { agent: AgentInfo }) {
  if (agent.budget_state === null) return <ToneTag tone="neutral" label="budget unknown" />
  const known = budgetTones[agent.budget_state] ?? { tone: 'neutral' as const, label: agent.budget_state }
  return <ToneTag {...known} meaning={agent.budget_reason ?? 'CPU, memory, bytes and disk stay within their limits.'} />
}

function Pause({ pause }: { pause: AgentInfo['pause'] }) {
  if (!pause.heat_paused) return null
  return (
    <ToneTag
      tone="warning"
      label={`${pause.paused ? 'paused' : 'heat paused'}${pause.everywhere ? ' everywhere' : ''}`}
      meaning={`By ${pause.actor ?? 'someone'}. ${pause.everywhere ? 'Resume it under Agents.' : ''}`}
    />
  )
}

/** The agent as it reports on itself: what it costs, how it keeps to its budget, what it lost, whether it is paused. */
export function AgentPanel({ hostId, host }: { hostId: string; host: HostDetail | undefined }) {
  const agent = host?.agent
  const silent = agent !== undefined && agent.reported_at === null
  return (
    <Panel
      title="Agent"
      hint={
        agent === undefined || silent ? undefined : (
          <>
            reported <Timestamp at={agent.reported_at} />
          </>
        )
      }
      flush
      testId="agent"
      actions={
        // What was recorded is sent as it is: there is no agent to pause.
        host?.summary.origin === 'live' && <PauseControl hostId={hostId} pause={host.agent.pause} />
      }
    >
      {agent !== undefined && (
        <div className={classes.states}>
          <Budget agent={agent} />
          <Pause pause={agent.pause} />
          <span>
            Heat by <strong>{agent.heat_rung === null ? 'no back end' : methodName(agent.heat_rung)}</strong>
          </span>
          <span>
            Sends <strong>{agent.send_minutes === 1 ? 'every minute' : `every ${agent.send_minutes} minutes`}</strong>
          </span>
          {agent.budget_reason !== null && (
            <span>
              <Prose text={agent.budget_reason} />
            </span>
          )}
        </div>
      )}
      {silent ? (
        <EmptyState title="No self-report from the agent" next="It reports every minute; check its log on the host." />
      ) : (
        <StatStrip label="Agent resource use" columns={4}>
          <Stat label="Agent CPU" name="Agent CPU share of one core" figure={agent?.cpu_ratio} />
          <Stat label="Agent memory" name="Agent memory" figure={agent?.rss_bytes} />
          <Stat label="Spool" name="Agent spool on disk" figure={agent?.spool_bytes} />
          <Stat label="Dropped batches" name="Batches dropped" figure={agent?.dropped_batches} />
          <Stat
            label="Paused by the guard"
            name="Intervals not measured because the host was busy"
            figure={agent?.guard_paused_intervals}
          />
          <Stat label="Samples taken" name="Hardware samples taken" figure={agent?.samples_taken} />
          <Stat label="Samples lost" name="Hardware samples lost" figure={agent?.samples_lost} />
          <Stat label="Throttled" name="Times the kernel throttled sampling" figure={agent?.throttles} />
        </StatStrip>
      )}
    </Panel>
  )
}
