import { describe, expect, it } from 'vitest'
import { formatLocal } from '../units/time'
import { awaySentence, awayWords, hostsCounted } from './hostsAway'

const at = '2026-11-27T15:02:00Z'
const counted = `(counted ${formatLocal(new Date(at))})`

describe('what stands beside a count of hosts', () => {
  it('is nothing while all nodes answer', () => {
    const away = { nodes: [], hosts_away: 0, counted_at: null }
    expect([awayWords(away), awaySentence(away), hostsCounted(away)]).toEqual([null, '', 'hosts'])
    expect([awayWords(undefined), awaySentence(undefined), hostsCounted(undefined)]).toEqual([null, '', 'hosts'])
  })

  it('names the hosts of one node and when they were counted', () => {
    const away = { nodes: ['n2'], hosts_away: 8, counted_at: at }
    expect(awayWords(away)).toBe(`8 more are on node n2, which is away ${counted}`)
    expect(awaySentence(away)).toBe(`8 more hosts are on node n2, which is away ${counted}.`)
    expect(awaySentence({ ...away, hosts_away: 1 })).toBe(`1 more host is on node n2, which is away ${counted}.`)
    expect(hostsCounted(away)).toBe('visible hosts')
  })

  it('sums over several nodes', () => {
    expect(awayWords({ nodes: ['n1', 'n2', 'n3'], hosts_away: 1200, counted_at: at })).toBe(
      `1,200 more are on nodes n1, n2 and n3, which are away ${counted}`,
    )
  })

  it('says that the number is not known, and shows no zero', () => {
    const away = { nodes: ['n2'], hosts_away: null, counted_at: null }
    expect(awayWords(away)).toBe('how many more are on node n2, which is away, is not known')
    expect(awaySentence(away)).toBe('How many more hosts are on node n2, which is away, is not known.')
  })
})
