import { Progress } from '@mantine/core'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { Arm, Experiment } from '../../api/_generated/schema'
import { problemText } from '../../api/problem'
import { endExperiment, experimentQuery } from '../../api/queries/experiments'
import { loadStateOf } from '../../api/queries/base/loadState'
import { experimentState, experimentVerdict } from '../../lib/experiments'
import { countOf, formatCount, formatRatio } from '../../lib/units/units'
import { FactList } from '../../ui/layout/FactList'
import { Headline } from '../../ui/layout/Headline'
import { NotesList } from '../../ui/text/NotesList'
import { Panel } from '../../ui/layout/Panel'
import { ProblemState } from '../../ui/states/ProblemState'
import { ConfirmDelete } from '../../ui/inputs/ConfirmDelete'
import { Prose } from '../../ui/text/Prose'
import { StateNote } from '../../ui/states/StateNote'
import { Timestamp } from '../../ui/text/Timestamp'
import { ToneTag } from '../../ui/tags/ToneTag'
import { useTimeRange } from '../shell/time/useTimeRange'
import { ExperimentMetricPanel } from './ExperimentMetricPanel'
import { Columns } from '../../ui/layout/Columns'
import { Stack } from '../../ui/layout/Stack'
import { LoginFirst } from '../shell/access/LoginFirst'
import classes from './ExperimentPage.module.css'
import { ServiceLink } from '../shell/links'

const route = getRouteApi('/experiments/$experimentId')

/** One experiment: the verdict, the effect of each metric with its interval, both arms, and whether it had power. */
export function ExperimentPage(): ReactNode {
  const { experimentId } = route.useParams()
  const { range } = useTimeRange()
  const query = useQuery(experimentQuery(experimentId, range.refreshMs))
  const load = loadStateOf(query)
  const found = query.data
  if (load.problem !== null && found === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  return (
    <div data-testid="page-experiment">
      <Headline
        kicker={
          <>
            <Link to="/experiments">Experiments</Link> / <h1>{found?.name ?? ''}</h1>
          </>
        }
        sentence={found === undefined ? undefined : sentenceOf(found)}
        aside={found === undefined ? undefined : <States experiment={found} />}
      />
      {found !== undefined && (
        <Stack>
          <StateNote tone={toneOf(found)} testId="experiment-why">
            <Prose text={found.why} />
          </StateNote>
          {found.state !== 'ended' && <Running experiment={found} />}
          {found.metrics.map((metric, index) => (
            <ExperimentMetricPanel
              key={metric.metric}
              experiment={found}
              metric={metric}
              decides={index === 0}
              load={load}
            />
          ))}
          <Columns joinAt={1100}>
            <PowerPanel experiment={found} />
            <Panel title="Arms" hint="peer hosts: same service, hardware, kernel and agent" testId="experiment-arms">
              {found.arms.map((arm) => (
                <ArmList key={arm.arm} arm={arm} />
              ))}
            </Panel>
          </Columns>
          <NotesList notes={found.notes} />
        </Stack>
      )}
    </div>
  )
}

function sentenceOf(found: Experiment): string {
  const [first] = found.metrics
  if (first === undefined) return found.hypothesis
  const verdict = experimentVerdict(found.verdict)
  const effect = first.effect
  const value = effect.value === null ? 'no effect estimate yet' : `${signed(effect.value)}${intervalOf(effect)}`
  return `${first.label}: ${value}${verdict === null ? '.' : `, ${verdict.label}.`}`
}

function intervalOf(effect: Experiment['metrics'][number]['effect']): string {
  return effect.interval === null ? '' : ` (${signed(effect.interval.lo)} to ${signed(effect.interval.hi)})`
}

function signed(ratio: number): string {
  return `${ratio > 0 ? '+' : ''}${formatRatio(ratio)}`
}

function toneOf(found: Experiment) {
  return experimentVerdict(found.verdict)?.tone ?? experimentState(found.state).tone
}

function States({ experiment }: { experiment: Experiment }) {
  const verdict = experimentVerdict(experiment.verdict)
  return (
    <div className={classes.states}>
      <ToneTag {...experimentState(experiment.state)} />
      {verdict !== null && <ToneTag {...verdict} />}
      <ServiceLink id={experiment.service_id}>{experiment.service_name}</ServiceLink>
    </div>
  )
}

function Running({ experiment }: { experiment: Experiment }) {
  const queries = useQueryClient()
  const ending = useMutation(endExperiment(queries, experiment.id))
  return (
    <Panel
      title="Progress"
      hint={<Prose text="ends by itself; no verdict before, because peeking inflates false positives" />}
    >
      <div className={classes.progress}>
        <Progress
          value={experiment.progress_ratio * 100}
          aria-label={`Progress: ${formatRatio(experiment.progress_ratio)}`}
        />
        <span>
          change <Timestamp at={experiment.change_at} />, end <Timestamp at={experiment.planned_end} />
        </span>
        <LoginFirst may="write:experiments" to="end it">
          <ConfirmDelete
            verb="End now"
            what="this experiment"
            consequence="It ends before its planned time, and is judged by what came so far: an effect may be missed. It cannot go on."
            pending={ending.isPending}
            onConfirm={() => ending.mutate()}
          />
        </LoginFirst>
        {ending.error !== null && (
          <span role="alert" className={classes.fault}>
            <Prose text={problemText(ending.error)} />
          </span>
        )}
      </div>
    </Panel>
  )
}

function PowerPanel({ experiment }: { experiment: Experiment }) {
  const { power, trends } = experiment
  const rows: [string, string][] = [
    [
      'Hosts per arm needed for the margin',
      power.hosts_per_arm_needed === null ? '–' : formatCount(power.hosts_per_arm_needed),
    ],
    [
      'Smallest detectable effect',
      power.detectable_effect_ratio === null ? '–' : formatRatio(power.detectable_effect_ratio),
    ],
    ['Correlation before and after', power.correlation === null ? '–' : power.correlation.toFixed(2)],
    ['Trends before the change', trends.parallel === null ? '–' : trends.parallel ? 'parallel' : 'not parallel'],
    ['Placebo p-value', trends.p_value === null ? '–' : trends.p_value.toPrecision(2)],
  ]
  return (
    <Panel
      title="Statistical power"
      hint="power 0.8, α = 0.05; by the arms’ own hosts before the change"
      testId="experiment-power"
    >
      <FactList facts={rows} />
      {[power.why, trends.why].map((why) =>
        why === null ? null : (
          <p key={why} className={classes.why}>
            <Prose text={why} />
          </p>
        ),
      )}
    </Panel>
  )
}

function ArmList({ arm }: { arm: Arm }) {
  return (
    <div className={classes.arm}>
      <h3>
        {arm.arm === 'canary' ? 'Canary' : 'Control'}: {countOf(arm.hosts.length, 'host')}, {arm.n_with_data} with data
      </h3>
      <p>
        {arm.hosts.map((host) => (
          <Link key={host.host_id} to="/hosts/$hostId" params={{ hostId: host.host_id }} data-nodata={!host.has_data}>
            {host.name}
            {!host.has_data && ' (no data on both sides of the change)'}
          </Link>
        ))}
      </p>
    </div>
  )
}
