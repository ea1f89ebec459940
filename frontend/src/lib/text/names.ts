/** An id of a metric, an assumption or a fact as people read it: `hot_bytes` is `hot bytes`. */
export function readableId(id: string): string {
  const words = id
    .replace(/^[a-z_]+\./, '')
    .replace(/\/\d+$/, '')
    .replaceAll('_per_s', '/s')
    .replace(/_(ratio|bytes|ns|pages)$/, '')
    .replaceAll('_', ' ')
    .trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}
