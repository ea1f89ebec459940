import { expect, it } from 'vitest'
import { podOwnerText, podsNote } from './pods'

it('an owner says where it is guessed', () => {
  expect(podOwnerText('Deployment', 'cart', 'api')).toBe('Deployment cart')
  expect(podOwnerText('Deployment', 'cart', 'name')).toBe('Deployment cart (by name)')
  expect(podOwnerText(null, 'node-agent', 'name')).toBe('node-agent (by name)')
})

it('what is not known of pods is said', () => {
  expect(podsNote({ left_out: 0, unavailable: null })).toBeNull()
  expect(podsNote({ left_out: 3, unavailable: 'the server refuses (403)' })).toBe(
    'Not all is known: the server refuses (403). 3 more pods are not listed.',
  )
})
