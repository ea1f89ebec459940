import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import { fleetGridQuery } from '../../api/queries/fleet/fleet'
import { FleetGridChart } from '../../charts/fleetGrid/FleetGridChart'

const route = getRouteApi('/')

/** Every host as a tile. The grouping and the colour are in the address. */
export function GridSection({ refreshMs, height }: { refreshMs: number | null; height: number }) {
  const { group = 'service', colour = 'verdict' } = route.useSearch()
  const navigate = useNavigate()
  const query = useQuery(fleetGridQuery(refreshMs))
  const change = (next: { group?: string | undefined; colour?: 'cold' | 'psi' | undefined }) =>
    void navigate({ to: '/', search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  return (
    <FleetGridChart
      grid={query.data}
      load={loadStateOf(query)}
      group={group}
      colour={colour}
      height={height}
      onGroup={(value) => change({ group: value === 'service' ? undefined : value })}
      onColour={(value) => change({ colour: value === 'verdict' ? undefined : value })}
      onHost={(hostId) => void navigate({ to: '/hosts/$hostId', params: { hostId } })}
    />
  )
}
