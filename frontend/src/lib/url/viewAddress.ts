import { toRfc3339 } from '../units/time'
import { defaultFrom, resolveRange } from './timeRange'

function changed(href: string, change: (query: URLSearchParams) => void): string {
  const [path = '/', query = ''] = (href.split('#')[0] ?? '').split('?')
  const params = new URLSearchParams(query)
  change(params)
  const text = params.toString()
  return text === '' ? path : `${path}?${text}`
}

/** The address of what is shown, as it is saved: path and query, without the kiosk's part. */
export function savedAddress(href: string): string {
  return changed(href, (query) => query.delete('kiosk'))
}

/** The address with the shown range as absolute times: it opens the same range whenever it is opened. */
export function pinnedAddress(href: string, nowSeconds: number): string {
  return changed(href, (query) => {
    const { start, end } = resolveRange(query.get('from') ?? defaultFrom, query.get('to') ?? undefined, nowSeconds)
    query.set('from', toRfc3339(start))
    query.set('to', toRfc3339(end))
    query.delete('live')
    query.delete('kiosk')
  })
}

/** The address shown as a kiosk with this parameter. */
export function kioskAddress(href: string, kiosk: number): string {
  return changed(href, (query) => query.set('kiosk', String(kiosk)))
}
