import type { TileGrid, TileRow } from '../../api/_generated/schema'
import { mockNow, mockWindow } from '../figures'
import { hosts } from '../fleet/hosts'

const region = 2 * 1024 ** 2

function rows(): TileRow[] {
  const stretch = (kind: TileRow['kind'], mapping: string, count: number): TileRow[] =>
    Array.from({ length: count }, (_, index) => ({ kind, mapping, offset_bytes: index * region, size_bytes: region }))
  return [
    ...stretch('anon', 'anon-1', 120),
    ...stretch('anon', '[heap]', 60),
    ...stretch('anon', '[stack]', 4),
    ...stretch('file', 'redis-server', 10),
    ...stretch('file', 'k:9f3e1c77a2', 50),
    ...stretch('tmpfs', 'shm-sessions', 30),
  ]
}

function cellAt(row: number, column: number, columns: number): number {
  const share = column / columns
  if (share > 0.55 && share < 0.6) return 255
  if (row > 235 && share < 0.3) return 254
  if (row >= 184 && row < 194) return 253
  const ridge = Math.abs((row % 120) - 40 - 30 * Math.sin(share * 7))
  const noise = Math.abs(Math.sin(row * 12.9898 + column * 4.1414) * 43758.5453) % 1
  if (ridge > 26 && noise < 0.8) return 0
  return Math.max(0, Math.min(200, Math.round(190 - ridge * 5 + noise * 40)))
}

/** The header of a heat grid as the API answers it, and its cells row by row. */
function tiles(serviceId: string, columns = 360): { header: TileGrid; cells: Uint8Array } {
  const list = rows()
  const cells = new Uint8Array(list.length * columns)
  for (let row = 0; row < list.length; row += 1) {
    for (let column = 0; column < columns; column += 1) cells[row * columns + column] = cellAt(row, column, columns)
  }
  const header: TileGrid = {
    service_id: serviceId,
    host_id: 'h-1',
    group: 'redis-server',
    origin: 'simulated',
    backend: 'abit_walk',
    granularity: 'page',
    window: mockWindow,
    level: 0,
    column_seconds: 60,
    column_ends: Array.from({ length: columns }, (_, index) => mockNow - (columns - 1 - index) * 60),
    epoch_ids: ['e1'],
    region_bytes: region,
    rows_per_cell: 1,
    cell_measure: 'active_share',
    cell_unit: 0.0001,
    cell_log2_base: 2 ** (1 / 15),
    rows: list,
    cells: [],
    known_share: Array.from({ length: columns }, (_, index) =>
      index / columns > 0.55 && index / columns < 0.6 ? 0 : 0.9,
    ),
    groups: ['redis-server', 'sentinel'],
    hosts: hosts.slice(0, 6).map((host) => host.id),
    notes: [],
  }
  return { header, cells }
}

/** The binary form of the answer. */
export function tilesBody(serviceId: string): ArrayBuffer {
  const { header, cells } = tiles(serviceId)
  const text = new TextEncoder().encode(JSON.stringify(header))
  const body = new Uint8Array(4 + text.length + cells.length)
  new DataView(body.buffer).setUint32(0, text.length, true)
  body.set(text, 4)
  body.set(cells, 4 + text.length)
  return body.buffer
}
