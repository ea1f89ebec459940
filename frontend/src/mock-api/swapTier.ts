import type { CxlBeside, ServiceSwapTier, SwapAgeView } from '../api/_generated/schema'
import { figure, mockWindow } from './figures'

const gib = 2 ** 30

function age(seconds: number, out: number, loss: number, saving: number): SwapAgeView {
  const around = (value: number) => ({
    interval: { lo: value * 0.5, hi: value * 1.5, level: null, kind: 'range' as const },
    grade: 'early' as const,
  })
  return {
    age_seconds: seconds,
    out_bytes: figure('swap_tier.out_bytes/1', out, 'bytes', around(out)),
    pool_bytes: figure('swap_tier.pool_bytes/1', 0, 'bytes'),
    back_bytes_per_s: figure('swap_tier.back_bytes_per_s/1', out / 1e5, 'bytes_per_s', around(out / 1e5)),
    loss_ratio: figure('swap_tier.loss_ratio/1', loss, 'ratio', around(loss)),
    wait_ratio: figure('swap_tier.wait_ratio/1', loss * 3, 'ratio', around(loss * 3)),
    drive_life_years: figure('swap_tier.drive_life_years/1', 9, 'years', around(9)),
    cost_per_year: { value: 12, interval: { lo: 6, hi: 24, level: null, kind: 'range' }, currency: 'USD' },
    saving_per_year: {
      value: saving,
      interval: { lo: saving * 0.4, hi: saving * 1.7, level: null, kind: 'range' },
      currency: 'USD',
    },
  }
}

function cxl(): CxlBeside {
  const range = (value: number) => ({
    value,
    interval: { lo: value * 0.5, hi: value * 2, level: null, kind: 'range' as const },
    currency: 'USD',
  })
  return {
    media: 'ddr4_reused',
    cost_per_year: range(60),
    swap_cost_per_year: range(12),
    saving_per_year: range(700),
    loss_ratio: figure('swap_tier.cxl_loss_ratio/1', 0.0001, 'ratio', { grade: 'early' as const }),
    cheaper: 'swap',
    sentence: 'Swap is cheaper than CXL for this memory: 25.0 GiB on CXL cost 60 USD a year, on swap 12.',
  }
}

/** Whether swap pays for a service: it does for Redis, is not known for the others. */
export function swapTier(serviceId: string, lossTarget: number): ServiceSwapTier {
  const ages = [age(0, 40 * gib, 0.03, 900), age(600, 25 * gib, 0.004, 520)]
  const known = serviceId === 'svc-redis'
  return {
    service_id: serviceId,
    name: 'cache/redis',
    origin: 'simulated',
    window: mockWindow,
    device: 'block',
    verdict: known ? 'pays' : null,
    binding: known ? 'loss' : null,
    sentence: known
      ? 'Swap pays below DRAM for memory that was cold for 10 more minutes: it frees 25.0 GiB.'
      : 'Whether swap pays is not known.',
    reason: known ? null : 'How soon cold memory is accessed again was not measured.',
    best: known ? (ages[1] ?? null) : null,
    ages: known ? ages : [],
    cxl: known ? cxl() : null,
    hosts: [
      {
        host_id: 'h-1',
        host: 'rack1-node01',
        areas: [
          {
            name: '/dev/nvme1n1',
            kind: 'partition',
            zoned: 'none',
            rotational: false,
            discard: false,
            used_ratio: 0.25,
          },
        ],
        swapped_in_pages_per_s: 12,
        swapped_out_pages_per_s: null,
        memory_stall_ratio: 0.002,
      },
    ],
    warnings: ['rack1-node01: swap on a solid-state drive that takes no TRIM.'],
    loss_target: lossTarget,
    prices: [],
    assumptions: [
      { name: 'busy_cores', value: '3', why: 'one for each host: with more the loss is as many times smaller' },
    ],
  }
}
