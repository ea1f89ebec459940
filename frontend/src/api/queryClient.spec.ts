import { onlineManager } from '@tanstack/react-query'
import { afterEach, describe, expect, it } from 'vitest'
import { createQueryClient } from './queryClient'
import { unreachable } from './problem'

afterEach(() => onlineManager.setOnline(true))

describe('the store of answers', () => {
  it('fails without a network, where waiting for one would look like loading', async () => {
    onlineManager.setOnline(false)
    const asked = createQueryClient(0).fetchQuery({
      queryKey: ['x'],
      queryFn: () => Promise.reject(unreachable()),
    })
    await expect(asked).rejects.toThrow('The service cannot be reached')
  })

  it('asks everything on screen again once the network is back', () => {
    expect(createQueryClient().getDefaultOptions().queries?.refetchOnReconnect).toBe(true)
  })
})
