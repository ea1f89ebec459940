import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { recorded } from '../../mock-api/answer'
import { renderBare } from '../../mock-api/render'
import { StopMovingPanel } from './StopMovingPanel'

it('names the state of ping-pong as such, and gives no second verdict beside that on what the kernel does', () => {
  const history = recorded('/v1/services/{service_id}/ping-pong', 'svc-redis')
  renderBare(<StopMovingPanel history={{ ...history, state: 'ok' }} />)
  const panel = screen.getByTestId('stop-moving')
  expect(panel.textContent).toContain('ping-pong: ok')
  expect(panel.querySelector('[data-verdict]')).toBeNull()
})
