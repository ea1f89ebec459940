import { useQuery } from '@tanstack/react-query'
import { networkQuery } from '../../api/queries/fleet/services'
import { StateNote } from '../../ui/states/StateNote'
import { Prose } from '../../ui/text/Prose'
import { askOther, type TimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'

/** Says where RDMA or SMC-R, and not memory, may make both sides of a comparison differ; nothing where it cannot. */
export function NetworkNote({ serviceId, comparison }: { serviceId: string; comparison: TimeComparison | null }) {
  const { range } = useTimeRange()
  const other = askOther(comparison, serviceId, range)
  const { data } = useQuery({ ...networkQuery(serviceId, other.ownRange, other.id, other.range), ...other.options })
  if (comparison === null || data === undefined || data.warnings.length === 0) return null
  const isWarned = data.effect === 'sides_differ' || data.effect === 'changed'
  return (
    <StateNote tone={isWarned ? 'warning' : 'neutral'} testId="network-note">
      {data.warnings.map((warning) => (
        <div key={warning}>
          <Prose text={warning} />
        </div>
      ))}
    </StateNote>
  )
}
