import { ActionIcon, SegmentedControl, Select, Tooltip } from '@mantine/core'
import { IconMarquee2 } from '@tabler/icons-react'
import { useMemo, useState, type ReactNode } from 'react'
import type { FleetDrift, FleetGrid } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { toneColours } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { formatCount } from '../../lib/units/units'
import { ChartPanel } from '../ChartPanel'
import { BrushLayer } from './BrushLayer'
import { fleetGridFigure, gridGroups, tilesOf, tileTone, type GridColour } from './figure'

type Host = FleetGrid['hosts'][number]

interface FleetGridChartProps {
  grid: FleetGrid | undefined
  /** Undefined while it is not asked for. */
  drift: FleetDrift | undefined
  load: LoadState
  group: string
  colour: GridColour
  height: number
  onGroup: (group: string) => void
  onColour: (colour: GridColour) => void
  onHost: (hostId: string) => void
  /** Stands below the tiles: what chooses their moment. */
  moment: ReactNode
  /** What is said of chosen hosts. */
  list: (chosen: Host[], onClear: () => void) => ReactNode
}

const none: ReadonlySet<string> = new Set()

const toneWords = {
  critical: 'critical',
  warning: 'warning',
  info: 'changing',
  good: 'good',
  neutral: 'not known',
} as const

/** Every host as a tile, grouped and coloured as the viewer chooses; a click opens the host, or chooses it for a list. */
export function FleetGridChart(props: FleetGridChartProps) {
  const { grid, drift, load, group, colour, height, onGroup, onColour, onHost } = props
  const theme = useChartTheme()
  const [isChoosing, setIsChoosing] = useState(false)
  const [chosen, setChosen] = useState(none)
  const figure = useMemo(
    () => (grid === undefined ? null : fleetGridFigure(grid, group, colour, theme, { drift, chosen })),
    [grid, drift, group, colour, theme, chosen],
  )
  const brush = (ids: string[], adds: boolean) => {
    const [one] = ids
    // A click on a chosen host lets it go.
    if (ids.length === 1 && one !== undefined && chosen.has(one) && (adds || chosen.size === 1)) {
      setChosen(new Set([...chosen].filter((id) => id !== one)))
    } else {
      setChosen(new Set([...(adds ? chosen : []), ...ids]))
    }
  }
  const listed = grid?.hosts.filter((host) => chosen.has(host.id)) ?? []
  const tones = useMemo(() => new Set(grid === undefined ? [] : tilesOf(grid).map(tileTone)), [grid])
  const sized = grid !== undefined && tilesOf(grid).some((tile) => tile.memory_bytes !== null)
  const inParts = (grid?.parts.length ?? 0) > 0
  return (
    <ChartPanel
      chart="fleetGrid"
      name="fleet-grid"
      title="Hosts"
      label="Hosts by size and state"
      hint={[
        grid === undefined || grid.is_now ? 'now, sized by memory' : 'then, sized by memory now',
        ...(grid !== undefined && inParts ? [`${formatCount(grid.hosts_total)} hosts, those alike as one tile`] : []),
      ].join('; ')}
      load={load}
      figure={figure}
      height={height}
      empty={
        grid !== undefined && !sized
          ? {
              title: 'No host has said yet how large it is',
              next: 'Hosts appear within two minutes of an agent’s first upload.',
            }
          : null
      }
      legend={
        colour === 'verdict'
          ? (Object.keys(toneWords) as (keyof typeof toneWords)[])
              .filter((tone) => tones.has(tone))
              .map((tone) => ({ label: toneWords[tone], colour: toneColours[theme.name][tone] }))
          : [{ label: colour === 'drift' ? 'no peers' : 'not collected', colour: theme.absent }]
      }
      controls={
        <>
          <SegmentedControl
            aria-label="Colour of hosts"
            value={colour}
            onChange={(value) => onColour(value as GridColour)}
            data={[
              { value: 'verdict', label: 'Verdict' },
              { value: 'cold', label: 'Cold share' },
              { value: 'psi', label: 'PSI' },
              { value: 'drift', label: 'Drift' },
            ]}
          />
          <Select
            aria-label="Group hosts by"
            w={116}
            value={group}
            onChange={(value) => onGroup(value ?? 'service')}
            data={grid === undefined ? [{ value: group, label: group }] : gridGroups(grid)}
          />
          {!inParts && (
            <Tooltip label="Choose hosts: drag over tiles, or click them; Shift adds">
              <ActionIcon
                aria-label="Choose hosts"
                aria-pressed={isChoosing}
                variant={isChoosing ? 'filled' : 'subtle'}
                onClick={() => {
                  setIsChoosing(!isChoosing)
                  setChosen(none)
                }}
              >
                <IconMarquee2 size={16} />
              </ActionIcon>
            </Tooltip>
          )}
        </>
      }
      wrap={(plot) => (
        <>
          <BrushLayer isActive={isChoosing} onBrush={brush}>
            {plot}
          </BrushLayer>
          {props.moment}
          {isChoosing && props.list(listed, () => setChosen(none))}
        </>
      )}
      onPointClick={({ id }) => {
        if (typeof id === 'string' && !id.includes(':')) onHost(id)
      }}
    />
  )
}
