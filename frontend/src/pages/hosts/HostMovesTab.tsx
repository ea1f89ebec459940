import { useQuery } from '@tanstack/react-query'
import { loadStateOf } from '../../api/queries/loadState'
import { hostPingPongQuery } from '../../api/queries/pingPong'
import { hostLedgerQuery } from '../../api/queries/tierMoves'
import type { ChartMark } from '../../charts/eventMarks'
import { useTimeRange } from '../shell/useTimeRange'
import { LedgerView } from '../tierMoves/LedgerView'

/** Tier moves of the whole host. */
export function HostMovesTab({ hostId, marks }: { hostId: string; marks: ChartMark[] }) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(hostLedgerQuery(hostId, range))
  const pingPong = useQuery(hostPingPongQuery(hostId, range))
  return (
    <LedgerView
      pingPong={pingPong.data}
      pingPongLoad={loadStateOf(pingPong)}
      ledger={query.data}
      load={loadStateOf(query)}
      marks={marks}
      onTimeZoom={zoomTo}
    />
  )
}
