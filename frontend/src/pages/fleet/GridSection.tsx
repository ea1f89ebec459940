import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { loadStateOf } from '../../api/queries/base/loadState'
import type { TimeRange } from '../../api/queries/base/range'
import { fleetDriftQuery, fleetGridQuery } from '../../api/queries/fleet/fleet'
import { FleetGridChart } from '../../charts/fleetGrid/FleetGridChart'
import { MomentSlider } from '../../charts/fleetGrid/MomentSlider'
import { toRfc3339 } from '../../lib/units/time'
import { resolveRange } from '../../lib/url/timeRange'
import type { FleetSearch } from '../../lib/url/urlState'
import { ChosenHosts } from './ChosenHosts'

const route = getRouteApi('/')

interface GridSectionProps {
  /** The page's window, whose moments the tiles can be of. */
  window: { start: string; end: string } | undefined
  range: TimeRange
  height: number
}

/** Every host as a tile. The grouping, the colour and the moment are in the address. */
export function GridSection({ window, range, height }: GridSectionProps) {
  const { group = 'service', colour = 'verdict', at } = route.useSearch()
  const navigate = useNavigate()
  const query = useQuery(fleetGridQuery(range.refreshMs, at, group))
  const drift = useQuery({ ...fleetDriftQuery(range.refreshMs, at), enabled: colour === 'drift' })
  const change = (next: Pick<FleetSearch, 'group' | 'colour' | 'at'>) =>
    void navigate({ to: '/', search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false })
  const seconds = (text: string) => Math.round(Date.parse(text) / 1000)
  return (
    <FleetGridChart
      grid={query.data}
      drift={colour === 'drift' ? drift.data : undefined}
      load={loadStateOf(colour === 'drift' && drift.isError ? drift : query)}
      group={group}
      colour={colour}
      height={height}
      onGroup={(value) => change({ group: value === 'service' ? undefined : value })}
      onColour={(value) => change({ colour: value === 'verdict' ? undefined : value })}
      onHost={(hostId) => void navigate({ to: '/hosts/$hostId', params: { hostId } })}
      moment={
        window !== undefined && (
          <MomentSlider
            start={seconds(window.start)}
            end={seconds(window.end)}
            endsNow={range.to === undefined}
            at={at === undefined ? null : resolveRange(at, undefined, seconds(window.end)).start}
            onMoment={(moment) => change({ at: moment === null ? undefined : toRfc3339(moment) })}
          />
        )
      }
      list={(hosts, onClear) => <ChosenHosts hosts={hosts} onClear={onClear} />}
    />
  )
}
