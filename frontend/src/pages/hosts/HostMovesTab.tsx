import { useQuery } from '@tanstack/react-query'
import { loadStateOf } from '../../api/queries/base/loadState'
import { hostPingPongQuery } from '../../api/queries/ledger/pingPong'
import { hostLedgerQuery } from '../../api/queries/ledger/tierMoves'
import type { ChartMark } from '../../charts/eventMarks'
import { useTimeRange } from '../shell/time/useTimeRange'
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
