import { useQuery } from '@tanstack/react-query'
import { loadStateOf } from '../../api/queries/base/loadState'
import { servicePingPongQuery } from '../../api/queries/ledger/pingPong'
import { serviceLedgerQuery } from '../../api/queries/ledger/tierMoves'
import type { ChartMark } from '../../charts/eventMarks'
import { useTimeRange } from '../shell/time/useTimeRange'
import { LedgerView } from '../tierMoves/LedgerView'

/** Tier moves of the service's own cgroups. */
export function MovesTab({ serviceId, marks }: { serviceId: string; marks: ChartMark[] }) {
  const { range, zoomTo } = useTimeRange()
  const query = useQuery(serviceLedgerQuery(serviceId, range))
  const pingPong = useQuery(servicePingPongQuery(serviceId, range))
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
