import { onlineManager } from '@tanstack/react-query'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createQueryClient, isToldToWait } from './queryClient'
import { problemOf, unreachable } from './problem'

afterEach(() => {
  onlineManager.setOnline(true)
  vi.useRealTimers()
})

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

  it('asks a busy service again when it said, and not before', async () => {
    vi.useFakeTimers()
    const body = { title: 'Too many questions at once', detail: '128 questions wait' }
    const busy = problemOf(new Response(null, { status: 429, headers: { 'Retry-After': '7' } }), body)
    const client = createQueryClient()
    let asked = 0
    const queryFn = () => {
      asked += 1
      return asked <= 6 ? Promise.reject(busy) : Promise.resolve('whole')
    }
    const found = client.fetchQuery({ queryKey: ['x'], queryFn })
    await vi.advanceTimersByTimeAsync(6_900)
    expect(asked).toBe(1)
    expect(client.isFetching({ predicate: isToldToWait })).toBe(1)
    await vi.advanceTimersByTimeAsync(1_200)
    expect(asked).toBe(2)
    await vi.advanceTimersByTimeAsync(5 * 8_100)
    await expect(found).resolves.toBe('whole')
    expect(client.isFetching({ predicate: isToldToWait })).toBe(0)
  })
})
