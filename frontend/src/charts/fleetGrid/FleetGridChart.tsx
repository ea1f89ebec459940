import { SegmentedControl, Select } from '@mantine/core'
import { useMemo } from 'react'
import type { FleetGrid } from '../../api/_generated/schema'
import type { LoadState } from '../../lib/loadState'
import { toneColours } from '../../lib/palette'
import { useChartTheme } from '../../ui/theme/useChartTheme'
import { ChartPanel } from '../ChartPanel'
import { fleetGridFigure, gridGroups, tileTone, type GridColour } from './figure'

interface FleetGridChartProps {
  grid: FleetGrid | undefined
  load: LoadState
  group: string
  colour: GridColour
  height: number
  onGroup: (group: string) => void
  onColour: (colour: GridColour) => void
  onHost: (hostId: string) => void
}

const toneWords = {
  critical: 'critical',
  warning: 'warning',
  info: 'changing',
  good: 'good',
  neutral: 'not known',
} as const

/** Every host as a tile, grouped and coloured as the viewer chooses; a click opens the host. */
export function FleetGridChart(props: FleetGridChartProps) {
  const { grid, load, group, colour, height, onGroup, onColour, onHost } = props
  const theme = useChartTheme()
  const figure = useMemo(
    () => (grid === undefined ? null : fleetGridFigure(grid, group, colour, theme)),
    [grid, group, colour, theme],
  )
  const tones = useMemo(() => new Set(grid?.hosts.map(tileTone)), [grid])
  const sized = grid?.hosts.some((host) => host.memory_bytes !== null) ?? false
  return (
    <ChartPanel
      chart="fleetGrid"
      name="fleet-grid"
      title="Hosts"
      label="Hosts by size and state"
      hint="now, sized by memory"
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
          : [{ label: 'not collected', colour: theme.absent }]
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
            ]}
          />
          <Select
            aria-label="Group hosts by"
            allowDeselect={false}
            w={116}
            value={group}
            onChange={(value) => onGroup(value ?? 'service')}
            data={grid === undefined ? [{ value: group, label: group }] : gridGroups(grid)}
          />
        </>
      }
      onPointClick={({ id }) => {
        if (typeof id === 'string' && !id.startsWith('group:')) onHost(id)
      }}
    />
  )
}
