import { screen } from '@testing-library/react'
import { describe, expect, it } from 'vitest'
import { openApp } from '../mock-api/render'

describe('the statistics of the fleet page', () => {
  it('names hosts that stand apart, changes with the event near them, and groups of peer hosts', async () => {
    openApp('/')
    expect((await screen.findByTestId('fleet-outliers')).textContent).toContain('Outlier hosts')
    expect(await screen.findByText('6.4')).toBeTruthy()
    expect(screen.getByTestId('fleet-changes').textContent).toContain('release 2026.47')
    expect(screen.getByTestId('fleet-groups').textContent).toContain('epyc-9654 768 GiB · 2:1 · 6.12 · 0.1.0')
    expect(screen.getByTestId('fleet-groups').textContent).toContain('network differs')
    expect(screen.getByTestId('fleet-outliers').textContent).toContain('network differs')
  })
})
