import { queryOptions } from '@tanstack/react-query'
import type { TileGrid } from '../../_generated/schema'
import type { HeatGrid } from '../../../lib/heat/heatGrid'
import { client, dataOf } from '../../client'
import { rangeQuery, refreshing, type TimeRange } from '../base/range'

/** Which grid, and how many cells the screen has room for. */
export interface TileChoice {
  host?: string | undefined
  group?: string | undefined
  maxRows: number
  maxColumns: number
  /** Where the grid is the other side of a comparison: which one. */
  against?: string | undefined
}

/** Whether a grid may stand for the one asked for while that loads: the same memory, at whatever time and size. */
function isSameMemory(before: HeatGrid, earlier: TileChoice, choice: TileChoice): boolean {
  const sameHost = choice.host === earlier.host || choice.host === before.hostId
  return sameHost && choice.group === earlier.group && choice.against === earlier.against
}

/**
 * Decode the binary answer: a little-endian header length, the header as JSON, one byte per cell row by row.
 * Throws RangeError where the body is shorter than it says.
 */
export function decodeGrid(body: ArrayBuffer): HeatGrid {
  const headerBytes = new DataView(body).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, headerBytes))) as TileGrid
  const cells = new Uint8Array(body, 4 + headerBytes)
  const expected = header.rows.length * header.column_ends.length
  if (cells.length !== expected) {
    throw new RangeError(`The heat grid has ${cells.length} cells where its header names ${expected}.`)
  }
  return {
    hostId: header.host_id,
    group: header.group,
    groups: header.groups,
    hosts: header.hosts,
    backend: header.backend,
    granularity: header.granularity,
    window: header.window,
    columnSeconds: header.column_seconds,
    columnEnds: header.column_ends,
    regionBytes: header.region_bytes,
    rowsPerCell: header.rows_per_cell,
    measure: header.cell_measure,
    unit: header.cell_unit,
    base: header.cell_log2_base,
    rows: header.rows.map((row) => ({
      kind: row.kind,
      mapping: row.mapping,
      offsetBytes: row.offset_bytes,
      sizeBytes: row.size_bytes,
    })),
    cells,
    knownShare: header.known_share,
    notes: header.notes,
    epochIds: header.epoch_ids,
  }
}

/** Heat tiles of a service on one host, never more cells than asked for. */
export function tilesQuery(serviceId: string, choice: TileChoice, range: TimeRange) {
  return queryOptions({
    queryKey: ['/v1/services/{service_id}/tiles', serviceId, choice, range.from, range.to] as const,
    queryFn: async ({ signal }) => {
      const body = await dataOf(
        client.GET('/v1/services/{service_id}/tiles', {
          params: {
            path: { service_id: serviceId },
            query: {
              host: choice.host,
              group: choice.group,
              max_rows: choice.maxRows,
              max_columns: choice.maxColumns,
              format: 'binary',
              ...rangeQuery(range),
            },
          },
          parseAs: 'arrayBuffer',
          signal,
        }),
      )
      return decodeGrid(body)
    },
    placeholderData: (before: HeatGrid | undefined, earlier) => {
      const [, earlierService, earlierChoice] = earlier?.queryKey ?? []
      if (before === undefined || earlierChoice === undefined || earlierService !== serviceId) return undefined
      return isSameMemory(before, earlierChoice, choice) ? before : undefined
    },
    ...refreshing(range),
  })
}

/** The tiles of a process group as a record of damo. Throws ApiProblem. */
export function damoRecordOf(serviceId: string, of: { host: string; group: string }, range: TimeRange) {
  const params = { path: { service_id: serviceId }, query: { ...of, ...rangeQuery(range) } }
  return dataOf<Blob>(client.GET('/v1/services/{service_id}/tiles/damo', { params, parseAs: 'blob' }))
}
