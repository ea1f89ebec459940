import { safeFileName, toCsv, type Table } from '../../lib/export/csv'
import { parquetColumns, windowOfTable } from '../../lib/export/parquetColumns'

/** Where exported values come from. It travels with every file. */
export interface ExportOrigin {
  origin: 'simulated' | 'measured' | 'unknown'
  /** The time range that the page shows, RFC 3339; null where it is not known. */
  window: { start: string; end: string } | null
  /** The version of Tierscope; null while it is not known. */
  version: string | null
}

/** Hand what a URL (data: or blob:) holds to the viewer as a file. */
export function downloadUrl(fileName: string, url: string): void {
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
}

/** Hand a text to the viewer as a file. */
export function downloadText(fileName: string, text: string, mediaType: string): void {
  downloadBlob(fileName, new Blob([text], { type: mediaType }))
}

/** Hand bytes to the viewer as a file. */
export function downloadBlob(fileName: string, bytes: Blob): void {
  const url = URL.createObjectURL(bytes)
  downloadUrl(fileName, url)
  URL.revokeObjectURL(url)
}

/** The file name of an export without its ending; simulated values say so in it, because CSV has no other place. */
export function exportName(name: string, { origin }: ExportOrigin): string {
  return safeFileName(`tierscope-${name}${origin === 'simulated' ? '-simulated' : ''}`)
}

/** Hand out a table as CSV. */
export function downloadCsv(name: string, table: Table, origin: ExportOrigin): void {
  downloadText(`${exportName(name, origin)}.csv`, toCsv(table), 'text/csv')
}

/** Hand out a table as Parquet. Rejects where the writer cannot be loaded. */
export async function downloadParquet(name: string, title: string, table: Table, origin: ExportOrigin): Promise<void> {
  const bytes = await parquetOf(title, table, origin, new Date())
  downloadBlob(`${exportName(name, origin)}.parquet`, new Blob([bytes], { type: 'application/vnd.apache.parquet' }))
}

/**
 * A table as a Parquet file: numbers as doubles, times as timestamps in UTC, all else as text, absent values as nulls.
 * Title, units, window and origin are in its key-value metadata. The writer is loaded at the first call.
 */
export async function parquetOf(
  title: string,
  table: Table,
  { origin, window, version }: ExportOrigin,
  exportedAt: Date,
): Promise<ArrayBuffer> {
  const { parquetWriteBuffer } = await import('hyparquet-writer')
  const columns = parquetColumns(table)
  const shown = windowOfTable(columns) ?? window
  const units = Object.fromEntries(columns.map(({ name, unit }) => [name, unit]))
  return parquetWriteBuffer({
    columnData: columns.map(({ name, type, data }) => ({ name, type, data, nullable: true })),
    createdBy: version === null ? 'Tierscope' : `Tierscope ${version}`,
    kvMetadata: [
      { key: 'title', value: title },
      { key: 'units', value: JSON.stringify(units) },
      { key: 'window_start', value: shown?.start ?? 'unknown' },
      { key: 'window_end', value: shown?.end ?? 'unknown' },
      { key: 'origin', value: origin },
      { key: 'exported_at', value: exportedAt.toISOString() },
    ],
  })
}
