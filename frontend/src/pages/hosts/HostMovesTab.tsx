import { useQuery } from '@tanstack/react-query'
import { loadStateOf } from '../../api/queries/base/loadState'
import { hostPingPongQuery } from '../../api/queries/ledger/pingPong'
import { hostLedgerQuery } from '../../api/queries/ledger/tierMoves'
import type { ChartMark } from '../../charts/eventMarks'
import { linesInPages } from '../../charts/ledger/figure'
import { askOther, seriesOf, useGhost, type TimeComparison } from '../shell/time/useTimeComparison'
import { useTimeRange } from '../shell/time/useTimeRange'
import { LedgerView } from '../tierMoves/LedgerView'

interface HostMovesTabProps {
  hostId: string
  marks: ChartMark[]
  comparison: TimeComparison | null
}

/** Tier moves of the whole host. */
export function HostMovesTab({ hostId, marks, comparison }: HostMovesTabProps) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(hostLedgerQuery(hostId, range))
  const pingPong = useQuery(hostPingPongQuery(hostId, range))
  const other = askOther(comparison, hostId, range)
  const otherLedger = useQuery({ ...hostLedgerQuery(other.id, other.range), ...other.options })
  const otherPingPong = useQuery({ ...hostPingPongQuery(other.id, other.range), ...other.options })
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
