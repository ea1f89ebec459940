import { expect, it } from 'vitest'
import { chartThemes, toneColours } from '../../lib/palette'
import { recorded } from '../../mock-api/answer'
import { fleetGridFigure, gridGroups } from './figure'

interface Tiles {
  ids: string[]
  parents: string[]
  values: number[]
  labels: string[]
  text: string[]
  customdata: string[]
  marker: { colors: string[]; line: { width: number[] } }
}

const grid = recorded('/v1/fleet/grid')
const tilesOf = (group: string, colour: 'verdict' | 'cold' | 'psi') =>
  fleetGridFigure(grid, group, colour, chartThemes.light).data[0] as unknown as Tiles

it('puts every host of known size into its group, as large as its memory', () => {
  const tiles = tilesOf('service', 'verdict')
  const known = grid.hosts.filter((host) => host.memory_bytes !== null)
  const hosts = tiles.ids.filter((id) => !id.startsWith('group:'))
  expect(hosts).toEqual(known.map(({ id }) => id))
  expect(tiles.parents[tiles.ids.indexOf('h-1')]).toBe('group:redis')
  expect(tiles.values[tiles.ids.indexOf('h-1')]).toBe(grid.hosts[0]?.memory_bytes)
})

it('groups by any label', () => {
  expect(gridGroups(grid).map(({ value }) => value)).toEqual(['service', 'kernel', 'label:rack', 'label:sku'])
  const tiles = tilesOf('label:rack', 'verdict')
  expect(new Set(tiles.parents)).toEqual(new Set(['', 'group:r1', 'group:r2', 'group:r3']))
})

it('says the worst that is known of a host, silence before a verdict of the time before it', () => {
  const tiles = tilesOf('service', 'verdict')
  expect(tiles.marker.colors[tiles.ids.indexOf('h-1')]).toBe(toneColours.light.critical)
  expect(tiles.marker.colors[tiles.ids.indexOf('h-10')]).toBe(toneColours.light.critical)
  expect(tiles.text[tiles.ids.indexOf('h-10')]).toBe('silent')
  expect(tiles.text[tiles.ids.indexOf('h-3')]).toBe('tiering disabled')
  expect(tiles.text[tiles.ids.indexOf('h-6')]).toBe('finding')
})

it('does not call a recorded host silent', () => {
  const recorded = { ...grid, hosts: grid.hosts.map((host) => ({ ...host, origin: 'import' as const })) }
  const tiles = fleetGridFigure(recorded, 'service', 'verdict', chartThemes.light).data[0] as unknown as Tiles
  expect(tiles.text[tiles.ids.indexOf('h-10')]).not.toBe('silent')
})

it('does not colour what nobody collected, and ends the scale where the values do', () => {
  const figure = fleetGridFigure(grid, 'service', 'cold', chartThemes.light)
  const [tiles, scale] = figure.data as unknown as [Tiles, { marker: { cmax: number } }]
  expect(tiles.marker.colors[tiles.ids.indexOf('h-4')]).toBe(chartThemes.light.absent)
  expect(tiles.text[tiles.ids.indexOf('h-4')]).toBe('not collected')
  expect(scale.marker.cmax).toBe(80)
})

it('leaves the name of the group out of names in it', () => {
  const named = { ...grid, hosts: grid.hosts.map((host, index) => ({ ...host, name: `redis-${index}` })) }
  const tiles = fleetGridFigure(named, 'service', 'verdict', chartThemes.dark).data[0] as unknown as Tiles
  expect(tiles.labels[tiles.ids.indexOf('h-1')]).toBe('0')
  expect(tiles.labels[tiles.ids.indexOf('h-2')]).toBe('redis-1')
})

it('draws hosts that are alike as one tile where there are more than can be drawn', () => {
  const part = {
    group: 'r1',
    origin: 'live' as const,
    state: 'reporting' as const,
    verdict: 'healthy',
    tiering_off: false,
    finding_severity: null,
    hosts: 61_200,
    memory_bytes: 2 ** 50,
    psi_memory_some_ratio: 0.01,
    cold_ratio: 0.4,
  }
  const silent = { ...part, group: null, state: 'silent' as const, hosts: 1, memory_bytes: 2 ** 40 }
  const large = { ...grid, hosts_total: 61_201, hosts: [], parts: [part, silent], label_keys: ['rack'] }
  const figure = fleetGridFigure(large, 'label:rack', 'verdict', chartThemes.light)
  const tiles = figure.data[0] as unknown as Tiles
  expect(tiles.ids).toEqual(['group:not known', 'group:r1', 'part:0', 'part:1'])
  expect(tiles.labels.slice(2)).toEqual(['61,200 hosts', '1 host'])
  expect(tiles.parents.slice(2)).toEqual(['group:r1', 'group:not known'])
  expect(tiles.text.slice(2)).toEqual(['healthy', 'silent'])
  expect(tiles.values.slice(2)).toEqual([2 ** 50, 2 ** 40])
  expect(figure.table.rows.map(([name, group]) => [name, group])).toEqual([
    ['61,200 hosts', 'r1'],
    ['1 host', 'not known'],
  ])
})

it('escapes names', () => {
  const hostile = { ...grid, hosts: grid.hosts.map((host) => ({ ...host, name: '<b>x', service: '<i>s' })) }
  const tiles = fleetGridFigure(hostile, 'service', 'verdict', chartThemes.dark).data[0] as unknown as Tiles
  expect(tiles.labels.join('')).not.toContain('<')
})

it('colours by how far a host is from its peers on either side, and says in what', () => {
  const figure = fleetGridFigure(grid, 'service', 'drift', chartThemes.light, { drift: recorded('/v1/fleet/drift') })
  const [tiles, scale] = figure.data as unknown as [Tiles, { marker: { cmax: number } }]
  const of = (id: string) => tiles.ids.indexOf(id)
  expect(scale.marker.cmax).toBe(10)
  expect(tiles.text[of('h-1')]).toBe('z 9.4')
  expect(tiles.customdata[of('h-1')]).toContain('furthest in Promoted: 900 pages/s, peers’ median 105 pages/s')
  expect(tiles.customdata[of('h-1')]).toContain('robust z -9.4 among 17 redis hosts alike')
  expect(tiles.marker.colors[of('h-2')]).toBe(chartThemes.light.absent)
  expect(tiles.text[of('h-2')]).toBe('no peers')
  expect(figure.table.rows[1]?.slice(-2)).toEqual([null, null])
})

it('says nothing of peers where they were not asked for', () => {
  const figure = fleetGridFigure(grid, 'service', 'verdict', chartThemes.light)
  expect((figure.data[0] as unknown as Tiles).customdata.join('')).not.toContain('peers')
  expect(figure.table.columns).not.toContain('robust z')
})

it('outlines hosts that were chosen', () => {
  const figure = fleetGridFigure(grid, 'service', 'verdict', chartThemes.light, { chosen: new Set(['h-3']) })
  const tiles = figure.data[0] as unknown as Tiles
  expect(tiles.ids.filter((_, index) => (tiles.marker.line.width[index] ?? 0) > 1)).toEqual(['h-3'])
})

it('does not call a host silent at a moment of which nothing is known', () => {
  const past = { ...grid, is_now: false, hosts: grid.hosts.map((host) => ({ ...host, state: null })) }
  const tiles = fleetGridFigure(past, 'service', 'verdict', chartThemes.light).data[0] as unknown as Tiles
  expect(tiles.text).not.toContain('silent')
  expect(tiles.customdata.at(-1)).toContain('state not known')
})
