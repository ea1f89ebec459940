import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'

describe('what deletes or ends something', () => {
  it.each([
    ['/alerts/rules/rule-2', [], 'Delete', 'Delete rule', 'DELETE /v1/rules/rule-2'],
    ['/alerts?tab=silences', [], 'End now', 'End now this silence', 'POST /v1/silences/sil-1/expire'],
    ['/experiments/exp-1', [], 'End now', 'End now this experiment', 'POST /v1/experiments/exp-1/end'],
    [
      '/services/svc-redis?tab=advice',
      [],
      /^Delete the measurement of .*…$/,
      /^Delete the measurement of .*%$/,
      'DELETE /v1/slowdown-points/',
    ],
    [
      '/simulator?new=on',
      ['Uploaded trace'],
      'Delete <b>trace</b>.parquet…',
      'Delete <b>trace</b>.parquet',
      'DELETE /v1/simulator/uploads/up-1',
    ],
  ] as const)('asks first: %s', async (path, choices, first, then, request) => {
    const sent: string[] = []
    openApp(path, (url, { method }) => {
      const asked = `${method} ${url.pathname}`
      if (!asked.startsWith(request)) return undefined
      sent.push(asked)
      return Response.json({})
    })
    for (const name of choices) await userEvent.click(await screen.findByRole('radio', { name }))
    const [button] = await screen.findAllByRole('button', { name: first }, { timeout: 10_000 })
    if (button === undefined) throw new Error('there is no such button')
    await userEvent.click(button)
    expect(sent).toEqual([])
    await userEvent.click(await screen.findByRole('button', { name: then }))
    await waitFor(() => expect(sent).toHaveLength(1))
  })
})
