import { expect, it } from 'vitest'
import { causesOf, causeText, isCause, sufferingsOf, troubleOf, writeCause } from './causes'

const well = { origin: 'live', state: 'reporting', verdict: 'healthy', tiering_off: false, findings: [] }

const hasCause = (host: Parameters<typeof causesOf>[0], cause: string) =>
  causesOf(host).some((own) => writeCause(own) === cause)

it('names causes by what the kernel does, by settings, and by findings', () => {
  expect(causeText({ kind: 'verdict', key: 'futile_ping_pong', cause: null }).label).toBe('ping-pong')
  expect(causeText({ kind: 'setting', key: 'tiering_off', cause: null }).label).toBe('tiering disabled')
  expect(causeText({ kind: 'finding', key: 'clock-skew', cause: 'The clock is 3 s fast.' })).toEqual({
    label: 'clock skew',
    meaning: 'The clock is 3 s fast.',
  })
})

it('finds the hosts of a cause by the address of its link', () => {
  const cause = writeCause({ kind: 'finding', key: 'clock:skew' })
  const host = { ...well, findings: [{ id: 'clock:skew', severity: 'warning' }] }
  expect(hasCause(host, cause)).toBe(true)
  expect(hasCause({ ...well, findings: [{ id: 'clock:skew', severity: 'info' }] }, cause)).toBe(false)
  expect(hasCause(well, 'verdict:healthy')).toBe(true)
  expect(hasCause(well, 'state:silent')).toBe(false)
  expect(hasCause({ ...well, tiering_off: true }, 'setting:tiering_off')).toBe(true)
  expect([isCause('nonsense'), isCause('state:'), isCause(cause)]).toEqual([false, false, true])
  expect(hasCause({ ...well, state: 'silent' }, 'state:silent')).toBe(true)
  expect(hasCause({ ...well, state: 'silent', origin: 'import' }, 'state:silent')).toBe(false)
})

it('puts hosts that nobody hears of, and grave ones, before those with a warning', () => {
  const silent = { ...well, state: 'silent' }
  const failing = { ...well, verdict: 'promotion_failing', tiering_off: true }
  const off = { ...well, tiering_off: true }
  const order = [well, off, silent, failing].sort((a, b) => troubleOf(b) - troubleOf(a))
  expect(order).toEqual([failing, silent, off, well])
})

it('names every state that the list of hosts is sorted by, so that no host looks well that is not', () => {
  const off = { ...well, tiering_off: true }
  expect(sufferingsOf(off)).toMatchObject([{ key: 'tiering_off', tone: 'warning', label: 'tiering disabled' }])
  expect(sufferingsOf({ ...off, verdict: 'tiering_off' })).toHaveLength(1)
  expect(sufferingsOf({ ...off, verdict: 'spill', state: 'silent' }).map(({ key }) => key)).toEqual([
    'silent',
    'spill',
    'tiering_off',
  ])
  for (const host of [well, off, { ...well, verdict: 'one_tier' }, { ...well, state: 'late' }])
    expect(sufferingsOf(host).length > 0).toBe(troubleOf(host) >= 200)
})
