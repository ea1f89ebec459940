import { describe, expect, it } from 'vitest'
import { readings } from './readings'

const folders = new Set(Object.keys(import.meta.glob('./*/*Chart.tsx')).map((path) => path.split('/')[1] ?? ''))
const pages = new Set(
  Object.keys(import.meta.glob('../../../docs/**/*.md')).map((path) => path.replace('../../../', '')),
)

describe('how to read each chart', () => {
  it('is said of every chart, and of no other', () => {
    expect(folders.size).toBeGreaterThan(20)
    expect(Object.keys(readings).sort()).toEqual([...folders].sort())
  })

  it.each(Object.entries(readings))('is short, and names a page that exists: %s', (_, { sentences, page }) => {
    expect(sentences.length).toBeGreaterThanOrEqual(2)
    expect(sentences.length).toBeLessThanOrEqual(4)
    for (const sentence of sentences) expect(sentence).toMatch(/^\p{Lu}.{20,200}\.$/u)
    expect(pages).toContain(page)
  })
})
