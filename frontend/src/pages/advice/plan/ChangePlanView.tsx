import { Button, Group } from '@mantine/core'
import { getRouteApi } from '@tanstack/react-router'
import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { ChangePlan } from '../../../api/_generated/schema'
import { loadStateOf } from '../../../api/queries/base/loadState'
import { changePlanQuery } from '../../../api/queries/changePlan'
import { readIds, toggleId } from '../../../lib/url/adviceUrl'
import { formatBytes, formatCount } from '../../../lib/units/units'
import { Headline } from '../../../ui/layout/Headline'
import { Panel } from '../../../ui/layout/Panel'
import { Stack } from '../../../ui/layout/Stack'
import { ProblemState } from '../../../ui/states/ProblemState'
import { StateNote } from '../../../ui/states/StateNote'
import { NotesList } from '../../../ui/text/NotesList'
import { BundleButton } from '../../knobs/BundleButton'
import { useTimeRange } from '../../shell/time/useTimeRange'
import { ChangePanel } from './ChangePanel'
import { ChangePlanTable } from './ChangePlanTable'
import { LeftOutPanel } from './LeftOutPanel'

const route = getRouteApi('/advice')

/** Open advice on settings of the whole fleet by identical change, and its files for people to apply. */
export function ChangePlanView({ tabs }: { tabs: ReactNode }) {
  const { range } = useTimeRange()
  const { change: shown, pick, without } = route.useSearch()
  const navigate = route.useNavigate()
  const query = useQuery(changePlanQuery(range.refreshMs))
  const load = loadStateOf(query)
  const plan = query.data
  if (load.problem !== null && plan === undefined) return <ProblemState problem={load.problem} onRetry={load.retry} />
  const change = (next: { change?: string; pick?: string | undefined; without?: string | undefined }) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  const excluded = readIds(without)
  const picked = plan?.changes.filter(({ id }) => readIds(pick).includes(id)) ?? []
  const pickedHosts = new Set(
    picked.flatMap(({ hosts }) => hosts.map((host) => host.host_id).filter((id) => !excluded.includes(id))),
  )
  const opened = plan?.changes.find(({ id }) => id === shown) ?? plan?.changes[0]
  return (
    <>
      <Headline
        kicker={<h1>Advice</h1>}
        sentence={plan === undefined ? undefined : sentenceOf(plan)}
        aside={<Group gap={8}>{tabs}</Group>}
      />
      <Stack>
        {plan !== undefined && plan.conflicts.length > 0 && (
          <StateNote tone="critical" testId="plan-conflicts">
            <p>
              <strong>Contradicting advice, left out:</strong>{' '}
              {plan.conflicts.map(({ name, path, values }) => `${name}: ${path} to ${values.join(' and ')}`).join('; ')}
            </p>
          </StateNote>
        )}
        <Panel
          title="Changes"
          hint="most at stake first; you apply them yourself, Tierscope changes nothing on hosts"
          actions={
            <Group gap={8} wrap="wrap">
              {excluded.length > 0 && (
                <Button variant="subtle" onClick={() => change({ without: undefined })}>
                  Take {excluded.length} excluded {excluded.length === 1 ? 'host' : 'hosts'} back in
                </Button>
              )}
              <BundleButton
                filled
                choice={{ changes: picked.map(({ id }) => id), hosts: [], without: excluded }}
                name="tierscope-change-plan"
                label={
                  picked.length === 0
                    ? 'Download bundle'
                    : `Download bundle: ${count(picked.length, 'change')}, ${count(pickedHosts.size, 'host')}`
                }
                disabled={pickedHosts.size === 0}
              />
            </Group>
          }
          flush
          testId="change-plan"
        >
          <ChangePlanTable
            changes={plan?.changes}
            picked={readIds(pick)}
            excluded={excluded}
            shown={opened?.id}
            onPick={(id) => change({ pick: toggleId(pick, id) })}
            onShow={(id) => change({ change: id })}
            onTry={(id) => void navigate({ to: '/experiments/new', search: { change: id } })}
            empty={{
              title: 'No settings to change',
              next: "Advice is evaluated every hour for hosts with a slower tier. A host's Advice tab lists the rules that lack data.",
            }}
          />
        </Panel>
        {opened !== undefined && (
          <ChangePanel
            key={opened.id}
            change={opened}
            excluded={excluded}
            onExclude={(hostId) => change({ without: toggleId(without, hostId) })}
            onShow={(id) => change({ change: id })}
          />
        )}
        <LeftOutPanel left={plan?.left_out} />
        <NotesList notes={plan?.notes} />
      </Stack>
    </>
  )
}

function count(number: number, word: string): string {
  return `${formatCount(number)} ${word}${number === 1 ? '' : 's'}`
}

function sentenceOf(plan: ChangePlan): string {
  if (plan.changes.length === 0) return 'No open advice on settings.'
  const changes = `${count(plan.changes.length, 'change')} for ${count(plan.host_count, 'host')}`
  const stake = plan.stake_bytes.value
  return stake === null ? `${changes}; what is at stake is not known.` : `${changes}; ${formatBytes(stake)} at stake.`
}
