import { expect, it } from 'vitest'
import { blank, requestOf } from './pointEntry'

it('asks for nothing until share, loss and error are there', () => {
  expect(requestOf(blank)).toBeNull()
  expect(requestOf({ ...blank, share: 25, loss: 1.5 })).toBeNull()
  expect(requestOf({ ...blank, share: 25, loss: 1.5, error: 0.4, note: 'two racks' })).toEqual({
    share_on_slow: 0.25,
    loss: 0.015,
    loss_standard_error: 0.004,
    source: 'ab_test',
    note: 'two racks',
  })
})

it('takes a prediction as one at all accesses on slow memory, its error left out where it is not known', () => {
  const prediction = requestOf({ ...blank, source: 'prediction', loss: 0 })
  expect(prediction).toMatchObject({ share_on_slow: 1, loss: 0, loss_standard_error: null, source: 'prediction' })
})
