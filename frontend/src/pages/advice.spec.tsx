import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'
import { problem } from '../mock-api/answer'

describe('the advice page', () => {
  it('sums what is at stake, and opens a card to its evidence and formula', async () => {
    openApp('/advice')
    expect((await screen.findByTestId('headline')).textContent).toContain('2 open pieces of advice; 3 TiB')
    const [button] = await screen.findAllByTestId('open-evidence')
    if (button !== undefined) await userEvent.click(button)
    expect(await screen.findByTestId('ratio-answer')).toBeTruthy()
    expect(screen.getByText(/Formula/)).toBeTruthy()
  })

  it('keeps its filter in the URL, and says who decided', async () => {
    const router = openApp('/advice')
    await screen.findAllByTestId('advice-card')
    await userEvent.click(screen.getByRole('radio', { name: 'Dismissed' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ status: 'dismissed' }))
    expect(await screen.findByText(/dismissed by ana: waits for the new hosts/)).toBeTruthy()
  })

  it('sends a decision with its reason, and shows why it was refused', async () => {
    const sent: unknown[] = []
    openApp('/advice', async (url, request) => {
      if (request.method !== 'POST') return undefined
      sent.push([url.pathname, await request.json()])
      return problem(403, 'A viewer cannot decide.', 'Log in as an operator.')
    })
    const [button] = await screen.findAllByRole('button', { name: 'Dismiss' })
    if (button !== undefined) await userEvent.click(button)
    const form = await screen.findByRole('form', { name: 'Dismiss this advice' })
    await userEvent.type(within(form).getByRole('textbox'), 'too early')
    await userEvent.click(within(form).getByRole('button', { name: 'Dismiss' }))
    expect((await within(form).findByRole('alert')).textContent).toContain('Log in as an operator.')
    expect(sent).toEqual([['/v1/advice/adv-1/decision', { decision: 'dismissed', note: 'too early' }]])
  })

  it('says what is looked for where nothing is advised', async () => {
    openApp('/advice', (url) =>
      url.pathname === '/v1/advice' ? Response.json({ items: [], next_cursor: null }) : undefined,
    )
    expect(await screen.findByText('No advice')).toBeTruthy()
  })
})
