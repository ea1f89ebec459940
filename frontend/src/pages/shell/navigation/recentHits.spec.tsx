import { describe, expect, it } from 'vitest'
import { keepRecent, readRecent, type RecentHit } from './recentHits'

const hit = (id: string): RecentHit => ({ kind: 'host', id, label: id, detail: 'reporting' })

describe('what the search opened before', () => {
  it('is kept newest first, each once, six at most', () => {
    for (const id of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'c']) keepRecent(hit(id))
    expect(readRecent().map(({ id }) => id)).toEqual(['c', 'g', 'f', 'e', 'd', 'b'])
  })

  it('is nothing where the storage holds something else', () => {
    for (const kept of ['{', '7', '[1, {"kind": "page"}, null]']) {
      window.localStorage.setItem('tierscope-recent', kept)
      expect(readRecent(), kept).toEqual([])
    }
  })
})
