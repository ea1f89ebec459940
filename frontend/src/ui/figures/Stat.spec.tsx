import { screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import { figure, heatShare, nothing } from '../../mock-api/figures'
import { renderBare } from '../../mock-api/render'
import { Stat } from './Stat'

describe('a headline figure', () => {
  it('draws the four kinds of nothing and zero in four different ways', () => {
    renderBare(
      <>
        <Stat label="a" name="a" figure={figure('a/1', 0, 'pages_per_s')} />
        <Stat label="b" name="b" figure={nothing('b/1', 'bytes', 'not_collected', 'No host says.')} />
        <Stat label="c" name="c" figure={nothing('c/1', 'bytes', 'not_supported', 'No such counter.')} />
        <Stat label="d" name="d" figure={nothing('d/1', 'bytes', 'not_enough_data', 'One interval only.')} />
      </>,
    )
    expect(screen.getByTestId('figure-a/1').textContent).toContain('0 pages/s')
    expect(screen.getByTestId('figure-b/1').querySelector('[data-nothing="not_collected"]')?.textContent).toBe(
      'not collected',
    )
    expect(screen.getByTestId('figure-c/1').querySelector('[data-nothing="not_supported"]')?.textContent).toBe('–')
    expect(screen.getByTestId('figure-d/1').querySelector('[data-nothing="not_enough_data"]')?.textContent).toBe(
      'not enough data',
    )
    expect(screen.getByLabelText(/not enough data: One interval only\./)).toBeTruthy()
  })

  it('opens its evidence: definition, method, interval, coverage, warnings', async () => {
    renderBare(
      <Stat
        label="Hot"
        name="Hot share"
        figure={heatShare('heat.hot_ratio/1', 0.3, { warnings: ['Sampled on 6 of 20 hosts.'] })}
      />,
    )
    await userEvent.click(screen.getByRole('button', { name: /Evidence for Hot share/ }))
    expect(await screen.findByText('heat.hot_ratio/1')).toBeTruthy()
    expect(await screen.findByText(/Share of hot memory in resident memory/)).toBeTruthy()
    expect(screen.getByRole('link', { name: /Formula/ }).getAttribute('href')).toBe('/docs/method/heat.html')
    expect(screen.getByText(/at 95 % confidence/)).toBeTruthy()
    expect(screen.getByText('93 %')).toBeTruthy()
    expect(screen.getByText('Sampled on 6 of 20 hosts.')).toBeTruthy()
  })

  it('keeps its place while loading', () => {
    const { container } = renderBare(<Stat label="Hot" name="Hot share" figure={undefined} />)
    expect(container.querySelectorAll('.mantine-Skeleton-root')).toHaveLength(2)
  })
})
