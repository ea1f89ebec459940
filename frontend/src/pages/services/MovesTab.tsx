import { useQuery } from '@tanstack/react-query'
import { loadStateOf } from '../../api/queries/base/loadState'
import { servicePingPongQuery } from '../../api/queries/ledger/pingPong'
import { serviceLedgerQuery } from '../../api/queries/ledger/tierMoves'
import type { ChartMark } from '../../charts/eventMarks'
import { linesInPages } from '../../charts/ledger/figure'
import { askOther, seriesOf, useGhost, type TimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { LedgerView } from '../tierMoves/LedgerView'

interface MovesTabProps {
  serviceId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

/** Tier moves of the service's own cgroups. */
export function MovesTab({ serviceId, marks, comparison }: MovesTabProps) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(serviceLedgerQuery(serviceId, range))
  const pingPong = useQuery(servicePingPongQuery(serviceId, range))
  const other = askOther(comparison, serviceId, range)
  const otherLedger = useQuery({ ...serviceLedgerQuery(other.id, other.range), ...other.options })
  const otherPingPong = useQuery({ ...servicePingPongQuery(other.id, other.range), ...other.options })
  const ghost = useGhost(comparison, otherLedger, linesInPages)
  const pingPongGhost = useGhost(comparison, otherPingPong, seriesOf)
  return (
    <LedgerView
      pingPong={pingPong.data}
      pingPongLoad={loadStateOf(pingPong)}
      ledger={query.data}
      load={loadStateOf(query)}
      marks={marks}
      ghost={ghost}
      pingPongGhost={pingPongGhost}
      onTimeZoom={zoomTo}
    />
  )
}
