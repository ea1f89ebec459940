import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { renderBare } from '../../mock-api/render'
import { KindsPanel } from './KindsPanel'

it('says once what kinds of hosts have in common', () => {
  const said = recorded('/v1/services/{service_id}/ratio', 'svc-feed').kinds
  const alike = said.map((kind) => ({ ...kind, sentence: said[0]?.sentence ?? '' }))
  renderBare(<KindsPanel kinds={alike} />)
  expect(screen.getAllByText('the same')).toHaveLength(alike.length - 1)
})
