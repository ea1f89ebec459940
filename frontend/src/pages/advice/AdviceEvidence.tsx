import { Skeleton } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import type { AdviceCard } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { knobAdviceQuery } from '../../api/queries/knobs'
import { ratioQuery } from '../../api/queries/ratio'
import { EmptyState } from '../../ui/states/EmptyState'
import { ProblemState } from '../../ui/states/ProblemState'
import { KnobAdviceCard } from '../knobs/KnobAdviceCard'
import { RatioView } from '../ratio/RatioView'
import { useTimeRange } from '../shell/time/useTimeRange'

/** What a card rests on, as it stands now. */
export function AdviceEvidence({ card }: { card: AdviceCard }) {
  if (card.service_id !== null && card.kind === 'ratio') return <RatioEvidence serviceId={card.service_id} />
  const hostId = card.host_id ?? card.host_ids[0]
  return hostId === undefined ? null : <KnobEvidence hostId={hostId} rule={card.key} />
}

function RatioEvidence({ serviceId }: { serviceId: string }) {
  const { range } = useTimeRange()
  const query = useQuery(
    ratioQuery(serviceId, { loss: undefined, holdHot: false, growth: 0, device: undefined }, range),
  )
  return <RatioView ratio={query.data} load={loadStateOf(query)} />
}

function KnobEvidence({ hostId, rule }: { hostId: string; rule: string }) {
  const { range } = useTimeRange()
  const query = useQuery(knobAdviceQuery(hostId, range))
  const load = loadStateOf(query)
  if (query.data === undefined)
    return load.problem === null ? (
      <Skeleton height={160} />
    ) : (
      <ProblemState problem={load.problem} onRetry={load.retry} />
    )
  const given = query.data.advice.find((advice) => advice.rule === rule)
  const waiting = query.data.waiting.find(({ advice }) => advice.rule === rule)
  const place = query.data.advice.findIndex((advice) => advice.rule === rule)
  if (given !== undefined) return <KnobAdviceCard advice={given} place={place + 1} />
  if (waiting !== undefined) return <KnobAdviceCard advice={waiting.advice} place={null} waitsFor={waiting.why} />
  return (
    <EmptyState
      title="It does not apply in this time range"
      next="Choose the range in which it was made, or open the host's Advice tab."
    />
  )
}
