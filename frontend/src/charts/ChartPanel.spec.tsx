import { screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { renderBare } from '../mock-api/render'
import type { ChartFigure } from './chartFigure'
import { ChartPanel } from './ChartPanel'

const idle = { pending: false, refreshing: false, problem: null, retry: () => undefined }
const figure: ChartFigure = {
  data: [],
  layout: {},
  table: {
    columns: ['time', 'hot'],
    rows: [
      ['now', 1],
      ['then', null],
    ],
  },
}
const failed = { status: 503, title: 'Busy', detail: 'The database is full.', nextStep: 'Free some space.' }

function panel(over: Partial<Parameters<typeof ChartPanel>[0]>) {
  return renderBare(
    <ChartPanel
      chart="lines"
      name="example"
      title="Example"
      label="Example"
      load={idle}
      figure={figure}
      height={200}
      {...over}
    />,
  )
}

describe('a chart', () => {
  it('holds its place with a skeleton until there is an answer', () => {
    panel({ figure: null, load: { ...idle, pending: true } })
    expect(screen.getByTestId('chart-skeleton')).toBeTruthy()
    expect(screen.getByRole('button', { name: 'Download Example' }).hasAttribute('disabled')).toBe(true)
  })

  it('says why it is empty and what to do', () => {
    panel({ empty: { title: 'No heat', next: 'Widen the time range.' } })
    expect(screen.getByTestId('empty-state').textContent).toBe('No heatWiden the time range.')
    expect(screen.queryByRole('img', { name: 'Example' })).toBeNull()
  })

  it('shows cause and next step of a failure, and asks again on request', async () => {
    const retry = vi.fn()
    panel({ figure: null, load: { ...idle, problem: failed, retry } })
    const alert = screen.getByRole('alert')
    expect(alert.textContent).toContain('The database is full.')
    expect(alert.textContent).toContain('Free some space.')
    await userEvent.click(screen.getByRole('button', { name: 'Retry' }))
    expect(retry).toHaveBeenCalledOnce()
  })

  it('keeps old data on screen when only the refresh failed', () => {
    panel({ load: { ...idle, problem: failed } })
    expect(screen.getByRole('img', { name: 'Example' })).toBeTruthy()
    expect(screen.getByRole('status').textContent).toContain('Not refreshed: Busy')
  })

  it('fills the window on request, until Escape', async () => {
    panel({})
    const chart = screen.getByTestId('chart-example')
    expect(chart.dataset['full']).toBe('false')
    await userEvent.click(screen.getByRole('button', { name: 'Show Example in full screen' }))
    expect(chart.dataset['full']).toBe('true')
    expect(screen.getByRole('button', { name: 'Leave full screen of Example' })).toBeTruthy()
    await userEvent.keyboard('{Escape}')
    expect(chart.dataset['full']).toBe('false')
  })

  it('says how it is read, from the keyboard, until Escape', async () => {
    panel({})
    const button = screen.getByRole('button', { name: 'How to read this: Example' })
    button.focus()
    await userEvent.keyboard('{Enter}')
    const dialog = await screen.findByRole('dialog', { name: 'How to read this: Example' })
    expect(dialog.textContent).toContain('A line that breaks had no data there')
    expect(dialog.textContent).toContain('docs/metrics.md')
    await userEvent.keyboard('{Escape}')
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull())
    expect(document.activeElement).toBe(button)
  })

  it('turns into a table, where an absent value is not a zero', async () => {
    panel({})
    await userEvent.click(screen.getByRole('button', { name: 'Show Example as a table' }))
    expect(screen.getByText('no value')).toBeTruthy()
    expect(screen.queryByRole('img', { name: 'Example' })).toBeNull()
  })
})
