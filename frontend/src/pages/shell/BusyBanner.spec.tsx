import { QueryClientProvider } from '@tanstack/react-query'
import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { problemOf } from '../../api/problem'
import { createQueryClient } from '../../api/queryClient'
import { renderBare } from '../../mock-api/render'
import { BusyBanner } from './BusyBanner'

it('says that parts of a page wait for a turn', async () => {
  const client = createQueryClient()
  renderBare(
    <QueryClientProvider client={client}>
      <BusyBanner />
    </QueryClientProvider>,
  )
  expect(screen.queryByTestId('busy-banner')).toBeNull()
  const busy = problemOf(new Response(null, { status: 429, headers: { 'Retry-After': '7' } }), null)
  void client.prefetchQuery({ queryKey: ['x'], queryFn: () => Promise.reject(busy) })
  expect((await screen.findByTestId('busy-banner')).textContent).toContain('One part of this page waits')
  client.clear()
})
