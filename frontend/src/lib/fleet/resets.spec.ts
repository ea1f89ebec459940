import { expect, it } from 'vitest'
import { groupResets } from './resets'

it('sums up what was left out by cause', () => {
  const groups = groupResets([
    { at: 300, cause: 'gap', columns: ['a'] },
    { at: 100, cause: 'gap', columns: ['b', 'a'] },
    { at: 200, cause: 'reboot', columns: [] },
  ])
  expect(groups).toEqual([
    { cause: 'gap', stretches: 2, firstSeconds: 100, lastSeconds: 300, columns: ['a', 'b'] },
    { cause: 'reboot', stretches: 1, firstSeconds: 200, lastSeconds: 200, columns: [] },
  ])
})
