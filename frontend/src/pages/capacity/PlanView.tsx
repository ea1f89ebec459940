import { Button, NumberInput, Select } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useMemo } from 'react'
import type { PlanRequest } from '../../api/_generated/schema'
import { loadStateOf } from '../../api/queries/base/loadState'
import { planQuery } from '../../api/queries/capacity/capacity'
import { changesBetween, withChanges, type JsonObject } from '../../lib/tco/scenarioSpec'
import { Panel } from '../../ui/layout/Panel'
import { Stack } from '../../ui/layout/Stack'
import { StateNote } from '../../ui/states/StateNote'
import classes from './CapacityPage.module.css'
import { blankSku, planFault, startingPlan, swapChoices, swapDevices } from './planEntry'
import { PlanExport } from './PlanExport'
import { PlanResults } from './PlanResults'
import { SkuCard } from './SkuCard'

const route = getRouteApi('/capacity')

const start = startingPlan as unknown as JsonObject

interface PlanViewProps {
  /** Whether anybody's memory has been measured; undefined while that is not known. Without, there is nothing to plan. */
  measured: boolean | undefined
}

/** The fleet packed on kinds of hosts to choose: how many each quarter needs, with and without tiering. */
export function PlanView({ measured }: PlanViewProps) {
  const { plan: changes } = route.useSearch()
  const navigate = route.useNavigate()
  const plan = useMemo(() => withChanges(start, changes ?? {}) as unknown as PlanRequest, [changes])
  const fault = planFault(plan)
  const [asked] = useDebouncedValue(fault === null && measured === true ? plan : null, 250)
  const query = useQuery(planQuery(asked))
  const set = (next: Partial<PlanRequest>) => {
    const found = changesBetween(start, { ...plan, ...next } as unknown as JsonObject)
    void navigate({
      search: (before) => ({ ...before, plan: Object.keys(found).length === 0 ? undefined : found }),
      replace: true,
      resetScroll: false,
    })
  }
  return (
    <Stack testId="capacity-plan">
      <Panel
        title="Host types"
        hint="memory comes in whole modules and devices; the type that needs the fewest hosts is used"
        actions={
          <>
            <Button
              variant="default"
              disabled={plan.skus.length >= 20}
              onClick={() => set({ skus: [...plan.skus, blankSku(`type ${plan.skus.length + 1}`)] })}
            >
              Add a host type
            </Button>
            <PlanExport plan={asked} />
          </>
        }
      >
        <div className={classes.skus}>
          {plan.skus.map((sku, index) => (
            <SkuCard
              key={index}
              sku={sku}
              onChange={(next) => set({ skus: plan.skus.map((old, position) => (position === index ? next : old)) })}
              onRemove={
                plan.skus.length === 1
                  ? undefined
                  : () => set({ skus: plan.skus.filter((_, position) => position !== index) })
              }
            />
          ))}
          <div className={classes.form}>
            <Select
              label="Horizon"
              value={String(plan.horizon_quarters)}
              onChange={(value) => set({ horizon_quarters: Number(value) })}
              data={[1, 2, 4, 6, 8, 12].map((quarters) => ({
                value: String(quarters),
                label: quarters === 1 ? '1 quarter' : `${quarters} quarters`,
              }))}
            />
            <NumberInput
              label="Headroom"
              suffix=" %"
              min={0}
              max={100}
              value={Math.round(plan.headroom_ratio * 1000) / 10}
              onChange={(value) => value !== '' && set({ headroom_ratio: Number(value) / 100 })}
            />
            <Select
              label="DRAM by ratio advice at a loss of"
              value={plan.loss_target == null ? 'none' : String(plan.loss_target)}
              onChange={(value) => set({ loss_target: value === 'none' ? null : Number(value) })}
              data={[
                { value: 'none', label: 'as advised' },
                ...[0.01, 0.02, 0.05, 0.1].map((loss) => ({ value: String(loss), label: `${loss * 100} %` })),
              ]}
            />
            <Select
              label="Cold memory on swap"
              value={plan.swap ?? 'none'}
              onChange={(value) => set({ swap: swapDevices.find((device) => device === value) ?? null })}
              data={swapChoices}
            />
          </div>
        </div>
      </Panel>
      {fault !== null && (
        <StateNote tone="warning" testId="plan-fault">
          {fault}
        </StateNote>
      )}
      <PlanResults plan={query.data} load={loadStateOf(query)} measured={measured} />
    </Stack>
  )
}
