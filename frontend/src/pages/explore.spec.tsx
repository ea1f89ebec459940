import { screen, waitFor, within } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it } from 'vitest'
import type { QueryAnswer, RangeSeries } from '../api/_generated/schema'
import { openApp } from '../mock-api/render'
import { expressionLines } from './explore/expressionLines'

const steps = { start: 600, end: 720, step: 60 }
const range = '/prometheus/api/v1/query_range'

function matrix(...result: RangeSeries[]): QueryAnswer {
  return { status: 'success', data: { resultType: 'matrix', result } }
}

function series(metric: RangeSeries['metric'], ...values: RangeSeries['values']): RangeSeries {
  return { metric, values }
}

describe('lines of an expression', () => {
  it('are named by the labels in which they differ; steps without a finite value are gaps', () => {
    const common = { __name__: 'node_memory_free_bytes', job: 'node' }
    const { axis, lines } = expressionLines(
      matrix(
        series({ ...common, instance: 'a', host_id: 'h1' }, [600, '1'], [720, '2']),
        series({ ...common, instance: 'b', host_id: 'h2' }, [600, 'NaN'], [660, '4'], [720, '+Inf']),
      ),
      steps,
    )
    expect(axis.times).toEqual([600, 660, 720])
    expect(lines.map(({ label, unit, values }) => [label, unit, values])).toEqual([
      ['instance="b"', 'bytes', [null, 4, null]],
      ['instance="a"', 'bytes', [1, null, 2]],
    ])
  })

  it('keep name and labels where there is one, and have no unit where PromQL dropped the name', () => {
    const one = series({ __name__: 'up', host: 'a' }, [600, '1'])
    expect(expressionLines(matrix(one), steps).lines[0]).toMatchObject({ label: 'up{host="a"}', unit: '' })
    const computed = series({}, [600, '1'])
    expect(expressionLines(matrix(computed), steps).lines[0]).toMatchObject({ label: 'value', unit: '' })
  })

  it('are told apart by ids where names do not', () => {
    const twins = ['h1', 'h2'].map((id) => series({ host: 'a', host_id: id }, [600, '1']))
    expect(expressionLines(matrix(...twins), steps).lines.map(({ label }) => label)).toEqual([
      'host_id="h1"',
      'host_id="h2"',
    ])
  })

  it('are the largest of many, and say how many are left out', () => {
    const many = Array.from({ length: 25 }, (_, index) => series({ cpu: `${index}` }, [600, `${index}`]))
    const { lines, leftOut } = expressionLines(matrix(...many), steps)
    expect(lines.map(({ label }) => label).slice(0, 2)).toEqual(['cpu="24"', 'cpu="23"'])
    expect([lines.length, leftOut]).toEqual([20, 'the 20 largest of 25 series: narrow the labels, or use topk()'])
  })
})

describe('the explore page', () => {
  it('draws the expressions of its address, over its time range', async () => {
    const asked: URLSearchParams[] = []
    const router = openApp('/explore?expr=["up","rate(x_total[5m])"]&from=-1h', (url) => {
      if (url.pathname.endsWith('/label/__name__/values')) return Response.json({ status: 'success', data: ['up'] })
      if (url.pathname !== range) return undefined
      asked.push(url.searchParams)
      return Response.json(matrix())
    })
    await waitFor(() => expect(screen.getAllByText('No series in this time range')).toHaveLength(2))
    expect(asked.map((query) => query.get('query'))).toEqual(['up', 'rate(x_total[5m])'])
    for (const query of asked) {
      const length = Number(query.get('end')) - Number(query.get('start'))
      expect([query.get('step'), length >= 3480 && length <= 3600]).toEqual(['60', true])
    }
    await userEvent.click(screen.getByRole('button', { name: 'Remove up' }))
    await waitFor(() => expect(router.state.location.search).toMatchObject({ expr: ['rate(x_total[5m])'] }))
    await userEvent.type(screen.getByRole('combobox', { name: 'PromQL expression of a new chart' }), 'up{{}{Enter}')
    await waitFor(() => expect(router.state.location.search).toMatchObject({ expr: ['rate(x_total[5m])', 'up{}'] }))
  })

  it('starts with examples, and tells what is wrong with an expression', async () => {
    openApp('/explore', (url) =>
      url.pathname === range
        ? Response.json({ status: 'error', errorType: 'bad_data', error: 'rate() of a value' }, { status: 400 })
        : undefined,
    )
    await userEvent.click(await screen.findByRole('link', { name: 'Promotions by host' }))
    const problem = await screen.findByTestId('problem-state')
    expect(within(problem).getByText(/rate\(\) of a value/)).toBeTruthy()
  })
})
