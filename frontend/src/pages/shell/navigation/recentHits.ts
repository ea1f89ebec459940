/** What the search opened before: enough to list it and to open it again without asking the service. */
export interface RecentHit {
  kind: 'service' | 'host' | 'rule'
  id: string
  label: string
  detail: string
}

const storageKey = 'tierscope-recent'
const mostRecent = 6
const longest = 300

function isRecent(value: unknown): value is RecentHit {
  if (typeof value !== 'object' || value === null) return false
  const { kind, id, label, detail } = value as Record<string, unknown>
  const isText = (text: unknown): boolean => typeof text === 'string' && text.length <= longest
  return ['service', 'host', 'rule'].includes(String(kind)) && [id, label, detail].every(isText)
}

/** The newest first; none where nothing readable is kept. */
export function readRecent(): RecentHit[] {
  try {
    const kept: unknown = JSON.parse(window.localStorage.getItem(storageKey) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isRecent).slice(0, mostRecent) : []
  } catch {
    return []
  }
}

/** Puts a hit in front of the others; the oldest beyond six is dropped. A browser that keeps nothing keeps nothing. */
export function keepRecent(hit: RecentHit): void {
  const others = readRecent().filter(({ kind, id }) => kind !== hit.kind || id !== hit.id)
  try {
    window.localStorage.setItem(storageKey, JSON.stringify([hit, ...others].slice(0, mostRecent)))
  } catch {
    // Storage is switched off or full: the list is a convenience.
  }
}
