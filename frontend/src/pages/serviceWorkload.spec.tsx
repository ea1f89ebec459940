import { screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import type { ServiceWorkload } from '../api/_generated/schema'
import { figure } from '../mock-api/figures'
import { recorded } from '../mock-api/answer'
import { openApp } from '../mock-api/render'

const workload: ServiceWorkload = {
  service_id: 'svc-redis',
  origin: 'simulated',
  stands_for: {
    workload: 'ycsb_a',
    label: 'YCSB A: update heavy',
    source: 'synthetic; YCSB',
    parameters: { operations: '50 % reads, 50 % updates [D]' },
    measured: ['MEMO: no share on CXL is better than none'],
    hot_ratio: figure('heat.hot_ratio/1', 0.4, 'ratio'),
    hot_in_dram_ratio: figure('workload.hot_in_dram_ratio/1', 0.9, 'ratio'),
  },
}

function json(body: unknown): Response {
  return new Response(JSON.stringify(body), { headers: { 'Content-Type': 'application/json' } })
}

it('says of a simulated service that stands for a workload what the paper measured beside what comes out', async () => {
  const detail = recorded('/v1/services/{service_id}', 'svc-redis')
  openApp('/services/svc-redis', ({ pathname }) => {
    if (pathname === '/v1/simulator/services/svc-redis/workload') return json(workload)
    if (pathname !== '/v1/services/svc-redis' || detail === undefined) return undefined
    return json({ ...detail, summary: { ...detail.summary, namespace: 'workload', origin: 'simulated' } })
  })
  const panel = await screen.findByTestId('service-workload')
  expect(panel.textContent).toContain('Simulated: YCSB A: update heavy')
  expect(panel.textContent).toContain('50 % reads, 50 % updates [D]')
  expect(panel.textContent).toContain('90')
  expect(screen.getByText('Measured on real hosts, MEMO: no share on CXL is better than none.')).toBeTruthy()
})

it('asks for no workload of other services', async () => {
  const asked: string[] = []
  openApp('/services/svc-redis', ({ pathname }) => {
    asked.push(pathname)
    return undefined
  })
  await screen.findByTestId('scheme-words')
  expect(screen.queryByTestId('service-workload')).toBeNull()
  expect(asked.filter((path) => path.endsWith('/workload'))).toEqual([])
})
