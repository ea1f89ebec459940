import { describe, expect, it } from 'vitest'
import {
  mostChosenHosts,
  readBox,
  readFleetSearch,
  readHosts,
  readHostSearch,
  readListSearch,
  readServiceSearch,
  readTimeSearch,
  writeBox,
  writeHosts,
} from './urlState'
import { readTags, writeTags } from './tagsUrl'

describe('the URL', () => {
  it('gives back every part of a view', () => {
    const search = {
      from: '-24h',
      live: 'off',
      tab: 'heatmap',
      scheme: 'frequency',
      threshold: 5,
      host: 'h-1',
      group: 'redis-server',
      zoom: '100~200~0~10',
      sel: '120~180~2~4',
      compare: 'host:h-2',
      scale: 'full',
      kinds: 'split',
    }
    expect(readServiceSearch(search)).toEqual({ ...search, to: undefined })
  })

  it('drops what it cannot read, so that a bad link opens the default view', () => {
    expect(
      readServiceSearch({ tab: '<script>', threshold: 'many', zoom: '1~2~3', from: 'long ago', compare: '-2d' }),
    ).toEqual({
      from: undefined,
      to: undefined,
      live: undefined,
      tab: undefined,
      scheme: undefined,
      threshold: undefined,
      host: undefined,
      group: undefined,
      zoom: undefined,
      sel: undefined,
    })
    expect(readTimeSearch({ from: {}, to: 17, live: 'on' })).toEqual({
      from: undefined,
      to: undefined,
      live: undefined,
    })
    expect(readHostSearch({ tab: 'counters', counter: 'pswpin', view: 'both' })).toMatchObject({
      counter: 'pswpin',
      view: undefined,
    })
  })

  it('keeps a filter that looks like a number as text', () => expect(readListSearch({ q: 17 }).q).toBe('17'))
})

describe('a box in the URL', () => {
  it('comes back as written, in whole seconds and rows', () => {
    const box = { t0: 1000, t1: 2000, r0: 3, r1: 9 }
    expect(readBox(writeBox(box))).toEqual(box)
    expect(writeBox({ t0: 1000.7, t1: 1999.2, r0: -2, r1: 8.1 })).toBe('1000~2000~0~9')
  })

  it('is refused when empty, turned or not numbers', () => {
    for (const text of [undefined, '', '5~5~0~1', '9~5~0~1', '1~2~4~3', 'a~b~c~d', '1~2~3~4~5', '-5~2~0~1']) {
      expect(readBox(text)).toBeNull()
    }
  })
})

it('names chosen hosts, at most as many as an address holds', () => {
  expect([...(readHosts(writeHosts(['h-1', 'h-2'])) ?? [])]).toEqual(['h-1', 'h-2'])
  expect(readHosts(undefined)).toBeNull()
  expect(readHosts(writeHosts(Array.from({ length: 500 }, (_, index) => `h-${index}`)))?.size).toBe(mostChosenHosts)
})

it('takes a moment of the grid and drops what is none', () => {
  expect(readFleetSearch({ at: '-2h', colour: 'drift' })).toMatchObject({ at: '-2h', colour: 'drift' })
  expect(readFleetSearch({ at: 'yesterday' }).at).toBeUndefined()
})

describe('tags', () => {
  it('keep commas and per cent signs of their values', () => {
    const tags = ['rack=a,b', 'share=5%2C', 'kernel=6.12']
    expect(readTags(writeTags(tags))).toEqual(tags)
    expect(readTags('rack=rack1,nonsense,kernel=6.12')).toEqual(['rack=rack1', 'kernel=6.12'])
    expect(writeTags([])).toBeUndefined()
  })
})
